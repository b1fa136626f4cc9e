"""A Hugging Face classifier as an audit uses it: texts in, probabilities, attention read out,
decisions under other weights. Packed by length, so that little is padding; nothing is changed.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from heedful.auditing.subjects.huggingface.answer_cache import RememberedAnswers, RememberedScores
from heedful.auditing.subjects.huggingface.attention import as_it_was
from heedful.auditing.subjects.huggingface.packing import Packer, Rows
from heedful.auditing.subjects.huggingface.passes import PROBE, ModelPasses
from heedful.auditing.subjects.huggingface.tokenization import (
    PieceBatch,
    PieceCutter,
    Pieces,
)
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.model.digest import weights_digest
from heedful.model.precision import Precision, Rounded
from heedful.model.pretrained import most_positions
from heedful.model.randomised import randomised
from heedful.model.sequence_classifier import only_end
from heedful.readouts import Attended, Readout

SAME = 1e-4  # probabilities that differ by less are equal but for rounding
CELLS_AT_ONCE = 2**25  # of all attention matrices that are kept at a time

Probabilities = Float[ndarray, "texts classes"]


class TransformerModel(ModelPasses):
    """A sequence classifier and its tokenizer."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        precision: Precision = "auto",
        long_texts: LongTexts = "cut",
        around: tuple[str, str] = ("", ""),
    ) -> None:
        taken = inspect.signature(model.forward).parameters
        names = [
            name for name in ("input_ids", "attention_mask", "token_type_ids") if name in taken
        ]
        most = most_positions(model, tokenizer)
        end = only_end(model.config, tokenizer)
        super().__init__(model, PieceCutter(tokenizer, most, names, long_texts, around, end))
        self.precision = precision
        gains = model.device.type == "cuda" and model.dtype == torch.float32
        self.rounded = Rounded(is_wanted=gains and precision == "auto")
        self.packer = Packer(self.cutter, model.device)
        self._remembered = RememberedAnswers(int(model.config.num_labels or 0))
        self.scores = RememberedScores()  # that are the same for every readout

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Class probabilities of each text; most that come again are not computed again."""
        return self._remembered(texts, self._predict)

    def probabilities_of_pieces(self, pieces: Sequence[Pieces]) -> Probabilities:
        """The same of texts in pieces, some of which may be hidden from attention."""
        named = {_key(some): some for some in pieces}
        return self._remembered(
            [_key(some) for some in pieces],
            lambda keys: self._predict_pieces([named[key] for key in keys]),
        )

    def attend(
        self,
        pieces: Sequence[Pieces],
        readout: Callable[[Attended, PieceBatch], Tensor],
        needs_gradients: bool = False,
        needs_values: bool = False,
    ) -> tuple[list[Tensor], Probabilities]:
        """What `readout` makes of the attention to each text, a row each, and probabilities.

        It is given a row for each window of a text.
        """

        def read(batch: PieceBatch, _: Rows) -> list[tuple[Tensor, Tensor]]:
            attended, logits = self.attended(batch, needs_gradients, needs_values)
            rows = readout(attended, batch).detach().cpu()
            return list(zip(rows, probabilities_of(batch.together(logits)), strict=True))

        per_square = self.layers * self.heads * (2 if needs_gradients else 1)
        found = self.packer.run(
            pieces, read, lambda longest: CELLS_AT_ONCE // (per_square * longest**2)
        )
        rows, shares = zip(*found, strict=True) if found else ((), ())
        return list(rows), np.stack([share.numpy() for share in shares])

    def decide(
        self,
        pieces: Sequence[Pieces],
        readout: Readout,
        shown: Float[ndarray, "variants words"],
        imposed: Float[ndarray, "variants words"],
    ) -> Probabilities:
        """Probabilities with other weights in the rows that a readout looks at."""

        def decided(batch: PieceBatch, rows: Rows) -> list[Tensor]:
            own, other = (torch.from_numpy(w[rows]).to(self.model.device) for w in (shown, imposed))
            with torch.inference_mode():
                return list(probabilities_of(self.logits_under(batch, readout, own, other)))

        found = self.packer.run(pieces, decided)
        return np.stack([share.numpy() for share in found])

    @cached_property
    def digest(self) -> str:
        """A word that changes with any of the model's numbers."""
        return weights_digest(self.model)

    @cached_property
    def randomised(self) -> "TransformerModel":
        """A model of the same kind that has learnt nothing, for all readings."""
        return self.like(randomised(self.model))

    def like(self, model: PreTrainedModel) -> "TransformerModel":
        """Another model of the same kind, asked in the same way."""
        cutter = self.cutter
        way = (self.precision, cutter.long_texts, cutter.around)
        return TransformerModel(model, cutter.tokenizer, *way)

    @cached_property
    def hides_words(self) -> bool:
        """Whether a word that is hidden from attention has no say: another one in its place changes
        nothing. A classifier that reads the states of words would still read that of a hidden one.
        """
        if "attention_mask" not in self.cutter.names:
            return False
        (pieces,) = self.cutter.cut(PROBE[:1])
        numbers, words = pieces.inputs["input_ids"], len(pieces.offsets)
        if not words:  # a tokenizer that knows none of them
            return False
        taken = {*numbers, *self.cutter.tokenizer.all_special_ids}
        other = next((n for n in range(len(self.cutter.tokenizer)) if n not in taken), numbers[-1])
        variants = []
        for word in (0, words - 1):
            hidden = pieces.with_hidden(np.arange(words) == word)
            swapped = np.where(pieces.word_of == word, other, numbers).tolist()
            variants += [hidden, replace(hidden, inputs={**hidden.inputs, "input_ids": swapped})]
        found = np.stack(self._predict_pieces(variants))
        return bool(np.abs(found[::2] - found[1::2]).max() < SAME)

    def _predict(self, texts: list[str]) -> list[Float[ndarray, " classes"]]:
        return self._predict_pieces(self.cutter.encode(texts))

    def _predict_pieces(self, pieces: Sequence[Pieces]) -> list[Float[ndarray, " classes"]]:
        def run(batch: PieceBatch, _: Rows) -> list[Tensor]:
            return list(probabilities_of(batch.together(self.model(**batch.inputs).logits)))

        def of_some(rows: Rows) -> Probabilities:
            found = self.packer.run([pieces[row] for row in rows], run)
            return np.stack([share.numpy() for share in found])

        with torch.inference_mode(), as_it_was(self.model):
            return list(self.rounded.read(of_some, len(pieces))) if pieces else []


def _key(pieces: Pieces) -> str:
    """A text and what is hidden of it."""
    masks = "\0".join("".join(map(str, w.inputs["attention_mask"])) for w in pieces.windows)
    return f"{pieces.text}\0{masks}"


def probabilities_of(logits: Float[Tensor, "batch classes"]) -> Float[Tensor, "batch classes"]:
    """In double precision, on the CPU."""
    return logits.detach().double().softmax(dim=-1).cpu()
