"""The settings that the runs of an experiment were trained with, read from their folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.papers.rows import Row
from heedful.runs import RunFolder
from heedful.training.settings import Settings
from heedful.training.trained import read_settings

ALL_RUNS = "all runs"
Setup = Mapping[str, Mapping[str, str]]
"""Settings by name: those that all variants share, then those of each variant."""


def setup_of(folder: Path, rows: Sequence[Row]) -> Setup:
    """What the finished runs of an experiment were trained with; seeds aside.

    A setting that differs within a variant, because it is an axis, has all its values.
    """
    by_variant: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row.get("state") == "done":
            run = RunFolder(folder / row["run"])
            said = in_words(read_settings(run), run.read_json(runs.PROVENANCE))
            by_variant.setdefault(str(row.get("variant", "")), []).append(said)
    by_name = {variant: joined(some) for variant, some in by_variant.items()}
    if not by_name:
        return {}
    first = next(iter(by_name.values()))
    shared = {n: v for n, v in first.items() if all(one[n] == v for one in by_name.values())}
    own = {
        variant: {name: value for name, value in values.items() if name not in shared}
        for variant, values in by_name.items()
    }
    return {ALL_RUNS: shared, **{variant: values for variant, values in own.items() if values}}


def in_words(settings: Settings, provenance: Mapping[str, Any]) -> dict[str, str]:
    """Every setting but the seed, as a word; of a file of vectors its name and their size."""
    said = without_seeds(settings.flat())
    if settings.model.vectors is not None:
        size = provenance["vectors"]["size"]
        said["vectors"] = Path(settings.model.vectors).name
        said["embedding_size"] = str(size)
    return said


def without_seeds(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as words, but what differs from one repetition to the next."""
    return {name: str(value) for name, value in settings.items() if name not in ("seed", "seeds")}


def joined(some: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The same settings of several runs: the values that each has."""
    return {name: ", ".join(dict.fromkeys(one[name] for one in some)) for name in some[0]}
