"""Files that people give, with other bytes or types: refused in a sentence, or read."""

import gzip
import json
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heedful import config, runs
from heedful.importance.attributions import read_attributions
from heedful.importance.attributions.formats import formats
from heedful.sweeps.grid import Grid
from heedful.text.readers import read_documents
from heedful.text.vectors import read_vectors
from heedful.training.settings import Settings
from tools.harden.bench import AUDIT, GRID, RUN, Bench, Found
from tools.harden.in_process import defect, in_process
from tools.harden.mutations import mutated, mutated_bytes, mutated_json

ROWS = b"text,label\na b,x\nc d,y\ne f,x\n"
LINES = b'{"text": "a b", "label": "x"}\n{"text": "c", "label": "y"}\n'
SETTINGS = b'[model]\nencoder = "bilstm"\n[training]\nseed = 3\nrecipe = "tying:epochs=2"\n'
VECTORS = b"2 3\na 1 2 3\nb 0.5 1e3 -4\n"


def chance(bench: Bench) -> np.random.Generator:
    """A source of chance of its own."""
    return np.random.default_rng(bench.rng.randrange(2**31))


def data_files(bench: Bench) -> Iterator[Found]:
    """Documents and word vectors."""
    rng = chance(bench)
    whole = {
        "data.csv": ROWS, "data.tsv": ROWS.replace(b",", b"\t"), "data.jsonl": LINES,
        "data.csv.gz": gzip.compress(ROWS), "data.txt": b"a\nb\n",
        "data.json": json.dumps([{"text": "a b", "label": "x"}] * 3).encode(),
        "data.parquet": Path(AUDIT, runs.PER_EXAMPLE).read_bytes(),
    }  # fmt: skip
    Path("mutated").mkdir()
    for name, data in whole.items():
        found, place = Found(f"{name} with other bytes"), Path("mutated") / name
        for _ in range(bench.times(1000)):
            place.write_bytes(mutated_bytes(data, rng))
            found.count(defect(partial(read_documents, place, needs_labels=False)))
        yield found
    found, place = Found("word vectors with other bytes"), Path("mutated/vectors.txt")
    for _ in range(bench.times(1000)):
        place.write_bytes(mutated_bytes(VECTORS, rng))
        found.count(defect(lambda: read_vectors(place, {"a": 0, "b": 1})))
    yield found


def settings_files(bench: Bench) -> Iterator[Found]:
    """Settings and grids, as TOML and as plain data."""
    rng = chance(bench)
    kinds: dict[str, tuple[bytes, Any, Callable[[Any], object]]] = {
        "settings": (SETTINGS, Settings().plain(), Settings.from_plain),
        "grids": (GRID.encode(), tomllib.loads(GRID), Grid.from_plain),
    }
    place = Path("settings.toml")
    for name, (text, plain, read) in kinds.items():
        found = Found(f"{name} with other bytes or types")
        for number in range(bench.times(2400)):
            if number % 2:
                place.write_bytes(mutated_bytes(text, rng))
                found.count(defect(lambda: read(config.read_toml(place))))  # noqa: B023
            else:
                found.count(defect(partial(read, mutated(plain, rng))))
        yield found


def attributions_files(bench: Bench) -> Iterator[Found]:
    """Scores of others, in every format, as `predict --attributions` writes them."""
    rng = chance(bench)
    for format in formats:
        place = Path("scores").with_suffix(formats.make(format).endings[0])
        words = ("predict", RUN, "w1 w2 w3", "w4", "--attributions", place, "--format", format)
        assert in_process((*words, "--json")) == 0
        found, data = (
            Found(f"attributions ({format}) with other bytes or types"),
            place.read_bytes(),
        )
        for number in range(bench.times(600)):
            is_json = place.suffix in (".json", ".jsonl") and number % 2
            place.write_bytes(mutated_lines(data, rng) if is_json else mutated_bytes(data, rng))
            found.count(defect(lambda: read_attributions(place)))  # noqa: B023
        yield found


def mutated_lines(data: bytes, rng: np.random.Generator) -> bytes:
    """A JSON file, or lines of JSON, of which one value is of another type."""
    try:
        return mutated_json(data, rng)
    except ValueError:
        first, *others = data.splitlines()
        return b"\n".join([mutated_json(first, rng), *others])
