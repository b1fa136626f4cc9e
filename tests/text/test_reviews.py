"""The built-in corpus: real text that comes with the installation."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import heedful
from heedful.errors import DataError, EnvironmentFailure
from heedful.text.datasets import reviews
from heedful.text.documents import fingerprints


@pytest.mark.parametrize(("name", "least"), [("reviews-short", 8500), ("reviews-long", 24_800)])
def test_parts_are_disjoint_balanced_and_free_of_repeats(name, least):
    corpus = heedful.load(name)
    parts = (corpus.train, corpus.dev, corpus.test)
    prints = [number for part in parts for number in fingerprints(part.texts).tolist()]
    assert len(prints) == len(set(prints)) > least
    for part in parts:
        assert 0.48 < part.labels.count("positive") / len(part) < 0.52
    assert len(corpus.dev) == pytest.approx(len(prints) / 10, abs=2)


def test_another_file_under_that_name_is_refused(monkeypatch, tmp_path: Path):
    (tmp_path / "other.csv").write_text("text,label,source\n")
    monkeypatch.setattr(reviews, "find_file", lambda: tmp_path / "other.csv")
    with pytest.raises(DataError, match="its SHA-256 differs"):
        heedful.load("reviews-short")


def test_without_the_package_the_way_to_get_it_is_named(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(reviews, "files", missing)
    with pytest.raises(EnvironmentFailure, match=r"pip install .heedful\[demo\]"):
        heedful.load("reviews-short")
