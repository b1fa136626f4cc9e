"""Models whose answer is exact: built ones, and pictures of known truth beside trained ones.

`exact_jobs.py` audits them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heedful.auditing.subjects.base import Architecture
from heedful.calibration.built import BuiltModel
from heedful.calibration.pictures import Picture
from heedful.calibration.planted_transformers import Base

PLACED: tuple[Architecture, ...] = ("transformer",)  # whose own attention says nothing known


@dataclass(frozen=True)
class Exact:
    """A kind of model with an exact answer."""

    name: str
    architecture: Architecture
    model: BuiltModel = field(default_factory=BuiltModel)  # behind a module or a function
    picture: Picture = field(default_factory=Picture)
    doses: Mapping[str, float] = field(default_factory=dict)  # that are known from the kind alone
    base: Base = "tiny-bert"  # of the Transformer behind it


def read_exact(plain: Mapping[str, Any]) -> Exact:
    """The inverse of `asdict`."""
    picture = {**plain["picture"], "false_classes": tuple(plain["picture"]["false_classes"])}
    return Exact(
        plain["name"],
        plain["architecture"],
        BuiltModel(**plain["model"]),
        Picture(**picture),
        dict(plain["doses"]),
        plain["base"],
    )
