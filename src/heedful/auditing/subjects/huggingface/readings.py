"""Audits of several readings of one Hugging Face model: which, if any, may be shown?

`prepare_readings` makes them; here they are kept, saved and put into a sentence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.plain_words import PlainWords, in_plain_words, several_in_plain_words
from heedful.auditing.results import Audit, Table, plain
from heedful.auditing.subjects.huggingface.loading import LoadedTransformer
from heedful.auditing.subjects.huggingface.subject import (
    TransformerSubject,
    subject_of,
    why_not_read,
)
from heedful.errors import counted, missing_packages_named
from heedful.readouts import Readout, readouts
from heedful.readouts.single_rows import OneHead
from heedful.runs import RunFolder


@dataclass(frozen=True)
class _Kept:
    """What readings.json holds beside what the audits hold."""

    ranking: Table


@dataclass(frozen=True)
class ReadingAudits:
    """An audit of each reading, and all readings ranked by what they tell.

    `ranking` has the rows of `ranking.rank_readings`; empty where telling was not
    asked. Every test's interval is widened by the number of readings, so that all hold together.
    """

    audits: dict[str, Audit]
    ranking: Table

    @classmethod
    def load(cls, folder: Path, readings: Iterable[str]) -> "ReadingAudits":
        """The audits of some readings that were saved in a folder."""
        kept = RunFolder(folder).read_record(runs.READINGS, _Kept, advice="Audit again.")
        audits = {n: Audit.load(one) for n, one in folders_of(folder, readings).items()}
        return cls(audits, kept.ranking)

    @property
    def sentence(self) -> str:
        """Which reading, if any, may be shown."""
        by_verdict: dict[str, list[str]] = {"may": [], "may-not": [], "not-safe": []}
        for name, found in self.audits.items():
            by_verdict[found.verdict].append(name)
        if by_verdict["may"]:
            order = [row["reading"] for row in self.ranking] or list(self.audits)
            best, *others = sorted(by_verdict["may"], key=order.index)
            beside = f" (so may {', '.join(others)})" if others else ""
            return f"This model's attention may be shown as an explanation, read by {best}{beside}."
        parts = [
            f"{', '.join(by_verdict[verdict])} {words}"
            for verdict, words in (
                ("may-not", "may not be shown"),
                ("not-safe", "not shown to be safe"),
            )
            if by_verdict[verdict]
        ]
        return f"No reading of this model's attention may be shown so far: {'; '.join(parts)}."

    @property
    def in_plain_words(self) -> PlainWords:
        """The verdict on all readings for somebody who has read no paper."""
        if len(self.audits) == 1:
            return in_plain_words(next(iter(self.audits.values())))
        return several_in_plain_words(self.sentence, self.audits)

    @property
    def chance(self) -> str:
        """A sentence if the model is right no more often than chance; else empty."""
        return next(iter(self.audits.values())).chance

    @property
    def best(self) -> str:
        """The audited reading that tells most."""
        order = [str(row["reading"]) for row in self.ranking if row["reading"] in self.audits]
        return next(iter(order or self.audits))

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of how the readings were made, each thing once."""
        said = [note for found in self.audits.values() for note in found.about.get("notes", ())]
        return tuple(dict.fromkeys(said))

    @property
    def instead(self) -> str:
        """What may be shown instead of the reading that tells most, if anything tells more."""
        return self.audits[self.best].instead

    def save(self, folder: Path) -> None:
        """Write the audit of each reading into a folder of its own, and readings.json beside."""
        for name, place in folders_of(folder, self.audits).items():
            self.audits[name].save(place)
        without_audits = {key: value for key, value in self.to_dict().items() if key != "audits"}
        RunFolder(folder).write_sealed(runs.READINGS, without_audits, [])

    def to_html(self, path: str | Path) -> None:
        """Write one report of all readings."""
        with missing_packages_named("the report"):
            from heedful.report import write_report

            model = next(iter(self.audits.values())).about["model"]
            ways = counted(len(self.audits), "way")
            write_report(
                path,
                self.audits,
                title=f"{model}: {ways} of reading its attention",
                together=(self.sentence, str(self.in_plain_words)),
            )
        RunFolder(Path(path).parent).enter_into_seal(Path(path).name)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "sentence": self.sentence,
            "in_plain_words": str(self.in_plain_words),
            "instead": self.instead,
            "verdicts": {name: found.verdict for name, found in self.audits.items()},
            "chance": self.chance,
            "notes": list(self.notes),
            "ranking": plain(list(self.ranking)),
            "audits": {name: found.to_dict() for name, found in self.audits.items()},
        }


def folders_of(folder: Path, readings: Iterable[str]) -> dict[str, Path]:
    """Where the audit of each reading is kept."""
    return {
        reading: folder / f"{number}-{runs.folder_name(reading)}"
        for number, reading in enumerate(readings, start=1)
    }


def subjects_of(
    loaded: LoadedTransformer, wanted: Sequence[str | Readout] | None
) -> tuple[dict[str, TransformerSubject], list[str]]:
    """A subject per reading, and notes on usual readings that the model does not allow."""
    chosen = [readouts.make(one) for one in wanted or readouts.audited]
    if wanted:
        return {_name(r): subject_of(loaded.model, r, loaded.classes) for r in chosen}, []
    refusals = {_name(readout): why_not_read(loaded.model, readout) for readout in chosen}
    notes = [f"{name} is left out: {why}" for name, why in refusals.items() if why]
    chosen = [readout for readout in chosen if not refusals[_name(readout)]]
    return {_name(r): subject_of(loaded.model, r, loaded.classes) for r in chosen}, notes


def _name(readout: Readout) -> str:
    """The shortest word that stands for it; a head is always named with its numbers."""
    name = readouts.name_of(readout)
    is_usual = readout == readouts.make(name) and not isinstance(readout, OneHead)
    return name if is_usual else readouts.spec(readout)
