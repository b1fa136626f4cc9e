"""A paper: its experiments, the numbers it printed and what it claims, read from its folder."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

from heedful.config import check
from heedful.errors import ConfigError, UnknownName, nearest

Where = Mapping[str, Any]
"""Which cells of an experiment: columns of its table and their values."""

VECTORS = "HEEDFUL_VECTORS"  # names a file of word vectors

Source = Literal["S", "A", "P"]
SOURCES: dict[Source, str] = {
    "S": "read in the paper's text",
    "A": "read in its supplement or the authors' code",
    "P": "read in the authors' result files or a published preprint",
}


@dataclass(frozen=True)
class Experiment:
    """One table or figure: what is run for it."""

    key: str  # table-2
    title: str
    grid: Mapping[str, Any]  # for a sweep, or the options of the measurement
    measure: str | None  # None: a sweep
    quick: Mapping[str, Any]  # what is changed for a run of minutes
    also: tuple[str, ...] = ()  # other names: figure-3

    def asked(
        self,
        is_quick: bool = False,
        seeds: tuple[int, ...] | None = None,
        data: tuple[str, ...] | None = None,
    ) -> Mapping[str, Any]:
        """The grid, or the options of the measurement, as they will run."""
        plan = _merged(self.grid, self.quick) if is_quick else dict(self.grid)
        if seeds is not None:
            plan["seeds"] = list(seeds)
        if data is not None:
            for name in data:
                if name not in plan["data"]:
                    known = ", ".join(plan["data"])
                    raise UnknownName(f"{self.key} does not use {name!r}. Known: {known}.")
            plan["data"] = list(data)
        return _with_vectors(plan)


@dataclass(frozen=True)
class Number:
    """Which number of our tables is meant, apart from the cells it stands in."""

    column: str
    of: str = ""  # the table: word-scores.kinds, audit.frontier; nothing: a row per run
    times: float = 1.0  # to be comparable
    rises_with: str = ""  # not the column itself but its tau-b with this one, over the cells


@dataclass(frozen=True)
class Published:
    """One number that a paper printed."""

    where: Where
    number: Number
    value: float
    tolerance: float
    source: Source
    why_not: str = ""  # why it cannot be compared; nothing if it can


@dataclass(frozen=True)
class Claim:
    """Something a paper says that an experiment can test; `by` is how much of it, at least.

    One of four: the cells `higher` exceed the cells `lower`; the number exceeds 0, or that of
    another column (`than`), in the cells `at`; all `cells` lie within `spread` of each other.
    `each` names columns: the claim is tested for each of their values.
    """

    says: str
    number: Number
    higher: Where | None = None
    lower: Where | None = None
    at: Where | None = None
    than: str = ""
    by: float = 0.0
    most: float | None = None  # the number `at` those cells is at most this; `by` does not count
    cells: Where | None = None
    spread: float = 0.0
    each: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of our own numbers: a mean over seeds for every value of some columns."""

    title: str
    number: Number
    over: str  # the column whose values stand side by side
    lines: str = ""  # a colour for each of its values
    panels: str = ""  # a panel for each of its values
    where: Where = field(default_factory=dict)
    unit: str = ""  # what the number is; its column's name if nothing is said


@dataclass(frozen=True)
class Paper:
    """Everything that is known of a paper here."""

    name: str
    title: str
    about: str  # its README
    experiments: Mapping[str, Experiment]
    published: Mapping[str, tuple[Published, ...]]  # by experiment
    claims: Mapping[str, tuple[Claim, ...]]  # by experiment
    pictures: Mapping[str, tuple[Picture, ...]]  # by experiment

    def experiment(self, key: str) -> Experiment:
        """An experiment by its key, or by another name of it."""
        for one in self.experiments.values():
            if key in one.also:
                return one
        if key not in self.experiments:
            raise UnknownName(
                f"{self.name} has no {key} here.{nearest(key, self.experiments)} "
                f"Known: {', '.join(self.experiments)}."
            )
        return self.experiments[key]


def paper_names() -> list[str]:
    """All papers, in alphabetical order."""
    return sorted(folder.name for folder in _folders())


def load_paper(name: str) -> Paper:
    """A paper by its name."""
    names = paper_names()
    if name not in names:
        raise UnknownName(
            f"no paper named {name!r}.{nearest(name, names)} Known: {', '.join(names)}."
        )
    folder = files("heedful.papers") / name
    return read_paper(
        name,
        tomllib.loads((folder / "runs.toml").read_text("utf-8")),
        tomllib.loads((folder / "expected.toml").read_text("utf-8")),
        (folder / "README.md").read_text("utf-8"),
    )


def read_paper(
    name: str, runs: Mapping[str, Any], expected: Mapping[str, Any], about: str
) -> Paper:
    """A paper from the contents of its files."""
    runs = dict(runs)
    title = check(runs.pop("title", None), str, f"{name}: title")
    experiments = {key: _experiment(key, given) for key, given in runs.items()}
    for key in expected:
        if key not in experiments:
            raise ConfigError(
                f"{name}: expected.toml speaks of {key!r}, which runs.toml does not have."
            )
    return Paper(
        name=name,
        title=title,
        about=about,
        experiments=experiments,
        published={key: tuple(_published(given)) for key, given in expected.items()},
        claims={key: tuple(_claims(given)) for key, given in expected.items()},
        pictures={key: tuple(_pictures(given)) for key, given in expected.items()},
    )


def _folders() -> Iterator[Traversable]:
    for folder in files("heedful.papers").iterdir():
        if folder.is_dir() and (folder / "runs.toml").is_file():
            yield folder


def _experiment(key: str, given: Mapping[str, Any]) -> Experiment:
    grid, measure = given.get("grid"), given.get("measure")
    if (grid is None) == (measure is None):
        raise ConfigError(f"{key} should have either a grid or a measure.")
    return Experiment(
        key=key,
        title=check(given.get("title"), str, f"{key}: title"),
        grid=grid if grid is not None else given.get("options", {}),
        measure=measure,
        quick=given.get("quick", {}),
        also=tuple(given.get("also", ())),
    )


def _published(given: Mapping[str, Any]) -> Iterator[Published]:
    """Blocks of numbers, a row per value of `row` and a column per value of `column_of`."""
    for block in given.get("blocks", []):
        about = {**_usual(given), **block}
        if about["source"] not in get_args(Source):
            raise ConfigError(f"a published number is marked S, A or P, not {about['source']!r}.")
        for first, *values in block["values"]:
            for second, value in zip(block["columns"], values, strict=True):
                where = {**block.get("where", {}), about["row"]: first, about["column_of"]: second}
                yield Published(
                    where=where,
                    number=_number(about),
                    value=float(value),
                    tolerance=float(about["tolerance"]),
                    source=about["source"],
                    why_not=_why_not(where, given.get("incomparable", [])),
                )


def _usual(given: Mapping[str, Any]) -> dict[str, Any]:
    """What all blocks and claims of an experiment share."""
    return {name: value for name, value in given.items() if not isinstance(value, list)}


def _number(about: Mapping[str, Any]) -> Number:
    return Number(
        column=about["column"],
        of=about.get("of", ""),
        times=float(about.get("times", 1.0)),
        rises_with=about.get("rises_with", ""),
    )


def _why_not(where: Where, reasons: list[Mapping[str, Any]]) -> str:
    for reason in reasons:
        if all(where.get(name) == value for name, value in reason["where"].items()):
            return str(reason["why"])
    return ""


def _claims(given: Mapping[str, Any]) -> Iterator[Claim]:
    own = {field.name for field in fields(Claim)} - {"number"}
    for claim in given.get("claims", []):
        about = {**_usual(given), **claim}
        known = {name: value for name, value in claim.items() if name in own}
        if strange := set(claim) - own - {field.name for field in fields(Number)}:
            raise ConfigError(f"a claim has no {', '.join(sorted(strange))}: {claim['says']!r}.")
        amounts = {name: float(known[name]) for name in ("by", "spread") if name in known}
        each = {"each": tuple(claim.get("each", ()))}
        yield Claim(**{**known, **amounts, **each, "number": _number(about)})


def _pictures(given: Mapping[str, Any]) -> Iterator[Picture]:
    own = {field.name for field in fields(Picture)} - {"number"}
    for picture in given.get("pictures", []):
        known = {name: value for name, value in picture.items() if name in own}
        yield Picture(**known, number=_number({**_usual(given), **picture}))


def _with_vectors(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with the file of word vectors that the user has, where it asks for one."""
    if plan.get("model", {}).get("vectors") != f"${VECTORS}":
        return plan
    path = os.environ.get(VECTORS)
    if not path:
        raise ConfigError(
            f"this experiment starts from pretrained word vectors. Set {VECTORS} to a file of them "
            "(GloVe, word2vec or fastText in text form)."
        )
    return {**plan, "model": {**plan["model"], "vectors": path}}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        before = merged.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = _merged(before, value)
        merged[name] = value
    return merged
