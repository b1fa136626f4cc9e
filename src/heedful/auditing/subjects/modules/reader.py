"""WordLists read through an adapter: packed by length, checked, and the module left as it was."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.auditing.subjects.modules.adapter import (
    ModuleAdapter,
    ModuleTrace,
    check_decision,
    check_same,
    check_trace,
    is_word,
    left_as_it_was,
)
from heedful.importance.seen import gradients_in_eval

STAND_IN = ["a"]  # read where there is no word, for the shapes; its states then count as zero

WordLists = Sequence[list[str]]


@dataclass(frozen=True)
class Part:
    """WordLists that were read together, longest first."""

    rows: Int[ndarray, " part"]  # their places among all
    documents: WordLists
    trace: ModuleTrace

    @property
    def is_word(self) -> Bool[Tensor, "part words"]:
        """True where a document has a word."""
        return is_word(self.documents, self.trace.states.device)

    def write(self, values: Float[Tensor, "part words"], into: Float[ndarray, "all most"]) -> None:
        """One value per word to where the documents stand among all; zero on padding."""
        shown = (values.detach() * self.is_word).cpu().double().numpy()
        into[self.rows, : shown.shape[1]] = shown


class ModuleReader:
    """An adapter whose every answer is checked."""

    def __init__(self, adapter: ModuleAdapter) -> None:
        self.adapter = adapter

    @contextmanager
    def as_it_predicts(self) -> Iterator[None]:
        """Evaluation mode, no gradients."""
        with left_as_it_was(self.adapter.module), torch.no_grad():
            self.adapter.module.eval()
            yield

    @contextmanager
    def with_gradients(self) -> Iterator[None]:
        """Evaluation mode; frozen parameters ask for gradients too, so that what they make can."""
        module = self.adapter.module
        with left_as_it_was(module), gradients_in_eval(module):
            for numbers in module.parameters():
                numbers.requires_grad_(numbers.is_floating_point())
            yield

    def parts(self, documents: WordLists) -> Iterator[Part]:
        """WordLists of like length read together, no more words at once than the adapter takes."""
        lengths = np.array([max(1, len(words)) for words in documents], dtype=np.int64)
        order, start = np.argsort(-lengths, kind="stable"), 0
        while start < len(order):
            size = max(1, self.adapter.words_at_once // int(lengths[order[start]]))
            rows, start = order[start : start + size], start + size
            some = [documents[row] for row in rows.tolist()]
            yield Part(rows, some, self.read(some))

    def again(self, part: Part) -> Part:
        """The same documents, read again."""
        return replace(part, trace=self.read(part.documents))

    def read(self, documents: WordLists) -> ModuleTrace:
        """One forward pass; a document without words has zero states and no weights."""
        given = [words or STAND_IN for words in documents]
        trace = check_trace(self.adapter.read(given), given, len(self.adapter.classes))
        is_empty = torch.tensor([not words for words in documents], device=trace.states.device)
        if not is_empty.any():
            return trace
        states = trace.states.masked_fill(is_empty.view(-1, 1, 1), 0.0)
        weights = trace.weights.masked_fill(is_empty.view(-1, 1), 0.0)
        logits = torch.where(is_empty.view(-1, 1), self.decide(states, weights), trace.logits)
        return replace(trace, states=states, weights=weights, logits=logits)

    def decide(
        self, states: Float[Tensor, "part words size"], weights: Float[Tensor, "part words"]
    ) -> Float[Tensor, "part classes"]:
        """Logits for the given attention."""
        logits = self.adapter.decide(states, weights)
        return check_decision(logits, len(states), len(self.adapter.classes))

    def decide_many(
        self,
        states: Float[Tensor, "part words size"],
        weights: Float[Tensor, "part attentions words"],
    ) -> Float[Tensor, "part attentions classes"]:
        """Logits of each document under each of many attentions."""
        repeated = states.repeat_interleave(weights.shape[1], dim=0)
        logits = self.decide(repeated, weights.to(states).flatten(0, 1))
        return logits.unflatten(0, weights.shape[:2])

    def check(self, part: Part) -> None:
        """The own weights decide as the module does, and neighbours change nothing."""
        trace, documents = part.trace, part.documents
        usual = trace.logits.softmax(dim=-1)
        check_same(
            self.decide(trace.states, trace.weights).softmax(dim=-1), usual, documents,
            "with the module's own weights, decide should return the module's own prediction; for "
            "{text} the module gives {one}, decide {other}. Include every step up to the logits."
        )  # fmt: skip
        if len(documents[-1]) < len(documents[0]):
            check_same(
                self.read(documents[-1:]).logits.softmax(dim=-1), usual[-1:], documents[-1:],
                "a document should be read the same whatever else is in its batch; {text} gets "
                "{one} with longer ones and {other} alone. Mask or pack the padding, or read "
                "documents one by one in the adapter."
            )  # fmt: skip
