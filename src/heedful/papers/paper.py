"""A paper: its experiments, the numbers it printed and what it claims, read from its folder."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

from heedful.config import check
from heedful.errors import ConfigError, UnknownName, nearest

Where = Mapping[str, Any]
"""Which cells of an experiment: columns of its table and their values."""

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
        return plan


@dataclass(frozen=True)
class Published:
    """One number that a paper printed."""

    where: Where
    column: str  # of the experiment's table
    value: float
    tolerance: float
    source: Source
    times: float  # our column is multiplied by this to be comparable
    why_not: str = ""  # why it cannot be compared; nothing if it can


@dataclass(frozen=True)
class Claim:
    """Something a paper says that an experiment can test.

    Either the cells `higher` exceed the cells `lower` by at least `by`, or all `cells` lie within
    `spread` of each other. `each` names columns: the claim is tested for each of their values.
    """

    says: str
    column: str
    times: float
    higher: Where | None = None
    lower: Where | None = None
    by: float = 0.0
    cells: Where | None = None
    spread: float = 0.0
    each: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Paper:
    """Everything that is known of a paper here."""

    name: str
    title: str
    about: str  # its README
    experiments: Mapping[str, Experiment]
    published: Mapping[str, tuple[Published, ...]]  # by experiment
    claims: Mapping[str, tuple[Claim, ...]]  # by experiment

    def experiment(self, key: str) -> Experiment:
        """An experiment by its key."""
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
    )


def _published(given: Mapping[str, Any]) -> Iterator[Published]:
    """Blocks of numbers, a row per value of `rows` and a column per value of `columns`."""
    for block in given.get("blocks", []):
        about = {**{k: v for k, v in given.items() if not isinstance(v, list)}, **block}
        if about["source"] not in get_args(Source):
            raise ConfigError(f"a published number is marked S, A or P, not {about['source']!r}.")
        for first, *values in block["values"]:
            for second, value in zip(block["columns"], values, strict=True):
                where = {**block.get("where", {}), about["row"]: first, about["column_of"]: second}
                yield Published(
                    where=where,
                    column=about["column"],
                    value=float(value),
                    tolerance=float(about["tolerance"]),
                    source=about["source"],
                    times=float(about.get("times", 1.0)),
                    why_not=_why_not(where, given.get("incomparable", [])),
                )


def _why_not(where: Where, reasons: list[Mapping[str, Any]]) -> str:
    for reason in reasons:
        if all(where.get(name) == value for name, value in reason["where"].items()):
            return str(reason["why"])
    return ""


def _claims(given: Mapping[str, Any]) -> Iterator[Claim]:
    for claim in given.get("claims", []):
        usual = {"column": given.get("column"), "times": given.get("times", 1.0)}
        known = {**usual, **claim, "each": tuple(claim.get("each", ()))}
        amounts = {k: float(known[k]) for k in ("times", "by", "spread") if k in known}
        yield Claim(**{**known, **amounts})


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        before = merged.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = _merged(before, value)
        merged[name] = value
    return merged
