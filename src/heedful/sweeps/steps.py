"""What is asked of every cell once it is trained: an audit, and analyses.

A name with an @ before it stands for the cell of another variant, alike in everything else:
`judge = "base"` of an audit, `deletion:judge=@base` of an analysis.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from heedful.analysis.instruments import analyses
from heedful.analysis.instruments.base import OfAttention, OfCorpus, OfRun, OfTraining
from heedful.auditing.questions import AuditSettings, questions
from heedful.config import at_least, from_plain
from heedful.errors import ConfigError, HeedfulError, nearest
from heedful.jobs.fingerprint import digest
from heedful.text.documents import Corpus, Documents

ANOTHER = re.compile(r"(?<==)@([^:+]+)")  # judge=@base


@dataclass(frozen=True)
class AuditStep:
    """How every cell is audited."""

    documents: int | None = None  # a random sample of so many; none: all
    ask: tuple[str, ...] = ()  # questions; none: all
    part: Literal["test", "dev", "train"] = "test"  # of the corpus
    deep: bool = False  # train the models that some questions take
    judge: str | None = None  # the variant whose model judges erasures; none: each its own
    report: bool = False  # also write report.html
    settings: AuditSettings = field(default_factory=AuditSettings)

    def __post_init__(self) -> None:
        at_least(1, documents=self.documents)
        for name in self.ask:
            questions[name]  # refuses strangers

    @property
    def folder(self) -> str:
        """The folder of the audit within its run; another request has another."""
        return f"audit-{digest(self).hex()[:8]}"


@dataclass(frozen=True)
class AnalysisStep:
    """An analysis of every cell, as it is written after `heedful analyse`."""

    spec: str

    def __post_init__(self) -> None:
        analysis = analyses.make(ANOTHER.sub(r"\1", self.spec))  # refuses strangers
        if isinstance(analysis, OfTraining | OfCorpus):
            trains = isinstance(analysis, OfTraining)
            does = "trains its own models" if trains else "analyses documents only"
            raise ConfigError(
                f"{analysis.name} {does}, so it cannot analyse a cell. "
                f"Run it with `heedful analyse {analysis.name}`."
            )

    @property
    def name(self) -> str:
        """Of the analysis."""
        return self.spec.partition(":")[0]

    @property
    def folder(self) -> str:
        """The folder of the analysis within its run; other options have another."""
        return f"analysis-{self.name}-{digest(self).hex()[:8]}"

    @property
    def part(self) -> str | None:
        """The part of a corpus that it looks at, if any."""
        analysis = analyses.make(ANOTHER.sub(r"\1", self.spec))
        if isinstance(analysis, OfAttention):
            return "test"
        return analysis.part if isinstance(analysis, OfRun) else None

    def part_of(self, corpus: Corpus) -> Documents:
        """The documents that it looks at."""
        documents: Documents = getattr(corpus, self.part) if self.part else Documents()
        return documents

    @property
    def others(self) -> list[str]:
        """The variants that it names."""
        return ANOTHER.findall(self.spec)

    def with_others(self, places: Mapping[str, str]) -> str:
        """The spec with the runs of those variants in their place."""
        return ANOTHER.sub(lambda found: places[found[1]], self.spec)


def read_audit(given: Any) -> AuditStep:
    """The table [audit] of a grid."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"audit should be a table, [audit], not {given!r:.60}.")
    values = dict(given)
    numbers = values.pop("settings", {})
    if not isinstance(numbers, Mapping):
        raise ConfigError(f"audit: settings should be a table, not {numbers!r:.60}.")
    if "seed" in values:
        numbers = {**numbers, "seed": values.pop("seed")}
    try:
        request = from_plain(AuditStep, values, "")
        return replace(request, settings=from_plain(AuditSettings, numbers, "settings: "))
    except HeedfulError as error:
        raise ConfigError(f"audit: {error}") from None


def read_analyses(given: Any) -> tuple[AnalysisStep, ...]:
    """The list `analyse` of a grid."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list) or not all(isinstance(spec, str) for spec in given):
        raise ConfigError(
            f'analyse should be a list of analyses, as in ["word-scores"], not {given!r:.60}.'
        )
    try:
        return tuple(map(AnalysisStep, dict.fromkeys(given)))
    except HeedfulError as error:
        raise ConfigError(f"analyse: {error}") from None


def check_others(
    audit: AuditStep | None, analysed: Iterable[AnalysisStep], variants: Iterable[str]
) -> None:
    """Refuse a name that is no variant of the grid."""
    known = list(variants)
    named = [(f"analyse: {one.spec}", name) for one in analysed for name in one.others]
    if audit is not None and audit.judge is not None:
        named.append(("audit: judge", audit.judge))
    for where, name in named:
        if name not in known:
            listed = ", ".join(filter(None, known)) or "none"
            raise ConfigError(
                f"{where}: no variant named {name!r}.{nearest(name, known)} Known: {listed}."
            )
