"""A paper: its experiments, the numbers it printed and what it claims, read from its folder."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from heedful.config import check
from heedful.errors import ConfigError, UnknownName, nearest
from heedful.papers.expected import (
    Claim,
    Picture,
    Published,
    read_claims,
    read_pictures,
    read_published,
)

VECTORS = "HEEDFUL_VECTORS"  # names a file of word vectors


@dataclass(frozen=True)
class Experiment:
    """One table or figure: what is run for it."""

    key: str  # table-2
    title: str
    grid: Mapping[str, Any]  # for a sweep, or the options of the measurement
    measure: str | None  # None: a sweep
    quick: Mapping[str, Any]  # what is changed for a run of minutes
    also: tuple[str, ...] = ()  # other names: figure-3

    @property
    def names(self) -> str:
        """Its key, and the tables and figures that it does again."""
        numbers: dict[str, list[str]] = {}
        for name in self.also:
            kind, _, number = name.partition("-")
            numbers.setdefault(kind, []).append(number)
        said = [
            f"{kind}{'s' if len(some) > 1 else ''} {', '.join(some)}"
            for kind, some in numbers.items()
        ]
        return f"{self.key} ({', '.join(said)})" if said else self.key

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
            known = ", ".join(one.names for one in self.experiments.values())
            raise UnknownName(
                f"{self.name} has no {key} here.{nearest(key, self.experiments)} Known: {known}."
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
        published={key: tuple(read_published(given)) for key, given in expected.items()},
        claims={key: tuple(read_claims(given)) for key, given in expected.items()},
        pictures={key: tuple(read_pictures(given)) for key, given in expected.items()},
    )


def with_vectors(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plan with the file of word vectors that the user has, where it asks for one."""
    if plan.get("model", {}).get("vectors") != f"${VECTORS}":
        return plan
    path = os.environ.get(VECTORS)
    if not path:
        raise ConfigError(
            f"this experiment needs pretrained word vectors. Set {VECTORS} to a file of them "
            "(GloVe, word2vec or fastText in text form)."
        )
    return {**plan, "model": {**plan["model"], "vectors": path}}


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


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        before = merged.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = _merged(before, value)
        merged[name] = value
    return merged
