"""A Hugging Face classifier as an audit uses it: probabilities, attention read out, decisions
under other weights, gradients. Packed by length, so that little is padding; nothing is changed.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from heedful.auditing.subjects.huggingface.answer_cache import RememberedAnswers, RememberedScores
from heedful.auditing.subjects.huggingface.attention import (
    HALF,
    LOOSE,
    CannotWatch,
    Imposition,
    Watch,
    WordWeights,
    as_it_was,
    check_layers,
    watching,
)
from heedful.auditing.subjects.huggingface.blocks import block_lists, passed_blocks
from heedful.auditing.subjects.huggingface.output_matrices import OutputMap, output_maps
from heedful.auditing.subjects.huggingface.packing import Packer, Rows
from heedful.auditing.subjects.huggingface.residuals import attention_sums
from heedful.auditing.subjects.huggingface.tokenization import (
    PieceBatch,
    PieceCutter,
    Pieces,
)
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.errors import ConfigError
from heedful.importance.held_layers import unexplained
from heedful.importance.seen import AttentionSum
from heedful.model.digest import weights_digest
from heedful.model.precision import Precision, Rounded
from heedful.model.pretrained import most_positions
from heedful.model.randomised import randomised
from heedful.readouts import Attended, Readout
from heedful.readouts.base import Squares

SAME = 1e-4  # probabilities that differ by less are equal but for rounding
CELLS_AT_ONCE = 2**25  # of all attention matrices that are kept at a time
PROBE = ("some words to find out how the model reads", "two words")

Reads = Literal["first", "last", "all"]
At = Literal["words", "first layer"]  # where embeddings are taken
Probabilities = Float[ndarray, "texts classes"]


class TransformerModel:
    """A sequence classifier and its tokenizer."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        precision: Precision = "auto",
        long_texts: LongTexts = "cut",
        around: tuple[str, str] = ("", ""),
    ) -> None:
        self.model = model
        self.precision = precision
        gains = model.device.type == "cuda" and model.dtype == torch.float32
        self.rounded = Rounded(is_wanted=gains and precision == "auto")
        taken = inspect.signature(model.forward).parameters
        names = [
            name for name in ("input_ids", "attention_mask", "token_type_ids") if name in taken
        ]
        most = most_positions(model, tokenizer)
        self.cutter = PieceCutter(tokenizer, most, names, long_texts, around)
        self.packer = Packer(self.cutter, model.device)
        self._remembered = RememberedAnswers(int(model.config.num_labels or 0))
        self.scores = RememberedScores()  # that are the same for every readout
        self.reads: Reads = self._find_reads()
        self.why_fixed = ""  # why other weights cannot be imposed; nothing if they can
        self.layers, self.heads = self._find_attention()

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

    def attended(
        self, batch: PieceBatch, needs_gradients: bool = False, needs_values: bool = False
    ) -> tuple[Attended, Float[Tensor, "batch classes"]]:
        """One forward pass, watched."""
        watch = Watch()
        with torch.set_grad_enabled(needs_gradients):
            around = self.embedded() if needs_gradients else nullcontext()
            if self.why_fixed:
                with as_it_was(self.model), around:
                    self.model.set_attn_implementation("eager")
                    output = self.model(**batch.inputs, output_attentions=True)
                weights = list(output.attentions or ())
            else:
                with watching(self.model, watch), around:
                    output = self.model(**batch.inputs)
                weights = watch.weights
            check_layers(weights, batch.is_real)
            slopes: Sequence[Tensor] = ()
            if needs_gradients:
                chosen = batch.together(output.logits.detach()).argmax(dim=-1)[batch.text_of]
                of_prediction = output.logits.gather(1, chosen[:, None]).sum()
                # A layer behind the last state that is read has no gradient at all.
                found = torch.autograd.grad(of_prediction, weights, allow_unused=True)
                slopes = [
                    torch.zeros_like(layer) if slope is None else slope
                    for slope, layer in zip(found, weights, strict=True)
                ]
        layers = [layer.detach() for layer in weights]
        values = [value.detach() for value in watch.values]
        squares = self.squares if needs_values else ()
        attended = Attended(layers, self.is_read(batch), values, slopes, squares)
        return attended, output.logits.detach()

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

    def logits_under(
        self, batch: PieceBatch, readout: Readout, shown: WordWeights, imposed: WordWeights
    ) -> Float[Tensor, "batch classes"]:
        """The logits of texts with other weights imposed, by which they can be differentiated."""
        layers, heads = readout.layers(self.layers), readout.heads(self.heads)
        shown, imposed = batch.within(shown, imposed)
        impose = Imposition.of(layers, heads, self.is_read(batch), batch.word_of, shown, imposed)
        watch = Watch(impose, keeps=False)
        with watching(self.model, watch):
            logits = self.model(**batch.inputs).logits
        if watch.calls != self.layers:
            raise CannotWatch(f"{watch.calls} layers attended, {self.layers} did before")
        return batch.together(logits)

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
    def squares(self) -> tuple[Squares, ...]:
        """What layers do to the lengths of values; nothing where it cannot be found out."""
        return tuple(output.squares() for output in self.maps)

    @cached_property
    def maps(self) -> tuple[OutputMap, ...]:
        """The output matrices of its layers; nothing where they cannot be found."""
        if self.why_fixed:
            return ()
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)
        return tuple(output_maps(self.model, batch))

    def sums(self, batch: PieceBatch) -> list[AttentionSum]:
        """What the attention of each layer adds to its states."""
        return attention_sums(self.model, batch, self.maps, self.layers)

    @cached_property
    def why_no_sums(self) -> str:
        """Why it cannot be seen what attention adds to states; nothing if it can."""
        if self.why_no_layers:
            return self.why_no_layers
        try:
            self.sums(self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device))
        except CannotWatch as refusal:
            return str(refusal)
        return ""

    @cached_property
    def why_no_gradients(self) -> str:
        """Why there are no gradients by the embeddings of a text; nothing if there are."""
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)
        with torch.enable_grad(), as_it_was(self.model), self.embedded() as used:
            self.model(**batch.inputs)
        if len(used) == 1 and used[0].shape[:2] == batch.is_real.shape:
            return ""
        return f"the embeddings of {type(self.model).__name__} are not one vector for each position"

    @cached_property
    def why_no_slopes(self) -> str:
        """Why there are no gradients by attention weights; nothing if there are."""
        if not self.why_fixed:
            return ""
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)
        attended, _ = self.attended(batch, needs_gradients=True)
        if any(bool(slope.any()) for slope in attended.gradients):
            return ""
        kind = type(self.model).__name__
        return f"the attention that {kind} shows is a copy, on which no logit depends"

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

    @cached_property
    def why_not_decomposed(self) -> str:
        """Why a logit is not the sum of what words and biases give to it, once layers are held;
        nothing if it is. Found out by adding up.
        """
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)

        def run() -> tuple[Tensor, Float[Tensor, "batch classes"]]:
            with as_it_was(self.model), self.embedded(at="first layer") as used:
                logits = self.model(**batch.inputs).logits
            return used[0], logits

        if self.why_no_gradients:
            return self.why_no_gradients
        missing = unexplained(self.model, run)
        if missing <= LOOSE.get(self.model.dtype, HALF):
            return ""
        return (
            "with attention, normalisation and activations held, what words and biases give to "
            f"the logits of {type(self.model).__name__} does not add up to them (off by "
            f"{missing:.0%})"
        )

    @cached_property
    def why_no_layers(self) -> str:
        """Why its layers cannot be looked into and run one by one; nothing if they can.

        Found out by running each again: it must give the same states again, and others once values
        are zeroed.
        """
        kind = type(self.model).__name__
        if self.why_fixed or not block_lists(self.model, self.layers):
            return f"the layers of {kind} cannot be run one by one"
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)
        try:
            with torch.inference_mode():
                passed = passed_blocks(self.model, batch, self.layers)
                again = [torch.equal(one.again(self.model), one.output) for one in passed]
                moved = [not torch.equal(one.without_value(self.model, 0), one.output)
                         for one in passed]  # fmt: skip
        except (
            CannotWatch,
            RuntimeError,
            TypeError,
            ValueError,
            AttributeError,
            LookupError,
        ) as no:
            return f"the layers of {kind} cannot be run one by one ({no!s:.80})"
        if not all(again):
            return f"the layers of {kind} give other states when they are run again"
        # Value zeroing that changes nothing would be the same number for every word.
        return "" if any(moved) else f"{kind} does not mind that values are zeroed"

    def is_read(self, batch: PieceBatch) -> Bool[Tensor, "batch positions"]:
        """The positions whose state the classifier reads."""
        if self.reads == "all":
            return batch.is_real
        order = torch.arange(batch.is_real.shape[1], device=batch.is_real.device)
        place = torch.where(batch.is_real, order, -1 if self.reads == "last" else len(order))
        chosen = place.amax(dim=1) if self.reads == "last" else place.amin(dim=1)
        return order == chosen[:, None]

    @contextmanager
    def embedded(
        self, change: Callable[[Tensor], Tensor] | None = None, at: At = "words"
    ) -> Iterator[list[Tensor]]:
        """Embeddings that ask for gradients, changed if wanted; they are in the list afterwards.

        Those of words, or what the first layer is given: with positions, normalised.
        """
        seen: list[Tensor] = []

        def asking(given: Tensor) -> Tensor:
            used = given.detach() if change is None else change(given.detach())
            seen.append(used.requires_grad_())
            return seen[-1]

        def of_output(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            return asking(output)

        def of_input(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            return (asking(inputs[0]), *inputs[1:])

        embeddings = getattr(self.model.base_model, "embeddings", None)
        blocks = block_lists(self.model, self.layers) if at == "first layer" else []
        if at == "first layer" and isinstance(embeddings, nn.Module):
            handle = embeddings.register_forward_hook(of_output)
        elif blocks:
            handle = blocks[0][0].register_forward_pre_hook(of_input)
        else:
            handle = self.model.get_input_embeddings().register_forward_hook(of_output)
        try:
            yield seen
        finally:
            handle.remove()

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

    def _find_reads(self) -> Reads:
        """Which positions the classifier reads: those whose last state has a gradient."""
        states: list[Tensor] = []
        batch = self.cutter.pad(self.cutter.encode(PROBE[:1])).to(self.model.device)
        base = self.model.base_model
        handle = base.register_forward_hook(lambda *told: states.append(told[2][0]))
        try:
            with torch.enable_grad(), as_it_was(self.model), self.embedded():
                output = self.model(**batch.inputs)
            logits = _logits(output)
            if not states or base is self.model or not states[-1].requires_grad:
                return "first"
            # Of one class: those of all classes together may cancel.
            (slope,) = torch.autograd.grad(logits[:, 0].sum(), states[-1], allow_unused=True)
        finally:
            handle.remove()
        if slope is None or slope.shape[1] != batch.is_real.shape[1]:
            return "all"
        places = slope[0].abs().sum(dim=-1).nonzero().flatten().tolist()
        if places == [0]:
            return "first"
        return "last" if places == [slope.shape[1] - 1] else "all"

    def _find_attention(self) -> tuple[int, int]:
        """How many layers and heads; whether attention can be replaced is found out by trying."""
        batch = self.cutter.pad(self.cutter.encode(PROBE)).to(self.model.device)
        watch = Watch()
        kind = type(self.model).__name__
        try:
            with torch.inference_mode(), watching(self.model, watch):
                self.model(**batch.inputs)
        except CannotWatch as refusal:
            self.why_fixed = str(refusal)
        if not watch.calls and not self.why_fixed:
            self.why_fixed = (
                f"{kind} ignores attention put in its place, so other weights cannot be tried on it"
            )
        attended, _ = self.attended(batch)
        return len(attended.weights), attended.weights[0].shape[1]


def _key(pieces: Pieces) -> str:
    """A text and what is hidden of it."""
    masks = "\0".join("".join(map(str, w.inputs["attention_mask"])) for w in pieces.windows)
    return f"{pieces.text}\0{masks}"


def probabilities_of(logits: Float[Tensor, "batch classes"]) -> Float[Tensor, "batch classes"]:
    """In double precision, on the CPU."""
    return logits.detach().double().softmax(dim=-1).cpu()


def _logits(output: Any) -> Float[Tensor, "batch classes"]:
    logits = getattr(output, "logits", None)
    if logits is None or logits.ndim != 2:
        raise ConfigError(
            "the model should give one row of logits per text. Load it with "
            "AutoModelForSequenceClassification."
        )
    return logits
