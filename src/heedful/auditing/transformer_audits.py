"""Several readings of one Hugging Face model audited side by side: which, if any, may be shown?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heedful import runs
from heedful.auditing.audit import Request, audit, audit_within
from heedful.auditing.chance import AT_CHANCE
from heedful.auditing.parts import Parts
from heedful.auditing.questions import AuditSettings
from heedful.auditing.record import Audit, Table, plain
from heedful.auditing.transformer import TransformerSubject, subject_of
from heedful.auditing.transformer_loading import LoadedTransformer
from heedful.auditing.transformer_ranking import rank_readings, told_by_heads
from heedful.errors import counted, missing_packages_named
from heedful.readouts import Readout, readouts
from heedful.readouts.rows import OneHead
from heedful.runs import RunFolder
from heedful.text.documents import Documents

USUAL = ("last-cls", "mean-layers", "rollout", "attention-x-gradient", "value-norm")
POSITIONS = {
    "first": "the first position",
    "last": "the last position",
    "all": "the mean over all positions",
}
TOLD = "comprehensiveness_attention"
BY_CHANCE = "comprehensiveness_random"


@dataclass(frozen=True)
class ReadingAudits:
    """An audit of each reading, and all readings ranked by what they tell.

    `ranking` has the rows of `transformer_ranking.rank_readings`; empty where telling was not
    asked. Every test's interval is widened by the number of readings, so that all hold together.
    """

    audits: dict[str, Audit]
    ranking: Table

    @classmethod
    def load(cls, folder: Path, readings: Iterable[str]) -> "ReadingAudits":
        """The audits of some readings that were saved in a folder."""
        stored = RunFolder(folder).read_json(runs.READINGS)
        audits = {n: Audit.load(one) for n, one in folders_of(folder, readings).items()}
        return cls(audits, tuple(stored["ranking"]))

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
    def chance(self) -> str:
        """A sentence if the model is right no more often than chance; else empty."""
        return str(next(iter(self.audits.values())).about.get(AT_CHANCE, ""))

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
        RunFolder(folder).write_json(runs.READINGS, without_audits)

    def to_html(self, path: str | Path) -> None:
        """Write one report of all readings."""
        with missing_packages_named("the report"):
            from heedful.report import write_report

            model = next(iter(self.audits.values())).about["model"]
            ways = counted(len(self.audits), "way")
            write_report(path, self.audits, title=f"{model}: {ways} of reading its attention")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "sentence": self.sentence,
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
    chosen = [readouts.make(one) for one in wanted or USUAL]
    notes = []
    if not wanted and loaded.model.why_fixed:
        notes = [
            f"{_name(readout)} is left out: the model does not show the values that it attends to"
            for readout in chosen
            if readout.needs_values
        ]
        chosen = [readout for readout in chosen if not readout.needs_values]
    return {_name(r): subject_of(loaded.model, r, loaded.classes) for r in chosen}, notes


def audit_readings(
    loaded: LoadedTransformer,
    subjects: dict[str, TransformerSubject],
    documents: Documents,
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    *,
    every_head: bool = False,
    request: Request | None = None,
    parts: Callable[[str], Parts | None] = lambda name: None,
    about: dict[str, Any] | None = None,
) -> ReadingAudits:
    """Audit every reading on the same documents; with `every_head`, rank all heads beside them.

    A budget is that of all readings together. `parts` says where each reading keeps what it has
    measured, so that an interrupted audit can be resumed; with a budget nothing is kept.
    """
    settings = settings or AuditSettings()
    bootstrap = settings.bootstrap
    level = 1 - (1 - bootstrap.level) / len(subjects)  # Bonferroni: verdicts hold together
    each = replace(settings, bootstrap=replace(bootstrap, level=level))
    request = request or Request()
    told = {
        name: {**(about or {}), **_described(loaded, name, len(subjects), level)}
        for name in subjects
    }
    audits: dict[str, Audit] = {}
    if request.seconds is not None:
        one = next(iter(subjects.values()))
        rank = partial(told_by_heads, one, settings=settings) if every_head else None
        audits = audit_within(
            request.seconds,
            subjects,
            documents,
            each,
            asked,
            request=request,
            about=told,
            later=rank,
        )
    else:
        for name, subject in subjects.items():
            of_reading = replace(request, parts=parts(name))
            audits[name] = audit(
                subject, documents, each, asked, request=of_reading, about=told[name]
            )
    first = next(iter(audits.values()))
    ranking: Table = ()
    if BY_CHANCE in first.columns:
        told_by = {name: found.columns[TOLD] for name, found in audits.items()}
        if every_head:
            request.watcher.begin_phase("ranking every head")
            told_by |= _heads(next(iter(subjects.values())), first, settings)
        rng = np.random.default_rng([settings.seed, len(told_by)])
        ranking = rank_readings(told_by, first.columns[BY_CHANCE], rng, bootstrap)
    ranked = {name: _with_ranking(found, name, ranking) for name, found in audits.items()}
    return ReadingAudits(ranked, ranking)


def _heads(subject: TransformerSubject, found: Audit, settings: AuditSettings) -> dict[str, Any]:
    """Comprehensiveness of every head, on a sample of the documents; NaN on the others."""
    known = np.flatnonzero(~np.isnan(found.columns[BY_CHANCE]))
    rng = np.random.default_rng([settings.seed, 2**29])
    sample = np.sort(rng.permutation(known)[: settings.sampled_documents])
    told = told_by_heads(subject, [found.texts[place] for place in sample.tolist()], settings)
    columns = {}
    for name, values in told.items():
        columns[name] = np.full(len(found.texts), np.nan)
        columns[name][sample] = values
    return columns


def _with_ranking(found: Audit, name: str, ranking: Table) -> Audit:
    """The audit with its place among all readings beside its tests."""
    facts = tuple(
        {
            "question": "telling", "name": "comprehensiveness over random rankings",
            "mean": row["over_random"], "low": row["low"], "high": row["high"],
            "documents": row["documents"],
            "note": f"number {place} of {len(ranking)} readings; intervals hold together",
        }
        for place, row in enumerate(ranking, start=1)
        if row["reading"] == name
    )  # fmt: skip
    evidence = {**found.evidence, "readings": ranking}
    evidence["facts"] = (*found.evidence.get("facts", ()), *facts)
    return replace(found, evidence=evidence)


def _described(loaded: LoadedTransformer, name: str, count: int, level: float) -> dict[str, Any]:
    model = loaded.model
    return {
        "name": f"{loaded.name} · {name}",
        "model": loaded.name,
        "architecture": type(model.model).__name__,
        "readout": name,
        "layers_and_heads": f"{model.layers} × {model.heads}",
        "classifier_reads": POSITIONS[model.reads],
        "judge": "self",
        "readings_looked_at": count,
        "interval_level": level,
        "longest_input": model.cutter.most,
    }


def _name(readout: Readout) -> str:
    """The shortest word that stands for it; a head is always named with its numbers."""
    name = readouts.name_of(readout)
    is_usual = readout == readouts.make(name) and not isinstance(readout, OneHead)
    return name if is_usual else readouts.spec(readout)
