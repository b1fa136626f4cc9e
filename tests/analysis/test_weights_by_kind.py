import numpy as np
import pytest

from heedful.analysis.gradient_flow.of_model import _parts, _pulls, flow_of
from heedful.analysis.gradient_flow.terms import dot_terms
from heedful.analysis.instruments.scale_advice import ScaleAdvice, _advice, _sentence
from heedful.analysis.instruments.weights_by_kind import (
    Occurrences,
    WeightsByKind,
    _tops,
    box,
    occurrences_of,
)
from heedful.analysis.instruments.word_scores import score_split
from heedful.errors import ConfigError
from tests.analysis.models import a_model, some_documents


def test_the_box_by_hand():
    # quartiles 2 and 4, so whiskers reach from -1 to 7: 100 lies beyond
    found = box(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert [found[name] for name in ("min", "low", "first", "median", "third", "high", "max")] == [
        *(1, 1, 2, 3, 4, 4, 100),
    ]
    assert (found["outliers"], found["occurrences"], found["mean_weight"]) == (1, 5, 22)


def test_occurrences_are_every_word_with_its_own_weight():
    model = a_model("lstm:hidden_size=3", "additive", 2).eval()
    batches = some_documents(2, batch_size=2)
    found, whole = occurrences_of(model, batches), batches.whole()
    sums = np.bincount(found.document, weights=found.weight)
    np.testing.assert_allclose(sums, 1)
    weights = model(whole).weights.detach().numpy()
    ids = whole.token_ids.numpy()
    for document in range(len(ids)):
        here = found.document == document
        np.testing.assert_array_equal(found.word[here], ids[document, : here.sum()])
        np.testing.assert_allclose(found.weight[here], weights[document, : here.sum()])


def test_the_top_word_of_each_text_of_two_words_or_more():
    document = np.array([1, 0, 0, 2, 2, 2])
    weight = np.array([1.0, 0.3, 0.7, 0.2, 0.5, 0.3])
    assert _tops(Occurrences(np.arange(6), document, weight)).tolist() == [2, 4]


def test_words_of_low_score_on_top_are_named(words_only, planted):
    found = WeightsByKind(words=3).analyse(words_only, planted.test, 0)
    kinds = [row["kind"] for row in found.summary]
    assert kinds == ["negative", "positive", "neutral"]
    (local,) = found.tables["local"]
    listed = found.tables["locally_important"]
    assert 0 < len(listed) <= 3 or local["low_top_share"] == 0
    assert all(row["score_percentile"] < 0.5 for row in listed)
    assert sum(row["occurrences"] for row in found.summary) > 0
    drawn = [row for row in found.tables["boxes"] if "weight" in row]
    assert len(drawn) == min(sum(row["outliers"] for row in found.summary), len(drawn))


def test_the_split_is_full_where_neutral_words_stand_between():
    assert score_split({"a": 1.0, "b": -1.0, "neutral": 0.0}) == 1
    assert score_split({"a": 1.0, "b": 1.0, "neutral": 0.0}) == 0
    assert score_split({"a": 1.0, "b": 0.0, "c": 2.0, "neutral": 0.0}) is None


def test_at_the_advised_scale_both_forces_are_equal():
    batches = some_documents(2, 40)
    kinds = {"a": np.arange(4, 9), "b": np.arange(9, 14), "neutral": np.arange(14, 20)}
    for seed in range(20):  # of random models only some raise the words of both labels
        model = a_model("embedding", "dot:scale=4.0", 2, seed=seed)
        row = _advice(flow_of(model, batches), kinds, 4.0)
        if row["largest_scale"] > 0:
            break
    assert row["largest_scale"] > 0
    parts, (pulls, _) = _parts(model), _pulls(model, batches)
    terms = dot_terms(parts.embeddings, parts.output, parts.query, row["largest_scale"], pulls)
    polar = np.arange(4, 14)
    splits = terms.attention["D"][polar].abs().mean()
    raises = (terms.attention["E"] + terms.attention["F"])[polar].mean()
    assert float(splits.detach()) == pytest.approx(float(raises.detach()), rel=1e-9)


def test_advice_is_a_sentence_for_every_case(words_only, in_context, planted):
    found = ScaleAdvice().analyse(words_only, planted.train, 0)
    assert found.notes[0].startswith("V · W is ")
    row = {**found.summary[0], "scale": 10.0}
    assert "up to a scale of about 20" in _sentence({**row, "largest_scale": 20.0})
    assert "A scale below about 5 avoids that" in _sentence({**row, "largest_scale": 5.0})
    assert "no scale can be advised" in _sentence({**row, "largest_scale": float("nan")})
    with pytest.raises(ConfigError, match="another encoder or query"):
        ScaleAdvice().analyse(in_context, planted.train, 0)
