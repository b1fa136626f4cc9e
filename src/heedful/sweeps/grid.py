"""A grid: what a TOML file says of many trainings, checked before anything is read or run.

    data      one source of documents or several         variants  settings that change together
    seeds     each cell is trained with each of them     axes      settings and their values
    profile, text, model, training: what all cells share, as `heedful train` takes it
    audit     documents, ask, part, seed, deep …: audit every cell
    analyse   analyses of every cell, as `heedful analyse` takes them

The cells are the product of data, variants, axes and seeds, in this order, the last fastest.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from heedful.config import at_least, check, from_plain, read_toml, within
from heedful.errors import ConfigError, counted, nearest
from heedful.sweeps.keys import FIELDS, Key
from heedful.sweeps.steps import (
    AnalysisStep,
    AuditStep,
    check_others,
    read_analyses,
    read_audit,
)
from heedful.training.settings import STAGE_OF, STAGES, Settings, profiles


@dataclass(frozen=True)
class Data:
    """Documents to train on: what `heedful train` takes as DATA, and its columns."""

    source: str
    text: str | None = None  # column of a file
    label: str | None = None  # column of a file
    dev_share: float = 0.1  # of what has no dev part
    test_share: float = 0.1  # of what has no test part


Changes = Mapping[Key, Any]


@dataclass(frozen=True)
class Grid:
    """Many trainings in a few words."""

    data: tuple[Data, ...]
    seeds: tuple[int, ...] | None = None  # None: that of the settings
    profile: str = "default"
    tables: Mapping[str, Any] = field(default_factory=dict)  # text, model, training
    variants: Mapping[str, Changes] = field(default_factory=lambda: {"": {}})  # by name
    axes: Mapping[Key, tuple[Any, ...]] = field(default_factory=dict)
    audit: AuditStep | None = None
    analyse: tuple[AnalysisStep, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Grid":
        """The grid of a TOML file."""
        if not path.is_file():
            raise ConfigError(f"no grid at {path}. Expected a TOML file; docs/sweep.md shows one.")
        return cls.from_plain(read_toml(path))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Grid":
        """The grid that plain data, as TOML holds it, stands for."""
        for name in plain:
            if name in FIELDS:
                raise ConfigError(
                    f"{name} is a setting: write it in the table [{STAGE_OF[name]}], or in [axes] "
                    "with a list of values."
                )
            if name not in KNOWN:
                raise ConfigError(
                    f"a grid has no key named {name!r}.{nearest(name, KNOWN)} "
                    f"Known: {', '.join(KNOWN)}."
                )
        tables = {stage: plain[stage] for stage in STAGES if stage in plain}
        profile = check(plain.get("profile", "default"), str, "profile")
        profiles[profile]().with_tables(tables)  # refuses what is wrong
        variants = _variants(plain["variants"]) if "variants" in plain else {"": {}}
        audit = read_audit(plain["audit"]) if "audit" in plain else None
        analysed = read_analyses(plain.get("analyse", []))
        check_others(audit, analysed, variants)
        return cls(
            data=_data(plain.get("data")),
            seeds=_seeds(plain["seeds"]) if "seeds" in plain else None,
            profile=profile,
            tables=tables,
            variants=variants,
            axes=dict(_axes(plain.get("axes", {}))),
            audit=audit,
            analyse=analysed,
        )

    def base(self, split: str) -> Settings:
        """What all cells share, for documents that are cut into words in that way."""
        return profiles[self.profile]().with_(split=split).with_tables(self.tables)

    @property
    def cells(self) -> int:
        """How many trainings it stands for."""
        return (
            len(self.data)
            * len(self.variants)
            * math.prod(map(len, self.axes.values()))
            * len(self.seeds or (1,))
        )

    def check_size(self, most: int) -> None:
        """Refuse a grid of more cells than that."""
        at_least(1, **{"--max-cells": most})
        if self.cells > most:
            factors = [("data", self.data), ("variants", self.variants), *self.axes.items()]
            factors.append(("seeds", self.seeds or (1,)))
            sizes = " x ".join(f"{len(values)} {name}" for name, values in factors)
            raise ConfigError(
                f"the grid has {counted(self.cells, 'cell')} ({sizes}), more than {most:,}. "
                f"Give --max-cells {self.cells} to run them all, or give fewer values."
            )

    def combinations(self) -> Iterator[tuple[str, Changes, Changes]]:
        """Name of the variant, its changes and those of the axes."""
        for name, changes in self.variants.items():
            for values in product(*self.axes.values()):
                yield name, changes, dict(zip(self.axes, values, strict=True))


KNOWN = ("data", "seeds", "profile", *STAGES, "variants", "axes", "audit", "analyse")


def _data(given: Any) -> tuple[Data, ...]:
    if given is None:
        raise ConfigError('the grid has no data. Write data = "reviews.csv", or a corpus name.')
    listed = given if isinstance(given, list) else [given]
    if not listed:
        raise ConfigError("data is empty. Give at least one file, folder or corpus.")
    found = []
    for one in listed:
        if isinstance(one, Mapping) and "source" in one:
            found.append(from_plain(Data, one, "data: "))
        elif isinstance(one, str):
            found.append(Data(one))
        else:
            raise ConfigError(
                f'data should be a string, as in "reviews.csv", or a table with source, text and '
                f"label, not {one!r:.60}."
            )
    _refuse_repeats("data", found, [one.source for one in found])
    return tuple(found)


def _seeds(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list) or not given:
        raise ConfigError(f"seeds should be a list of whole numbers, as in [1, 2, 3], not {given}.")
    found = [check(seed, int, "seeds: each") for seed in given]
    for seed in found:
        within(0, 2**32, **{"seeds: each": seed})
    _refuse_repeats("seeds", found, found)
    return tuple(found)


def _variants(given: Any) -> dict[str, Changes]:
    if not isinstance(given, list) or not given:
        raise ConfigError("variants should be tables, each starting with [[variants]] and a name.")
    found: dict[str, Changes] = {}
    for number, one in enumerate(given, start=1):
        if not isinstance(one, Mapping):
            raise ConfigError(f"variant {number} should be a table, not {one!r:.60}.")
        values = dict(one)
        name = values.pop("name", None)
        if not isinstance(name, str) or not name.strip():
            raise ConfigError(f'variant {number} has no name. Write name = "…" in it.')
        if name in found:
            raise ConfigError(f"two variants are named {name!r}. Give each its own name.")
        where = f"variant {name!r}"
        found[name] = {
            key: key.checked(value, where) for key, value in _flat(values, where, is_member)
        }
    return found


def _axes(given: Any) -> Iterator[tuple[Key, tuple[Any, ...]]]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"axes should be a table of settings, not {given!r:.60}.")
    seen: set[Key] = set()
    for key, values in _flat(given, "axes", never):
        if key == Key("seed"):
            raise ConfigError("axes: write seeds above the tables instead: seeds = [1, 2, 3].")
        if key in seen:
            raise ConfigError(f"axes: {key} is given twice.")
        seen.add(key)
        if not isinstance(values, list):
            raise ConfigError(
                f"axes: {key} should be a list of values, not {values!r}. Write [{values!r}]."
            )
        if not values:
            raise ConfigError(f"axes: {key} has no values. Give at least one, or drop the axis.")
        checked = [key.checked(value, "axes") for value in values]
        _refuse_repeats(f"axes: {key}", checked, values)
        yield key, tuple(checked)


def never(value: Mapping[str, Any]) -> bool:
    """An axis holds lists, so a table in it is a longer key."""
    return False


def is_member(value: Mapping[str, Any]) -> bool:
    """A table with a name is a member of a family; one without, options of it."""
    return "name" in value


def _flat(
    table: Mapping[str, Any], where: str, is_value: Any, prefix: str = ""
) -> Iterator[tuple[Key, Any]]:
    """Keys and values of a table whose dotted keys TOML has made tables of."""
    for name, value in table.items():
        if isinstance(value, Mapping) and not is_value(value):
            yield from _flat(value, where, is_value, f"{prefix}{name}.")
        else:
            yield Key.parse(f"{prefix}{name}", where), value


def _refuse_repeats(what: str, found: Iterable[Any], written: Iterable[Any]) -> None:
    seen: list[Any] = []
    for value, as_written in zip(found, written, strict=True):
        if value in seen:
            raise ConfigError(f"{what}: {as_written!r} is given twice. Give it once.")
        seen.append(value)
