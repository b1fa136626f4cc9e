"""A model as the page uses it: it explains a text and answers what-if questions.

Trained ──> RunModel ─────┐
                          ├─ ServedModel <── Reader (texts.py), Store, Handlers
Transformer ─> ReadingModel ┘   (transformers.py)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property

from heedful.auditing.subjects.base import Subject
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.counterfactual import what_if
from heedful.counterfactual.base import counterfactuals
from heedful.importance.base import importances
from heedful.importance.explanation import USUAL_MEASURES, Explanation, explain
from heedful.importance.seen import Need
from heedful.model.classifier import AttentionClassifier
from heedful.training.task import Label
from heedful.training.trained import Trained


class ServedModel(ABC):
    """A model that is served."""

    classes: tuple[Label, ...]
    has_attention: bool
    why_fixed: str = ""  # why other weights cannot be tried on it; nothing if they can

    @property
    @abstractmethod
    def measures(self) -> Sequence[str]:
        """The measures of importance that it has, by name."""

    @property
    @abstractmethod
    def usual_measures(self) -> Sequence[str]:
        """Those that are shown at first."""

    @property
    @abstractmethod
    def counterfactuals(self) -> Sequence[str]:
        """The other attentions that can be tried on it, by name."""

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """The same as an audit sees it."""

    @property
    @abstractmethod
    def longest_text(self) -> str:
        """Where texts are cut, in words for a person."""

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """What it is."""

    @abstractmethod
    def is_audited_in(self, about: Mapping[str, object], name: str) -> bool:
        """Whether an audit about this is of it, who is served under a name."""

    @abstractmethod
    def is_cut(self, text: str) -> bool:
        """Whether it reads only the beginning of a text."""

    @abstractmethod
    def explain(self, text: str, measures: Sequence[str]) -> Explanation:
        """A text, word by word."""

    @abstractmethod
    def read(self, text: str, deleted: Sequence[int]) -> what_if.EditedText:
        """A text without some of its words, for what-if questions."""

    def turn(self) -> AbstractContextManager[object]:
        """Held while the model is used, if it cannot be used by several threads at once."""
        return nullcontext()


class RunModel(ServedModel):
    """A run of heedful."""

    def __init__(self, trained: Trained) -> None:
        self.trained = trained
        self.classes = trained.classes
        self.has_attention = isinstance(trained.model, AttentionClassifier)

    @cached_property
    def measures(self) -> Sequence[str]:
        """All but those of a Transformer's layers; decomposition of a pretrained encoder only."""
        gives = ClassifierSubject.gives
        gives |= {Need.HELD_LAYERS} if self.trained.pretrained is not None else set()
        return [name for name in importances if importances[name].needs <= gives]

    @property
    def usual_measures(self) -> Sequence[str]:
        """The same for all runs."""
        return USUAL_MEASURES

    @property
    def counterfactuals(self) -> Sequence[str]:
        """All of them."""
        return list(counterfactuals)

    @cached_property
    def subject(self) -> Subject:
        """A subject of the run."""
        return ClassifierSubject(self.trained)

    @property
    def longest_text(self) -> str:
        """As the run says."""
        return self.trained.longest_text

    def describe(self) -> Mapping[str, object]:
        """As the run says."""
        return self.trained.describe()

    def is_audited_in(self, about: Mapping[str, object], name: str) -> bool:
        """Of that name, built like it, with its weights.

        An audit of an early version, which did not record the weights, is accepted.
        """
        if str(about.get("name")) != name:
            return False
        return all(about.get(key, value) == value for key, value in self.describe().items())

    def is_cut(self, text: str) -> bool:
        """By the number of its words, or pieces."""
        return self.trained.tokenizer.encode([text]).cut > 0

    def explain(self, text: str, measures: Sequence[str]) -> Explanation:
        """From its inside."""
        return explain(self.trained, text, measures)

    def read(self, text: str, deleted: Sequence[int]) -> what_if.EditedText:
        """From its states."""
        return what_if.read(self.trained, text, deleted)
