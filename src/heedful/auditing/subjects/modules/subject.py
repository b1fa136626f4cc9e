"""Any PyTorch module under audit, read through its adapter and left as it was.

Words are deleted by reading the words that are left, so nothing is assumed of the module but what
its adapter shows. A document of which no word is left is decided from a zero context.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.auditing.subjects.base import (
    Attentions,
    Probabilities,
    Reading,
    ShowsStates,
    States,
)
from heedful.auditing.subjects.from_outside import DecidesFromOutside
from heedful.auditing.subjects.modules.adapter import ModuleAdapter, places_of_words
from heedful.auditing.subjects.modules.reader import STAND_IN, ModuleReader, Part
from heedful.auditing.subjects.modules.seen import SeenModule, given, state_gradient_lengths
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.counterfactual.adversarial import Adversarial
from heedful.model.digest import weights_digest
from heedful.text.documents import fingerprints

CELLS_AT_ONCE = 2**24  # numbers of states that are held together under many attentions
NOTHING_TRAINED = "it needs retrained models, and a module is audited as it is"
NO_EMBEDDINGS = "its adapter returns no embeddings to compare states with"


class ModuleSubject(DecidesFromOutside, ShowsStates):
    """A module of somebody else's; what its adapter shows decides what it can be asked."""

    noun = "this module"
    architecture = "module"

    def __init__(self, adapter: ModuleAdapter) -> None:
        self.classes = adapter.classes
        self.adapter = adapter
        self.reader = ModuleReader(adapter)
        with self.reader.with_gradients():
            trace = self.reader.read([STAND_IN, 2 * STAND_IN])
            self.gives = given(self.reader, trace)
        self.shows_embeddings = trace.embedded is not None

    @property
    def identity(self) -> dict[str, object]:
        """The module's weights."""
        return {"model": weights_digest(self.adapter.module)}

    def refuses(self, question: str) -> str:
        """What needs retrained models, or embeddings where there are none."""
        if question == "grounded" and not self.shows_embeddings:
            return NO_EMBEDDINGS
        return NOTHING_TRAINED if question in ("needed", "stable") else ""

    @property
    def replacement(self) -> str:
        """What its adapter says."""
        return self.adapter.unknown_word

    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities; an adapter that contradicts itself is refused."""
        offsets = tuple(places_of_words(self.adapter, text) for text in texts)
        documents = [
            [text[start:end] for start, end in places.tolist()]
            for text, places in zip(texts, offsets, strict=True)
        ]
        lengths = np.array([len(words) for words in documents])
        weights = np.zeros((len(texts), max(1, int(lengths.max(initial=0)))))
        with self.reader.as_it_predicts():
            parts = tuple(self.reader.parts(documents))
            for part in parts:
                self.reader.check(part)
                part.write(part.trace.weights, weights)
        total = weights.sum(axis=1, keepdims=True)
        return Reading(
            texts=tuple(texts),
            is_token=np.arange(weights.shape[1]) < lengths[:, None],
            weights=weights / np.where(total > 0, total, 1),
            probabilities=_joined(parts, len(self.classes)),
            offsets=offsets,
            inner=(documents, parts),
        )

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the words that are kept."""
        documents, _ = reading.inner
        shortened = [
            [documents[number][place] for place in np.flatnonzero(kept & reading.is_token[number])]
            for number, kept in zip(document.tolist(), is_kept, strict=True)
        ]
        with self.reader.as_it_predicts():
            return _joined(self.reader.parts(shortened), len(self.classes))

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights, the states as they are."""
        found = np.empty((*attentions.shape[:2], len(self.classes)))
        _, parts = reading.inner
        with self.reader.as_it_predicts():
            for part in parts:
                states = part.trace.states
                weights = torch.from_numpy(attentions[part.rows, :, : states.shape[1]]).to(states)
                some = weights.split(max(1, CELLS_AT_ONCE // states.numel()), dim=1)
                logits = [self.reader.decide_many(states, each) for each in some]
                found[part.rows] = _shares(torch.cat(logits, dim=1))
        return found

    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities of a zero context."""
        return self.decide(reading, np.zeros_like(reading.weights)[:, None])[:, 0]

    def sought(self, reading: Reading, search: Adversarial, seed: int) -> Attentions:
        """What an adversary finds, in one part after the other."""
        rng = torch.Generator().manual_seed(seed)
        found = np.zeros((len(reading.texts), search.candidates, reading.weights.shape[1]))
        _, parts = reading.inner
        with self.reader.as_it_predicts():
            for part in parts:
                candidates = self._sought_in(part, search, rng).cpu().double().numpy()
                found[part.rows, :, : candidates.shape[-1]] = candidates
        return found

    def _sought_in(
        self, part: Part, search: Adversarial, rng: torch.Generator
    ) -> Float[Tensor, "part attentions words"]:
        """The search in single precision, whatever the module computes in."""
        states = part.trace.states

        def decide(
            weights: Float[Tensor, "part attentions words"],
        ) -> Float[Tensor, "part attentions classes"]:
            return self.reader.decide_many(states, weights).float()

        own, usual = part.trace.weights.float(), part.trace.logits.float()
        return search.through(decide, own, usual, part.is_word, rng)

    def see(self, reading: Reading) -> SeenModule:
        """What its adapter shows."""
        return SeenModule(self, self.reader, reading)

    def word_ids(self, reading: Reading) -> Int[ndarray, "documents words"]:
        """A number from the word itself, case aside."""
        ids = np.full(reading.weights.shape, -1)
        for row, words in enumerate(reading.inner[0]):
            ids[row, : len(words)] = np.abs(fingerprints(words) // 2)
        return ids

    def states(self, reading: Reading) -> dict[str, States]:
        """Embeddings and states."""
        _, parts = reading.inner
        seen = {
            "embedded": [part.trace.embedded for part in parts],
            "hidden": [part.trace.states for part in parts],
        }
        found = {}
        for name, tensors in seen.items():
            found[name] = np.zeros((*reading.weights.shape, tensors[0].shape[-1]), np.float32)
            for part, tensor in zip(parts, tensors, strict=True):
                found[name][part.rows, : tensor.shape[1]] = tensor.float().cpu().numpy()
        return found

    def influence(self, reading: Reading) -> Float[ndarray, "documents words words"]:
        """Shares of gradient lengths; see `importance.influence`."""
        found = np.zeros((*reading.weights.shape, reading.weights.shape[1]))
        _, parts = reading.inner
        with self.reader.with_gradients():
            for part in map(self.reader.again, parts):
                both = part.is_word.unsqueeze(1) & part.is_word.unsqueeze(2)
                lengths = (state_gradient_lengths(part.trace) * both).cpu().double().numpy()
                found[part.rows, : lengths.shape[1], : lengths.shape[2]] = lengths
        total = found.sum(axis=-1, keepdims=True)
        return found / np.where(total > 0, total, 1)


def _joined(parts: Iterable[Part], classes: int) -> Probabilities:
    """Probabilities of all documents in their order; there may be none."""
    found = [(part.rows, _shares(part.trace.logits)) for part in parts]
    if not found:
        return np.empty((0, classes))
    order = np.concatenate([rows for rows, _ in found])
    return np.concatenate([shares for _, shares in found])[np.argsort(order)]


def _shares(logits: Float[Tensor, "*rows classes"]) -> Float[ndarray, "*rows classes"]:
    return logits.cpu().double().softmax(dim=-1).numpy()
