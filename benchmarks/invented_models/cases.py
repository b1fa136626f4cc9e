"""From what decides and what is shown to a classifier that can be audited."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import heedful
from benchmarks.invented_models.documents import Lexicon
from benchmarks.invented_models.kinds import MISLABELLED, Case, Logits, Numbers, Picture, Rng, Words
from benchmarks.invented_models.pictures import normalised
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.text.documents import Document, Documents
from heedful.training.trained import WordWeights


def softmax(logits: Numbers) -> Numbers:
    """Probabilities, row by row."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def offsets_of(words: Words) -> NDArray[np.int64]:
    """Where words are in a text with one blank between two."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    return np.stack([starts, starts + lengths], axis=1)


def as_documents(texts: list[str], labels: Sequence[str]) -> Documents:
    """Texts with labels."""
    return Documents(Document(t, label) for t, label in zip(texts, labels, strict=True))


def labels_of(rng: Rng, decisions: Sequence[int], classes: int) -> list[str]:
    """What the model says, except for a few."""
    is_other = rng.random(len(decisions)) < MISLABELLED
    moved = rng.integers(1, classes, size=len(decisions))
    found = (np.asarray(decisions) + is_other * moved) % classes
    return [str(label) for label in found.tolist()]


def function_case(
    rng: Rng,
    documents: list[Words],
    logits: Logits,
    picture: Picture,
    *,
    labels: Sequence[str] | None = None,
    unknown_word: str = "",
    decimals: int | None = None,
) -> Case:
    """A function of words, and a picture beside it; labels are what it says, except for a few."""
    classes = len(logits(documents[0]))

    def predict(texts: list[str]) -> Numbers:
        found = softmax(np.stack([logits(text.split()) for text in texts]))
        if decimals is None:
            return found
        rounded = found.round(decimals)
        return np.asarray(rounded / rounded.sum(axis=1, keepdims=True))

    def attend(texts: list[str]) -> list[WordWeights]:
        read = [(text, text.split()) for text in texts]
        return [
            WordWeights(text, offsets_of(words), normalised(picture(words))) for text, words in read
        ]

    decisions = [int(logits(words).argmax()) for words in documents]
    subject = PlainSubject(predict, attend, [str(c) for c in range(classes)], unknown_word)
    texts = [" ".join(words) for words in documents]
    return Case(subject, as_documents(texts, labels or labels_of(rng, decisions, classes)))


Pooled = Callable[[Words], tuple[Numbers, Numbers]]  # states (words, classes); weights (words)


class PoolingAdapter(heedful.ModuleAdapter):
    """States and weights by a function; logits from their sum and, for a share, from their mean."""

    def __init__(self, pooled: Pooled, classes: int, scale: float, beside: float, bias: Numbers):
        module = nn.Linear(1, 1, bias=False)
        nn.init.ones_(module.weight)  # multiplies the states, so that gradients have a way
        super().__init__(module, [str(c) for c in range(classes)])
        self.pooled, self.scale, self.beside = pooled, scale, beside
        self.bias = torch.from_numpy(bias).double()

    def words(self, text: str) -> list[tuple[int, int]]:
        """Between blanks."""
        return [(start, end) for start, end in offsets_of(text.split()).tolist()]

    def read(self, documents: list[list[str]]) -> heedful.ModuleTrace:
        """The last number of a state is 1 at a word and 0 at padding."""
        shape = (len(documents), max(map(len, documents)))
        states = np.zeros((*shape, len(self.classes) + 1))
        weights = np.zeros(shape)
        for row, words in enumerate(documents):
            own, shares = self.pooled(words)
            states[row, : len(words)] = np.concatenate([own, np.ones((len(words), 1))], axis=1)
            weights[row, : len(words)] = normalised(shares)
        one = self.module.weight.double().reshape(())  # type: ignore[operator]
        seen, attention = torch.from_numpy(states) * one, torch.from_numpy(weights)
        return heedful.ModuleTrace(seen, attention, self.decide(seen, attention))

    def decide(self, states: Tensor, weights: Tensor) -> Tensor:
        """What attention draws, and what goes past it."""
        own, is_word = states[..., :-1], states[..., -1]
        drawn = (weights.unsqueeze(-1) * own).sum(dim=1)
        past = own.sum(dim=1) / is_word.sum(dim=1, keepdim=True).clamp(min=1e-9)
        decided = self.scale * ((1 - self.beside) * drawn + self.beside * past)
        return decided + self.bias.to(decided)


def module_case(
    rng: Rng,
    documents: list[Words],
    pooled: Pooled,
    *,
    scale: float = 5.0,
    beside: float = 0.0,
    bias: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
) -> Case:
    """A module whose attention can be replaced; `beside`: the share that goes past attention."""
    classes = pooled(documents[0])[0].shape[1]
    adapter = PoolingAdapter(pooled, classes, scale, beside, np.array(bias or [0.0] * classes))
    with torch.no_grad():
        decisions = [int(adapter.read([words]).logits.argmax()) for words in documents]
    texts = [" ".join(words) for words in documents]
    known = labels or labels_of(rng, decisions, classes)
    return Case(ModuleSubject(adapter), as_documents(texts, known))


def scored(lexicon: Lexicon, words: Words, factor: float = 3.0) -> Numbers:
    """Attention that grows with what a word says."""
    return np.exp(factor * lexicon.strengths(words))


def valued(lexicon: Lexicon, words: Words) -> Numbers:
    """A state per word: its strength at its class."""
    own = lexicon.classes_of(words)
    return np.eye(lexicon.classes + 1)[own][:, :-1] * lexicon.strengths(words)[:, None]
