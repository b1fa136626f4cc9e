"""An adapter for any PyTorch module: its states, its weights and its decision.

    text ── words ──> documents ── read ──> ModuleTrace ── decide(states, other weights) ──> logits

To audit your own module, write a `ModuleAdapter` with three methods and give it to `heedful.audit`;
docs/any-module.md has an example. What the methods return is checked here, and errors say what does
not fit. `subject.py` turns an adapter into a subject.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.errors import ConfigError, DataError
from heedful.training.task import Label

TOLERANCE = 0.01  # of probabilities and of sums of weights: half precision takes it

Words = Sequence[str]


# The fields are plain tensors, not shapes: what a user gives is refused below, in words.
@dataclass(frozen=True)
class ModuleTrace:
    """One forward pass of a module: a row per document, a column per word, padding at the end."""

    states: Tensor  # batch, words, size: the values that attention weighs
    weights: Tensor  # batch, words: at least 0, sum 1 over a document's words, 0 on padding
    logits: Tensor  # batch, classes: what the module itself says
    embedded: Tensor | None = None  # batch, words, size: the vectors that the states are made from


class ModuleAdapter(ABC):
    """How an audit reads texts with your module: words, states, weights and decision.

    `classes` are the labels in the order of the logits. `read` gets at most `words_at_once` words
    at a time, including padding; choose a smaller number for a module that needs much memory. With
    an `unknown_word`, pictures are also judged with words replaced by it instead of deleted.
    """

    words_at_once: int = 16_384
    unknown_word: str = ""  # one that the module was trained to read as unknown, if there is any

    def __init__(self, module: nn.Module, classes: Sequence[Label]) -> None:
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise ConfigError(f"an adapter needs at least two different classes, not {classes!r}.")
        self.module = module
        self.classes = tuple(classes)

    @abstractmethod
    def words(self, text: str) -> Sequence[tuple[int, int]]:
        """The start and end of each word that the module reads, in the order of the text."""

    @abstractmethod
    def read(self, documents: list[list[str]]) -> ModuleTrace:
        """One forward pass over documents of one word or more; some are shortened."""

    @abstractmethod
    def decide(self, states: Tensor, weights: Tensor) -> Tensor:
        """Logits for the given attention: pass other weights to ask 'what if?'."""


@contextmanager
def left_as_it_was(module: nn.Module) -> Iterator[None]:
    """Whatever is done inside, every part's mode and every parameter's gradient wish come back."""
    modes = [(part, part.training) for part in module.modules()]
    wishes = [(numbers, numbers.requires_grad) for numbers in module.parameters()]
    try:
        yield
    finally:
        for part, is_training in modes:
            part.training = is_training
        for numbers, is_wanted in wishes:
            numbers.requires_grad_(is_wanted)


def places_of_words(adapter: ModuleAdapter, text: str) -> Int[ndarray, "words 2"]:
    """Where the adapter finds words, if they stand in the text one behind the other."""
    found = [tuple(place) for place in adapter.words(text)]
    if not all(len(place) == 2 for place in found):
        raise DataError(f"words should return (start, end) of each word of {text!r:.60}.")
    places = np.array(found, dtype=np.int64).reshape(-1, 2)
    edges = np.concatenate([[0], places.ravel(), [len(text)]])
    if (np.diff(edges) < 0).any() or (places[:, 0] == places[:, 1]).any():
        raise DataError(
            f"words should return positions in the text, in order and without overlap; for "
            f"{text!r:.60} of {len(text)} characters it returned {found!r:.80}."
        )
    return places


def check_trace(trace: object, documents: Sequence[Words], classes: int) -> ModuleTrace:
    """What `read` gave, if it has the right shapes and its weights are an attention."""
    if not isinstance(trace, ModuleTrace):
        raise DataError(f"read should return a heedful.ModuleTrace, not {type(trace).__name__}.")
    shape = (len(documents), max(map(len, documents)))
    _check_numbers("read", "weights", trace.weights, shape)
    _check_numbers("read", "states", trace.states, (*shape, None))
    _check_logits("read", trace.logits, (len(documents), classes))
    if trace.embedded is not None:
        _check_numbers("read", "embedded", trace.embedded, (*shape, None))
    weights = trace.weights.detach().double()
    inside = (weights * is_word(documents, weights.device)).sum(dim=1)
    is_wrong = (torch.stack([inside, weights.sum(dim=1)]) - 1).abs().amax(dim=0) > TOLERANCE
    is_wrong |= (weights < 0).any(dim=1)
    if is_wrong.any():
        row = int(is_wrong.int().argmax())
        raise DataError(
            "weights must be at least 0 and sum to 1 over a document's words; those of "
            f"{' '.join(documents[row])!r:.60} sum to {inside[row]:.3g}, and with padding to "
            f"{weights[row].sum():.3g}. Padding must follow the words and have weight 0."
        )
    return trace


def check_decision(logits: object, documents: int, classes: int) -> Tensor:
    """What `decide` gave, if it is a row of logits per document."""
    return _check_logits("decide", logits, (documents, classes))


def check_same(
    probabilities: Tensor, expected: Tensor, documents: Sequence[Words], difference: str
) -> None:
    """Refuse an adapter that gives two answers to the same question."""
    gaps = (probabilities - expected).abs().amax(dim=-1)
    worst = int(gaps.argmax())
    if gaps[worst] > TOLERANCE:
        shown = [row[worst].tolist() for row in (expected, probabilities)]
        one, other = (", ".join(f"{share:.3f}" for share in row[:4]) for row in shown)
        raise DataError(
            difference.format(text=f"{' '.join(documents[worst])!r:.60}", one=one, other=other)
        )


def is_word(documents: Sequence[Words], device: torch.device) -> Bool[Tensor, "batch words"]:
    """True where a document has a word."""
    lengths = torch.tensor([len(words) for words in documents])
    return (torch.arange(max(1, int(lengths.max()))) < lengths.unsqueeze(1)).to(device)


def _check_logits(method: str, logits: object, shape: tuple[int, int]) -> Tensor:
    found = _check_numbers(method, "logits", logits, shape)
    is_between = ((found > 0) & (found < 1)).all()  # a softmax gives neither 0 nor 1
    if is_between and torch.allclose(found.sum(dim=-1), found.new_ones(()), atol=1e-6):
        raise DataError(
            f"{method} should return logits; these look like probabilities, which sum to 1. Return "
            "the input of the softmax, or their logarithm."
        )
    return found


def _check_numbers(method: str, name: str, found: object, shape: tuple[int | None, ...]) -> Tensor:
    """A tensor of finite floats; None in the shape stands for any size."""
    axes = {"weights": "documents, words", "logits": "documents, classes"}
    wanted = f"({', '.join('any' if size is None else str(size) for size in shape)})"
    if not isinstance(found, Tensor) or not found.is_floating_point():
        kind = found.dtype if isinstance(found, Tensor) else type(found).__name__
        raise DataError(
            f"{name} of {method} should be a tensor of floating-point numbers, not {kind}."
        )
    if found.dim() != len(shape) or any(
        size is not None and size != own for size, own in zip(shape, found.shape, strict=True)
    ):
        raise DataError(
            f"{name} of {method} should have the shape ({axes.get(name, 'documents, words, size')})"
            f" = {wanted}; they have {tuple(found.shape)}."
        )
    if found.is_inference():
        raise DataError(
            f"{name} of {method} were made under torch.inference_mode, which blocks gradients. "
            "Remove it: heedful sets the mode itself."
        )
    if not found.isfinite().all():
        raise DataError(f"{name} of {method} contain numbers that are not finite, in eval mode.")
    return found
