"""What an analysis is: an instrument of one of the papers, run end to end.

    OfCorpus    looks at documents alone
    OfTraining  trains by itself and watches
    OfRun       looks at a finished run, perhaps on documents
    OfAttention looks at the attention of a run or of a Hugging Face model
    OfHistory   reads only how a training went

A member of `analyses` is a frozen dataclass; its fields are its options. It says which figures the
report draws of it, so that its own file is all that a new analysis takes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from heedful.analysis.result import FigureSpec, Result
from heedful.auditing.subjects.base import Subject
from heedful.errors import ConfigError
from heedful.model.classifier import AttentionClassifier
from heedful.registry import Registry
from heedful.text.documents import Corpus, Documents
from heedful.training.fit import Watcher
from heedful.training.settings import Settings
from heedful.training.trained import Trained


class Analysis(ABC):
    """An instrument. Subclasses are frozen dataclasses; their fields are their options."""

    name: ClassVar[str]
    asks: ClassVar[str]
    figures: ClassVar[tuple[FigureSpec, ...]] = ()


class OfCorpus(Analysis):
    """An analysis of documents, without a model."""

    @abstractmethod
    def analyse(self, corpus: Corpus) -> Result:
        """Tell what was found."""


class OfTraining(Analysis):
    """An analysis that trains its own models and watches them."""

    profile: ClassVar[str]  # whose settings it starts from
    needs_data: ClassVar[bool] = True
    takes_settings: ClassVar[bool] = True  # else its own options decide how it trains

    @abstractmethod
    def analyse(
        self, corpus: Corpus | None, settings: Settings, device: str, watcher: Watcher
    ) -> Result:
        """Train on the corpus (or on one of its own) and tell what was seen."""


class OfRun(Analysis):
    """An analysis of a finished run, on documents if it needs some."""

    part: ClassVar[Literal["train", "dev", "test"] | None] = (
        "test"  # of a corpus; None: needs no data
    )

    @abstractmethod
    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Tell what was found."""


class OfAttention(Analysis):
    """An analysis of what any model shows as its attention, on test documents."""

    readout: str  # how the attention of a Hugging Face model is read

    @abstractmethod
    def analyse(self, subject: Subject, documents: Documents, seed: int) -> Result:
        """Tell what was found."""


class OfHistory(Analysis):
    """An analysis of the history of a run."""

    @abstractmethod
    def analyse(self, history: Sequence[Mapping[str, Any]]) -> Result:
        """Tell what was found."""


analyses: Registry[Analysis] = Registry("analysis")


def needs_attention(trained: Trained, analysis: str) -> AttentionClassifier:
    """The model of a run, if it attends to words; else a sentence."""
    if not isinstance(trained.model, AttentionClassifier):
        raise ConfigError(
            f"{analysis} is about attention over words, and this classifier has none: it was built "
            f"with pooling = {trained.settings.model.pooling!r}."
        )
    return trained.model
