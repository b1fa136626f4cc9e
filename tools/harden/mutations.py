"""Saved files with something else in them: other types, other values, other bytes."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

OTHERS: tuple[Any, ...] = (
    *("no number", "", 0, -1, 7, 1.5, 1e300, 10**30, True, False, None),
    *([], {}, {"x": None}, ["a"], [1, [2]], [[]], {"sha256": []}),
)
Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where everything is in plain data; of long lists, the first three items."""
    if place:
        yield place
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*place, name))
    elif isinstance(value, list):
        for number, item in enumerate(value[:3]):
            yield from places(item, (*place, number))


def mutated(value: Any, rng: np.random.Generator, among: list[Place] | None = None) -> Any:
    """The same with one thing replaced by something else, or left out."""
    among = among or list(places(value))
    place = among[rng.integers(len(among))]
    changed = inside = copy.deepcopy(value)
    for step in place[:-1]:
        inside = inside[step]
    if rng.random() < 0.15:
        del inside[place[-1]]
    else:
        inside[place[-1]] = OTHERS[rng.integers(len(OTHERS))]
    return changed


def mutated_json(data: bytes, rng: np.random.Generator) -> bytes:
    """A JSON file of which one value is of another type."""
    return json.dumps(mutated(json.loads(data), rng)).encode()


def mutated_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, left out or put in."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(found) + 1))
        match rng.integers(4):
            case 0:
                found[at : at + 1] = rng.bytes(1)
            case 1:
                del found[at : at + int(rng.integers(1, 64))]
            case 2:
                found[at:at] = rng.bytes(int(rng.integers(1, 16)))
            case 3:
                found = found[:at]
    return bytes(found)
