"""A Hugging Face sequence classifier under audit, its attention read out in one way.

Nothing is trained and nothing is changed in the model. Words are deleted by writing the text
without them. Where the architecture lets attention be replaced, the subject also decides with other
weights: see `attention.Imposition` for what that means.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.auditing.subjects.base import (
    Attentions,
    Decides,
    Probabilities,
    Reading,
    Subject,
    Words,
)
from heedful.auditing.subjects.erasure import shared_importance
from heedful.auditing.subjects.huggingface.adversarial import seek
from heedful.auditing.subjects.huggingface.gradients import (
    BY_GRADIENT,
    input_gradients,
    weight_gradients,
)
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, Pieces, shortened
from heedful.counterfactual import Counterfactual
from heedful.counterfactual.adversarial import Adversarial
from heedful.counterfactual.baselines import Permuted, uniform
from heedful.errors import ConfigError
from heedful.readouts import Attended, Readout, readouts
from heedful.readouts.pooling import pool_to_words
from heedful.text.documents import fingerprints
from heedful.training.task import Label

NOTHING_TRAINED = "it takes models trained anew, and a Hugging Face model is audited as it is"
REFUSED = {
    "grounded": "the states of a Transformer mix the whole text at every layer; none belongs to "
    "the attention that is read out",
    "discerning": "the words of its training documents are not known",
    "needed": NOTHING_TRAINED,
    "stable": NOTHING_TRAINED,
}


class TransformerSubject(Subject):
    """A classifier with one readout of its attention; it cannot be made to attend otherwise."""

    architecture = "transformer"

    def __init__(self, model: TransformerModel, readout: Readout, classes: Sequence[Label]) -> None:
        if readout.needs_values and model.why_fixed:
            raise ConfigError(
                f"{readouts.name_of(readout)} looks at the values that are attended to, and "
                f"{type(model.model).__name__} does not show them."
            )
        readout.layers(model.layers), readout.heads(model.heads)  # refuse what it has not
        self.model = model
        self.readout = readout
        self.classes = tuple(classes)
        held = ("gradient-x-input-held",) if not model.why_fixed else ()
        self.measures = (
            "attention", "leave-one-out", *BY_GRADIENT, *held, "attention-x-gradient", "random"
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its audit should know of how it was read."""
        is_plain = self.readout.needs_values and not self.model.squares
        plain = (
            f"{readouts.name_of(self.readout)} takes the lengths of values as they are: the matrix "
            f"that {type(self.model.model).__name__} sends them through was not found"
        )
        return (
            *((plain,) if is_plain else ()),
            *self.model.rounded.notes,
            *self.model.packer.notes,
        )

    @property
    def identity(self) -> dict[str, object]:
        """The weights, how they are computed with, and what is read out of them."""
        return {
            "model": self.model.digest,
            "precision": self.model.precision,
            "readout": readouts.spec(self.readout),
        }

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
            return pool_to_words(self.readout(attended), batch.word_of, words)

        rows, probabilities = self.model.attend(
            pieces, readout, self.readout.needs_gradients, self.readout.needs_values
        )
        counts = np.array([len(some.offsets) for some in pieces])
        return Reading(
            texts=tuple(texts),
            is_token=np.arange(words) < counts[:, None],
            weights=torch.stack(rows).numpy(),
            probabilities=probabilities,
            offsets=tuple(some.offsets for some in pieces),
            inner=pieces,
            cut=sum(some.is_cut for some in pieces),
        )

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """Probabilities of the texts written without the other words."""
        pieces: list[Pieces] = reading.inner
        written = [
            shortened(pieces[number], kept[: len(pieces[number].offsets)])
            for number, kept in zip(document.tolist(), is_kept, strict=True)
        ]
        return self.model.probabilities(written)

    def importance(self, reading: Reading, measure: str) -> Words:
        """Signed importance of each word for the prediction."""
        shared = shared_importance(self, reading, measure, "a Hugging Face model")
        if shared is not None:
            return shared
        if measure == "random":
            return _at_random(reading)
        if measure == "attention-x-gradient":
            return weight_gradients(self.model, self.readout, reading.inner, reading.is_token)
        return input_gradients(self.model, measure, reading.inner, reading.is_token)


class DecidingTransformer(TransformerSubject, Decides):
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

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """Uniform weights, the shown ones dealt out anew, or what an adversary finds."""
        if counterfactual is uniform:
            return reading.even[:, None]
        if isinstance(counterfactual, Permuted):
            return reading.permuted(counterfactual.count, np.random.default_rng(seed))
        if not isinstance(counterfactual, Adversarial):
            raise ConfigError(
                f"{counterfactual!r:.60} cannot be sought inside a Hugging Face model."
            )
        return seek(self.model, self.readout, counterfactual, reading, seed)


def subject_of(
    model: TransformerModel, readout: Readout, classes: Sequence[Label]
) -> TransformerSubject:
    """The subject that the architecture allows."""
    kind = TransformerSubject if model.why_fixed else DecidingTransformer
    return kind(model, readout, classes)


def _at_random(reading: Reading) -> Words:
    """Noise that a text decides."""
    words = reading.weights.shape[1]
    rows = [
        np.random.default_rng(number % 2**32).standard_normal(words)
        for number in fingerprints(reading.texts).tolist()
    ]
    return np.stack(rows) * reading.is_token
