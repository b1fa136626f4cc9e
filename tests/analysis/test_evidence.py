import numpy as np
import pytest

from heedful.analysis.instruments.evidence import Evidence
from heedful.errors import DataError
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train

QUICK = Evidence(documents=50, influence_documents=10)


def found_of(trained, documents):
    (row,) = QUICK.analyse(trained, documents, seed=0).tables["evidence"]
    return row


def test_every_number_is_what_its_name_says_document_by_document(words_only, planted):
    result = QUICK.analyse(words_only, planted.dev, seed=0)
    (row,) = result.tables["evidence"]
    masses = []
    for place, (document, right) in enumerate(
        zip(planted.dev[:50], result.rows["accuracy"], strict=True)
    ):
        weights = words_only.attention([document.text])[0]
        marked = [document.text[start:end] for start, end in document.rationale]
        mass = sum(
            w for word, w in zip(weights.words, weights.weights, strict=True) if word in marked
        )
        masses.append(mass)
        assert result.rows["evidence_mass"][place] == pytest.approx(mass, abs=1e-5)
        assert result.rows["even_share"][place] == pytest.approx(2 / 12)
        said = words_only.classes[words_only.probabilities([document.text])[0].argmax()]
        assert right == (said == document.label)
    assert row["evidence_mass"] == pytest.approx(np.mean(masses), abs=1e-5)
    assert row["own_influence"] == pytest.approx(1.0)  # it reads no context
    assert np.isfinite(result.rows["own_influence"][:10]).all()
    assert np.isnan(result.rows["own_influence"][10:]).all()


def test_where_weights_have_no_path_nothing_is_moved():
    corpus = Planted(documents=500)()
    settings = Settings().with_(
        encoder="blended:share=1.0", keys="places", embedding_size=8, dropout=0.0, split="spaces",
        recipe="standard:epochs=1", min_documents=1,
    )  # fmt: skip
    row = found_of(train(Task.from_corpus(corpus, {}), settings), corpus.dev)
    assert abs(row["moved"]) < 1e-4
    assert row["own_influence"] == pytest.approx(0.0, abs=0.05)


def test_documents_without_marks_are_a_sentence(words_only):
    bare = Documents([Document("one two three", "positive")])
    with pytest.raises(DataError, match="evidence needs documents with marked evidence"):
        QUICK.analyse(words_only, bare, seed=0)
