"""Each analysis, end to end, on a corpus whose answer is known."""

import numpy as np
import pytest
import torch

from heedful.analysis.gradient_flow.log import word_columns
from heedful.analysis.gradient_flow.of_model import flow_of
from heedful.analysis.instruments.dot_products import DotProducts
from heedful.analysis.instruments.gradient_flow import GradientFlow
from heedful.analysis.instruments.information import Information
from heedful.analysis.instruments.label_imbalance import LabelImbalance
from heedful.analysis.instruments.word_scores import (
    LocalAndGlobal,
    _balance,
    global_scores,
    local_scores,
)
from heedful.analysis.result import Result
from heedful.errors import ConfigError, DataError
from heedful.text.batching import Batches
from heedful.text.documents import Documents
from heedful.training.fit import Watcher
from heedful.training.settings import profiles
from heedful.training.task import Task
from heedful.training.train import train
from tests.analysis.conftest import quick
from tests.analysis.models import VOCABULARY, a_model, some_documents


def by(rows, *names):
    return {tuple(row[name] for name in names): row for row in rows}


def test_gradient_flow_watches_from_before_training_to_the_last_epoch(planted):
    found = GradientFlow().analyse(planted, quick("embedding", epochs=3), "cpu", Watcher())
    assert {row["epoch"] for row in found.tables["words"]} == {0, 1, 2, 3}
    kinds = by(found.summary, "kind")
    assert kinds["negative",]["polarity"] < kinds["neutral",]["polarity"]
    assert kinds["neutral",]["polarity"] < kinds["positive",]["polarity"]
    first = by(found.tables["words"], "epoch", "kind")
    assert first[0, "positive"]["B"] > 0 > first[0, "negative"]["B"]
    assert set(found.rows) >= {"word", "kind", "occurrences", "polarity", *"ABCDEF"}
    assert len({len(column) for column in found.rows.values()}) == 1


def test_gradient_flow_says_when_its_terms_are_approximate(planted):
    settings = quick("embedding", epochs=1).with_(alignment="additive:width=4")
    found = GradientFlow().analyse(planted, settings, "cpu", Watcher())
    assert any("approximate" in note for note in found.notes)
    exact = GradientFlow(linearised=False).analyse(planted, settings, "cpu", Watcher())
    assert not any("approximate" in note for note in exact.notes)


def test_gradient_flow_refuses_what_it_has_no_formula_for_before_training(planted):
    with pytest.raises(ConfigError, match="another encoder"):
        GradientFlow().analyse(planted, quick("lstm:hidden_size=4"), "cpu", Watcher())


def test_words_of_one_label_point_the_same_way(words_only):
    found = by(DotProducts().analyse(words_only, Documents(), 0).summary, "words", "with")
    assert found["positive", "positive"]["dot_product_low"] > 0
    assert found["negative", "positive"]["dot_product_high"] < 0
    assert abs(found["neutral", "positive"]["dot_product"]) < (
        0.3 * found["positive", "positive"]["dot_product"]
    )


def test_label_imbalance_has_a_row_per_training_and_a_mean_per_ratio():
    settings = profiles["sun-lu-planted"]().with_(
        recipe="standard:epochs=1", embedding_size=6, optimizer="adam:learning_rate=0.05"
    )
    analysis = LabelImbalance(ratios=("1to1", "1to5"), seeds=2, documents=600)
    found = analysis.analyse(None, settings, "cpu", Watcher())
    assert [(row["ratio"], row["seed"]) for row in found.tables["trainings"]] == [
        *(("1:1", 1), ("1:1", 2), ("1:5", 1), ("1:5", 2))
    ]
    trainings = [row["query_times_output"] for row in found.tables["trainings"]]
    assert found.summary[0]["query_times_output"] == pytest.approx(np.mean(trainings[:2]))
    assert len(set(trainings)) == 4
    with pytest.raises(ConfigError, match="a ratio is written like 1to5"):
        LabelImbalance(ratios=("1:5",))


def test_without_context_a_word_has_one_score_wherever_it_stands():
    model = a_model("affine:hidden_size=4", "dot", 2).eval()
    local = local_scores(model, some_documents(2), VOCABULARY, {})
    alone = global_scores(model, VOCABULARY, {})
    there = local.occurrences > 0
    np.testing.assert_allclose(local.attention_score[there], alone.attention_score[there])
    np.testing.assert_allclose(local.polarity[there], alone.polarity[there])
    assert (alone.weight == 1).all()
    assert np.isnan(local.polarity[~there]).all()


def test_local_scores_are_means_over_occurrences_by_a_loop():
    model = a_model("lstm:hidden_size=3", "additive", 3).eval()
    batches = some_documents(3)
    target = np.arange(VOCABULARY) % 3
    kinds = {name: np.flatnonzero(target == label) for label, name in enumerate("abc")}
    found = local_scores(model, batches, VOCABULARY, kinds)
    seen: dict[int, list[tuple[float, float]]] = {}
    weight = model.output.linear.weight.detach()
    for index in range(len(batches)):
        one = Batches(type(batches.documents)(
            batches.documents[index], np.array([0, len(batches.documents[index])])
        ))  # fmt: skip
        with torch.no_grad():
            trace = model(one.whole())
        for place, word in enumerate(batches.documents[index].tolist()):
            logits = weight @ trace.hidden[0, place]
            own = int(target[word])
            others = (logits.sum() - logits[own]) / 2
            seen.setdefault(word, []).append(
                (float(trace.scores[0, place]), float(logits[own] - others))
            )
    for word, pairs in seen.items():
        expected = np.mean(pairs, axis=0)
        assert found.attention_score[word] == pytest.approx(expected[0])
        assert found.polarity[word] == pytest.approx(expected[1])


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_gradient_flow_and_word_scores_mean_the_same_by_polarity(classes):
    model = a_model("embedding", "dot:scale=3.0", classes).eval()
    tied = np.arange(3, 3 + classes)
    kinds = {f"label {n}": tied[n : n + 1] for n in range(classes)} | {"neutral": np.arange(9, 14)}
    of_words = global_scores(model, VOCABULARY, kinds).polarity
    of_flow = word_columns(flow_of(model, some_documents(classes)), kinds)["polarity"]
    np.testing.assert_allclose(of_flow, of_words)


def test_planted_words_have_higher_scores_in_their_texts_and_alone(in_context, planted):
    found = LocalAndGlobal().analyse(in_context, planted.train, 0)
    kinds = by(found.summary, "kind")
    for where in ("local", "global"):
        polarity = [
            kinds[kind,][f"{where}_polarity"] for kind in ("negative", "neutral", "positive")
        ]
        assert polarity == sorted(polarity)
    assert found.tables["agreement"][0]["rank_correlation"] < 0.999


def test_word_scores_need_words_that_were_trained_on(words_only, planted):
    with pytest.raises(DataError, match="no polar or neutral word"):
        LocalAndGlobal().analyse(words_only, Documents([type(planted.test[0])("zzz qqq")]), 0)


def test_information_lies_between_its_controls(in_context, planted):
    found = Information(clusters=60).analyse(in_context, planted.test, 0)
    share = {row["of"]: row["share_of_entropy"] for row in found.summary}
    assert list(share) == [
        "embeddings", "states", "states, untrained encoder", "states, shuffled in their document"
    ]  # fmt: skip
    assert share["states, shuffled in their document"] < share["states"] < share["embeddings"]
    corrected = Information(clusters=60, miller_madow=True).analyse(in_context, planted.test, 0)
    assert corrected.summary[3]["information"] < found.summary[3]["information"]
    assert {row["of"] for row in found.tables["beside"]} == {
        "conicity of the states", "normalised entropy of the weights"
    }  # fmt: skip


def test_information_says_when_there_are_too_few_words(in_context, planted):
    with pytest.raises(DataError, match="at least 40 occurrences"):
        Information().analyse(in_context, planted.test[:2], 0)


def test_a_classifier_that_pools_is_refused_in_a_sentence(planted):
    pooled = train(Task.from_corpus(planted, {}), quick("embedding", 1).with_(pooling="mean"))
    with pytest.raises(ConfigError, match="pooling = 'mean'"):
        DotProducts().analyse(pooled, Documents(), 0)


def test_a_result_is_saved_as_plain_data(tmp_path, words_only):
    import json

    import pandas

    found: Result = DotProducts().analyse(words_only, Documents(), 0)
    found.save(tmp_path / "out")
    stored = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert stored["analysis"] == "dot-products"
    assert len(stored["summary"]) == 9
    rows = pandas.read_parquet(tmp_path / "out" / "rows.parquet")
    assert list(rows) == ["word", "kind", "with_negative", "with_positive", "with_neutral"]


def test_balance_says_whether_neutral_words_stand_between_the_labels():
    def balance(negative: float, positive: float, neutral: float):
        scores = {"negative": negative, "positive": positive, "neutral": neutral}
        kinds = [{"kind": kind, "global_attention_score": s} for kind, s in scores.items()]
        (row,) = _balance(kinds, a_model("embedding", "additive", 2))
        return row

    row = balance(-1.0, 2.0, 0.5)
    assert (row["attention_score_gap"], row["attention_score_split"]) == (3.0, 1.0)
    assert balance(2.0, 2.0, 0.0)["attention_score_split"] == 0.0
    assert balance(1.0, 2.0, 0.0)["attention_score_split"] == pytest.approx(1 / 3)
    assert row["query_times_output"] is None
    dot = a_model("embedding", "dot", 2)
    (row,) = _balance([{"kind": kind, "global_attention_score": 0.0} for kind in ("a", "b")], dot)
    product = float(dot.output.linear.weight[0].detach() @ dot.alignment.query.vector.detach())
    assert row["query_times_output"] == pytest.approx(product)
    assert row["attention_score_split"] is None
