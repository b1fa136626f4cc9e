"""A Hugging Face sequence classifier under audit, its attention read out in one way.

Nothing is trained and nothing is changed in the model. Words are deleted by writing the text
without them. Where the architecture lets attention be replaced, the subject also decides with other
weights: see `attention.Imposition` for what that means.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from heedful.auditing.subjects.base import (
    Attentions,
    Judge,
    Probabilities,
    Reading,
    Subject,
    Words,
)
from heedful.auditing.subjects.from_outside import DecidesFromOutside
from heedful.auditing.subjects.huggingface.adversarial import seek
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.prompted import PLACE
from heedful.auditing.subjects.huggingface.seen import SeenTransformer
from heedful.auditing.subjects.huggingface.sinks import Sinks
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, Pieces, shortened
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError
from heedful.importance.base import Importance, importances
from heedful.importance.seen import Need, Seen
from heedful.readouts import Attended, Readout, readouts
from heedful.readouts.pooling import special_share
from heedful.training.task import Label

NOTHING_TRAINED = "it needs retrained models, and a Hugging Face model is audited as it is"
REFUSED = {
    "grounded": "the states of a Transformer mix the whole text at every layer; none belongs to "
    "the attention that is read out",
    "discerning": "the words of its training documents are not known",
    "needed": NOTHING_TRAINED,
    "stable": NOTHING_TRAINED,
}
CROSSING = "attention is that of the decoder to the text (cross-attention), at the end of the text"
GIVEN = frozenset({Need.DELETIONS, Need.TEXTS})


class TransformerSubject(Subject):
    """A classifier with one readout of its attention; it cannot be made to attend otherwise."""

    noun = "a Hugging Face model"
    architecture = "transformer"

    def __init__(self, model: TransformerModel, readout: Readout, classes: Sequence[Label]) -> None:
        if why := why_not_read(model, readout):
            raise ConfigError(f"{readouts.name_of(readout)} cannot be read: {why}.")
        readout.layers(model.layers), readout.heads(model.heads)  # refuse what it has not
        self.model = model
        self.readout = readout
        self.classes = tuple(classes)
        self.sinks = Sinks(model.cutter.tokenizer)
        held = {
            Need.WEIGHTS: not model.why_no_slopes,
            Need.EMBEDDINGS: not model.why_no_gradients,
            Need.OTHER_EMBEDDINGS: not model.why_no_gradients,
            Need.HELD_ATTENTION: not (model.why_fixed or model.why_no_gradients),
            Need.HELD_LAYERS: not model.why_not_decomposed,
            Need.LAYERS: not model.why_no_layers,
            Need.SUMS: not model.why_no_sums,
            Need.SHARED_BIASES: not model.why_not_shared,
        }
        self.gives = GIVEN | {need for need, is_given in held.items() if is_given}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its audit should know of how it was read."""
        is_plain = self.readout.needs_values and not self.model.squares
        plain = (
            f"{readouts.name_of(self.readout)} takes the lengths of values as they are: the matrix "
            f"that {type(self.model.model).__name__} sends them through was not found"
        )
        no_gradients, no_sums = self.model.why_no_gradients, self.model.why_no_sums
        why_not, no_layers = self.model.why_not_decomposed, self.model.why_no_layers
        return (
            *((plain,) if is_plain else ()),
            *((CROSSING,) if self.model.is_encoder_decoder else ()),
            *((f"gradients are not available: {no_gradients}",) if no_gradients else ()),
            *((f"decomposition is not available: {why_not}",) if why_not else ()),
            *((f"readings of its layers are not available: {no_layers}",) if no_layers else ()),
            *((f"alti is not available: {no_sums}",) if no_sums and not no_layers else ()),
            *(f"read by {readouts.name_of(self.readout)}, {one}" for one in self.sinks.notes),
            *self.model.rounded.notes,
            *self.model.packer.notes,
        )

    @property
    def identity(self) -> dict[str, object]:
        """The weights, how they are computed with, and what is read out of them."""
        cutter = self.model.cutter
        return {
            "model": self.model.digest,
            "precision": self.model.precision,
            "readout": readouts.spec(self.readout),
            **({"long_texts": cutter.long_texts} if cutter.long_texts != "cut" else {}),
            **({"template": PLACE.join(cutter.around)} if any(cutter.around) else {}),
        }

    @property
    def reads_windows(self) -> bool:
        """As it was asked to."""
        return self.model.cutter.long_texts == "windows"

    @property
    def replacement(self) -> str:
        """The mask of its tokenizer, or its unknown word."""
        return self.model.cutter.replacement

    @property
    def randomised(self) -> "TransformerSubject":
        """The same with random weights in it."""
        other = copy(self)
        other.model = self.model.randomised
        other.sinks = Sinks(self.model.cutter.tokenizer)
        return other

    @property
    def masking(self) -> Judge | None:
        """Itself with words hidden from attention, where a hidden word has no say."""
        return Masking(self.model) if self.model.hides_words else None

    def predict_texts(self, texts: Sequence[str]) -> Probabilities:
        """Probabilities of any texts."""
        return self.model.probabilities(texts)

    def refuses(self, question: str) -> str:
        """What makes no sense for a model that is audited as it is."""
        if question in ("decisive", "exclusive") and self.model.why_fixed:
            return self.model.why_fixed
        return REFUSED.get(question, "")

    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights as read out, and probabilities."""
        pieces = self.model.cutter.cut(texts)
        words = max(1, *(len(some.offsets) for some in pieces))

        def readout(attended: Attended, batch: PieceBatch) -> Tensor:
            weights = self.readout(attended)
            self.sinks.add(weights, batch)
            on_special = batch.together(special_share(weights, batch.word_of))
            on_words = batch.weights_of_words(weights, words)
            return torch.cat([on_words, on_special[:, None]], dim=1)

        rows, probabilities = self.model.attend(
            pieces, readout, self.readout.needs_gradients, self.readout.needs_values
        )
        counts = np.array([len(some.offsets) for some in pieces])
        read = torch.stack(rows).numpy()
        return Reading(
            texts=tuple(texts),
            is_token=np.arange(words) < counts[:, None],
            weights=read[:, :-1],
            probabilities=probabilities,
            offsets=tuple(some.offsets for some in pieces),
            inner=pieces,
            cut=sum(some.is_cut for some in pieces),
            in_windows=sum(bool(some.further) for some in pieces),
            on_special=read[:, -1],
        )

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the texts written without the other words."""
        pieces: list[Pieces] = reading.inner
        written = [
            shortened(pieces[number], kept[: len(pieces[number].offsets)])
            for number, kept in zip(document.tolist(), is_kept, strict=True)
        ]
        return self.model.probabilities(written)

    def _scores(self, name: str, measure: Importance, seen: Seen) -> Words:
        """What does not depend on the readout is computed once for all of them."""
        assert isinstance(seen, SeenTransformer)
        if not importances.has(measure):  # another may be called the same in another audit
            return super()._scores(name, measure, seen)
        keys = [(name, *one) for one in zip(seen.texts, seen.target.tolist(), strict=True)]
        found = np.zeros(seen.is_token.shape)
        if (known := self.model.scores.recall(keys)) is not None:
            for row, scores in enumerate(known):
                found[row, : len(scores)] = scores
            return found
        found = super()._scores(name, measure, seen)
        if not seen.is_of_readout:
            counts = seen.is_token.sum(dim=1).tolist()
            rows = [row[:count] for row, count in zip(found, counts, strict=True)]
            self.model.scores.note(keys, rows)
        return found

    def see(self, reading: Reading) -> SeenTransformer:
        """Its pieces of words, and gradients."""
        return SeenTransformer(self, self.model, self.readout, reading)


class DecidingTransformer(TransformerSubject, DecidesFromOutside):
    """One that can also be made to attend otherwise."""

    decides_slowly = True

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities with other weights in the layers and heads that the readout looks at.

        Without any weight on a document's words there is nothing to impose: it decides as it does.
        """
        found = np.repeat(reading.probabilities[:, None], attentions.shape[1], axis=1)
        imposed = attentions * reading.is_token[:, None]
        total = imposed.sum(axis=-1)
        rows, variants = np.nonzero(total > 0)
        if len(rows):
            pieces: list[Pieces] = reading.inner
            found[rows, variants] = self.model.decide(
                [pieces[row] for row in rows.tolist()],
                self.readout,
                reading.weights[rows],
                imposed[rows, variants] / total[rows, variants][:, None],
            )
        return found

    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities of a text without any word."""
        return np.repeat(self.model.probabilities([""]), len(reading.texts), axis=0)

    def sought(self, reading: Reading, search: Adversarial, seed: int) -> Attentions:
        """What an adversary finds."""
        return seek(self.model, self.readout, search, reading, seed)


class Masking(Judge):
    """A model that cannot attend to the words that are not kept; all others keep their positions.

    A text without the word has no hole, but positions that move up: models may mind either.
    """

    def __init__(self, model: TransformerModel) -> None:
        self.model = model

    def judged(self, reading: Reading) -> Probabilities:
        """As the reading has them."""
        return reading.probabilities

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the texts with the other words hidden."""
        pieces: Sequence[Pieces] = reading.inner
        hidden = [
            pieces[row].with_hidden(~kept)
            for row, kept in zip(document.tolist(), is_kept, strict=True)
        ]
        return self.model.probabilities_of_pieces(hidden)


def why_not_read(model: TransformerModel, readout: Readout) -> str:
    """Why a model's attention cannot be read in some way; nothing if it can."""
    if readout.needs_values and model.why_fixed:
        return "the model does not show the values that it attends to"
    if readout.needs_gradients and model.why_no_slopes:
        return model.why_no_slopes
    return model.why_no_flow if readout.follows_layers else ""


def subject_of(
    model: TransformerModel, readout: Readout, classes: Sequence[Label]
) -> TransformerSubject:
    """The subject that the architecture allows."""
    kind = TransformerSubject if model.why_fixed else DecidingTransformer
    return kind(model, readout, classes)
