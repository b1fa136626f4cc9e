"""Hugging Face classifiers on the page: each is served once for every reading of its attention."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from heedful.auditing.explanation import explain_with
from heedful.auditing.subjects.huggingface.loading import (
    LoadedTransformer,
    load_prompted_transformer,
    load_transformer,
)
from heedful.auditing.subjects.huggingface.prompted import PLACE, Prompt
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.auditing.subjects.huggingface.subject import TransformerSubject
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.auditing.what_if import SubjectText, read_with, replacements, why_no_decisions
from heedful.auditing.withholding import is_of
from heedful.importance.base import importances
from heedful.importance.explanation import ATTENTION, Explanation
from heedful.interruption import check_interrupted
from heedful.model.hub import TOKENIZER_FILES, quieten
from heedful.web.models import ServedModel

USUAL = (ATTENTION, "decomposition", "gradient-x-input", "leave-one-out")
LOOK_SECONDS = 0.1  # between two looks at whether a request in line is still wanted


class ReadingModel(ServedModel):
    """One reading of a Hugging Face model's attention; all readings of a model take turns."""

    has_attention = True

    def __init__(
        self, loaded: LoadedTransformer, reading: str, subject: TransformerSubject, lock: "Turns"
    ) -> None:
        self.loaded, self.reading = loaded, reading
        self._subject, self._lock = subject, lock
        self.classes = subject.classes
        self.why_fixed = why_no_decisions(subject)

    @cached_property
    def measures(self) -> Sequence[str]:
        """All that this architecture gives."""
        return [name for name in importances if importances[name].needs <= self._subject.gives]

    @cached_property
    def usual_measures(self) -> Sequence[str]:
        """With decomposition, where it has one: one pass, and as telling as many deletions."""
        return [name for name in USUAL if name in self.measures]

    @cached_property
    def counterfactuals(self) -> Sequence[str]:
        """Those that need nothing of its inside."""
        return replacements(self._subject)

    @property
    def subject(self) -> TransformerSubject:
        """The reading."""
        return self._subject

    @property
    def longest_text(self) -> str:
        """In pieces."""
        return self.loaded.model.cutter.limit

    def describe(self) -> Mapping[str, object]:
        """Whose attention, and how it is read."""
        model = self.loaded.model
        around = model.cutter.around
        return {
            "model": self.loaded.name,
            **({"template": PLACE.join(around)} if any(around) else {}),
            "architecture": type(model.model).__name__,
            "readout": self.reading,
            "layers_and_heads": f"{model.layers} × {model.heads}",
        }

    def is_audited_in(self, about: Mapping[str, object], name: str) -> bool:
        """The same weights, read in the same way, under whatever name."""
        return is_of(about, self._subject)

    def is_cut(self, text: str) -> bool:
        """By the number of its pieces."""
        return self.loaded.model.cutter.encode([text])[0].is_cut

    def explain(self, text: str, measures: Sequence[str]) -> Explanation:
        """The reading itself, then the other measures that the model supports."""
        return explain_with(self._subject, text, measures)

    def read(self, text: str, deleted: Sequence[int]) -> SubjectText:
        """By writing the text without the words."""
        return read_with(self._subject, text, deleted)

    def turn(self) -> "Turns":
        """Its layers are watched while it reads, so one text at a time is read."""
        return self._lock


class Turns:
    """A lock; a thread whose request was cancelled stops waiting for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=LOOK_SECONDS):
            check_interrupted()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


@dataclass(frozen=True)
class Readings:
    """A loaded model, read in several ways."""

    name: str  # of the model, as the page calls it
    models: Mapping[str, ReadingModel]
    notes: tuple[str, ...]

    @classmethod
    def load(
        cls,
        source: str,
        device: str,
        readouts: Sequence[str],
        long_texts: LongTexts = "cut",
        prompt: Prompt | None = None,
    ) -> "Readings":
        """The model in a folder or of a hub name; by default, all readouts that audits use."""
        quieten()
        if prompt is None:
            loaded = load_transformer(source, device, long_texts=long_texts)
        else:
            loaded = load_prompted_transformer(source, prompt, device, long_texts=long_texts)
        subjects, notes = subjects_of(loaded, readouts or None)
        lock = Turns()
        models = {name: ReadingModel(loaded, name, one, lock) for name, one in subjects.items()}
        # A slash would be part of an address.
        return cls(loaded.name.rsplit("/", maxsplit=1)[-1], models, tuple(notes))


def watched_files(source: str) -> Iterator[str]:
    """The files of a model's folder that it is made of; none of a hub name: nobody changes it."""
    folder = Path(source)
    if folder.is_dir():
        yield "config.json"
        yield from sorted(path.name for path in folder.glob("*.safetensors"))
        yield from (name for name in TOKENIZER_FILES if (folder / name).is_file())
