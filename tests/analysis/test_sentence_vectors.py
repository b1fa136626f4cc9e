import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score

from heedful.analysis.instruments.sentence_vectors import (
    SentenceVectors,
    centroid_ratio,
    context_vectors,
    document_vectors,
    project,
    silhouettes,
)
from heedful.errors import DataError
from heedful.model.outputs import BottleneckOutput
from tests.analysis.models import a_model, some_documents


def test_the_centroid_ratio_by_hand():
    # centroids (0, 0) and (4, 0), each document 1 from its own: 4 / 1
    contexts = np.array([[0.0, 1.0], [0.0, -1.0], [4.0, 1.0], [4.0, -1.0]])
    assert centroid_ratio(contexts, np.array([0, 0, 1, 1])) == pytest.approx(4)
    assert centroid_ratio(contexts, np.array([0, 1, 0, 1])) == pytest.approx(2 / 2)


def test_turning_and_moving_all_vectors_changes_neither_number():
    rng = np.random.default_rng(0)
    contexts, labels = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    moved = contexts @ turn + 7.0
    assert centroid_ratio(moved, labels) == pytest.approx(centroid_ratio(contexts, labels))
    np.testing.assert_allclose(silhouettes(moved, labels), silhouettes(contexts, labels))
    assert silhouettes(contexts, labels).mean() == pytest.approx(silhouette_score(contexts, labels))


def test_contexts_are_what_the_output_sees_in_the_order_of_the_documents():
    model = a_model("lstm:hidden_size=3", "additive", 3).eval()
    batches = some_documents(3, batch_size=2)
    contexts = torch.from_numpy(context_vectors(model, batches))
    with torch.no_grad():
        torch.testing.assert_close(model.output(contexts), model(batches.whole()).logits)


def test_codes_are_what_the_decoder_sees():
    model = a_model("lstm:hidden_size=3", "additive", 3)
    model.output = BottleneckOutput(3, 3, 5, 4).double()
    model.eval()
    batches = some_documents(3, batch_size=2)
    codes = torch.from_numpy(document_vectors(model, batches)["z"])
    with torch.no_grad():
        torch.testing.assert_close(model.output.decoder(codes), model(batches.whole()).logits)


def test_two_dimensions_are_only_turned_by_a_projection():
    contexts = np.random.default_rng(0).normal(size=(20, 2))
    places, kept = project(contexts, "pca", 0)
    assert kept == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.linalg.norm(places, axis=1), np.linalg.norm(contexts - contexts.mean(axis=0), axis=1)
    )


def test_planted_labels_stand_apart(words_only, planted):
    found = SentenceVectors(documents=40).analyse(words_only, planted.test, 0)
    (row,) = found.summary
    assert row["documents"] == 40
    assert row["silhouette_low"] > 0.3
    assert row["centroid_ratio"] > 1
    assert len(found.rows["text"]) == 40
    other = SentenceVectors(method="tsne", documents=30).analyse(words_only, planted.test, 0)
    assert "variance_shown" not in other.summary[0]


def test_documents_of_one_label_cannot_be_compared(words_only, planted):
    one = planted.test.take(
        [n for n, label in enumerate(planted.test.labels) if label == "positive"]
    )
    with pytest.raises(DataError, match="at least two of the model's labels"):
        SentenceVectors().analyse(words_only, one, 0)
