import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from heedful.analysis.instruments.agreement import Agreement, compare
from heedful.analysis.instruments.base import analyses
from heedful.errors import ConfigError, DataError, UnknownName
from heedful.importance import importances, predicted
from heedful.report.analyses import analysis_page, figures_of
from heedful.text.documents import Document, Documents
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import Trained
from tests.analysis.conftest import quick

BOTH = ("gradient-x-input-held", "leave-one-out")


@pytest.fixture(scope="module")
def sparse(planted) -> Trained:
    settings = quick("lstm:hidden_size=6").with_(projection="sparsemax", alignment="dot:scale=0.3")
    return train(Task.from_corpus(planted, {}), settings)


@pytest.fixture(scope="module")
def uneven(planted) -> Documents:
    """Planted documents have 12 words each; here the n-th has 1 to 12 of them."""
    return Documents(
        Document(" ".join(d.text.split(" ")[: 1 + n % 12]), d.label)
        for n, d in enumerate(planted.test)
    )


def alone(trained: Trained, text: str, measure: str):
    """Weights and absolute importance of one text, read by itself."""
    batch = trained.batches([text]).whole()
    with torch.no_grad():
        weights = trained.model(batch).weights[0].numpy()
    scores = importances.make(measure)(trained.model, batch, predicted(trained.model, batch))
    return weights, np.abs(scores[0].detach().numpy())


def whole(found, measure):
    """The row of a measure over all documents."""
    (row,) = (
        r for r in found.tables["measures"] if r["measure"] == measure and r["predicted"] == "all"
    )
    return row


def test_attention_agrees_with_itself(in_context, planted):
    found = Agreement(measures=("attention", "random")).analyse(in_context, planted.test, 0)
    row = whole(found, "attention")
    assert [row["tau"], row["tau_low"], row["tau_high"]] == pytest.approx([1.0, 1.0, 1.0])
    assert row["tau_sd"] < 1e-9
    assert row["significant"] == 1.0
    assert row["entropy"] == pytest.approx(found.tables["attention"][0]["entropy"])
    chance = whole(found, "random")
    assert abs(chance["tau"]) < 0.1
    assert chance["significant"] < 0.2


def test_every_document_has_the_tau_and_p_of_scipy(in_context, uneven):
    found = Agreement().analyse(in_context, uneven, 0).to_frame()
    assert len(found) > 30
    for measure in BOTH:
        for _, row in found[::4].iterrows():
            weights, size = alone(in_context, row["text"], measure)
            assert len(weights) == row["words"]
            expected = kendalltau(weights, size)
            assert row[f"tau_{measure}"] == pytest.approx(expected.statistic, abs=1e-9)
            assert row[f"p_{measure}"] == pytest.approx(expected.pvalue, abs=1e-9)
    for _, row in found[::4].iterrows():
        first, second = (alone(in_context, row["text"], measure)[1] for measure in BOTH)
        assert row["gradient-x-input-held_with_leave-one-out"] == pytest.approx(
            kendalltau(first, second).statistic
        )


def test_on_the_support_tau_is_that_of_the_words_with_weight(sparse, uneven):
    result = Agreement().analyse(sparse, uneven, 0)
    found, compared = result.to_frame(), 0
    for _, row in found.iterrows():
        weights, size = alone(sparse, row["text"], "leave-one-out")
        has_weight = weights > 0
        assert row["support"] == pytest.approx(has_weight.mean())
        if has_weight.sum() < 2:
            assert np.isnan(row["support_tau_leave-one-out"])
            continue
        expected = kendalltau(weights[has_weight], size[has_weight]).statistic
        assert row["support_tau_leave-one-out"] == pytest.approx(expected, nan_ok=True)
        compared += not has_weight.all()
    assert compared > 10
    row = whole(result, "leave-one-out")
    assert row["tau_support"] == pytest.approx(np.nanmean(found["support_tau_leave-one-out"]))
    assert row["tau_support"] != pytest.approx(row["tau"])
    assert result.tables["attention"][0]["support"] == pytest.approx(found["support"].mean())


def test_how_evenly_importance_is_spread_by_hand():
    is_token = np.array([[True] * 4, [True] * 4, [True, True, False, False], [True] * 4])
    weights = np.array([[0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], [0.5, 0.5, 0, 0], [0.25] * 4])
    importance = np.array([[-2.0, 2, 2, -2], [0, -5, 0, 0], [1, -3, 0, 0], [0.0] * 4])
    found = compare(weights, {"m": importance}, is_token)
    # 1/4 and 3/4 of two words: -(0.25 ln 0.25 + 0.75 ln 0.75) / ln 2 = 0.8113
    np.testing.assert_allclose(found["entropy_m"], [1.0, 0.0, 0.8112781, np.nan], atol=1e-6)
    np.testing.assert_allclose(found["weight_entropy"][2:], [1.0, 1.0])
    # (0.4, 0.3, 0.2, 0.1) and (0, 5, 0, 0): one pair of three falls, two rise: 1 / sqrt(6 * 3)
    np.testing.assert_allclose(found["tau_m"], [np.nan, 1 / 18**0.5, np.nan, np.nan])


def test_constant_weights_leave_nothing_to_rank_and_are_counted(planted):
    even = train(Task.from_corpus(planted, {}), quick("embedding", 1).with_(projection="uniform"))
    found = Agreement(measures=("leave-one-out",)).analyse(even, planted.test, 0)
    row = whole(found, "leave-one-out")
    assert np.isnan(row["tau"])
    assert np.isnan(row["tau_sd"])
    assert np.isnan(row["significant"])
    assert row["documents"] == row["left_out"] == len(planted.test)
    assert 0 < row["entropy"] < 1
    assert any(f"{len(planted.test)} documents left out of tau" in note for note in found.notes)
    assert analysis_page(found)


def test_documents_outside_the_limits_are_left_out_and_counted(in_context, uneven):
    words = np.array([len(text.split(" ")) for text in uneven.texts])
    found = Agreement(fewest_words=4, most_words=9).analyse(in_context, uneven, 0)
    expected = words[(words >= 4) & (words <= 9)]
    assert list(found.rows["words"]) == expected.tolist()
    assert whole(found, "leave-one-out")["documents"] == len(expected)
    assert f"{(words < 4).sum()} documents with fewer than 4 words left out." in found.notes
    assert f"{(words > 9).sum()} documents with more than 9 words left out." in found.notes
    all_of_them = Agreement(fewest_words=1).analyse(in_context, uneven, 0)
    assert len(all_of_them.rows["text"]) == len(uneven)
    assert whole(all_of_them, "leave-one-out")["left_out"] >= (words == 1).sum()
    with pytest.raises(DataError, match="at least 13 and at most 20 words; none of the"):
        Agreement(fewest_words=13, most_words=20).analyse(in_context, uneven, 0)


def test_a_sample_is_decided_by_the_seed(in_context, planted):
    texts = [
        Agreement(documents=20).analyse(in_context, planted.test, seed).rows["text"]
        for seed in (0, 0, 1)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert [len(some) for some in texts] == [20, 20, 20]


def test_classes_share_out_the_documents_and_their_tau(in_context, planted):
    found = Agreement().analyse(in_context, planted.test, 0)
    frame = found.to_frame()
    for measure in BOTH:
        rows = {r["predicted"]: r for r in found.tables["measures"] if r["measure"] == measure}
        assert set(rows) == {"all", "negative", "positive"}
        counts = [rows[name]["documents"] for name in ("all", "negative", "positive")]
        assert counts[0] == counts[1] + counts[2] == len(planted.test)
        for name in ("negative", "positive"):
            tau = frame.loc[frame["prediction"] == name, f"tau_{measure}"]
            assert rows[name]["tau"] == pytest.approx(tau.mean())
            assert rows[name]["tau_sd"] == pytest.approx(tau.std(ddof=0))
            assert rows[name]["tau_low"] < rows[name]["tau"] < rows[name]["tau_high"]
        p_value = frame[f"p_{measure}"]
        assert rows["all"]["significant"] == pytest.approx((p_value <= 0.05).mean())
    (pair,) = found.tables["pairs"]
    assert (pair["first"], pair["second"]) == BOTH
    assert pair["tau"] == pytest.approx(frame["gradient-x-input-held_with_leave-one-out"].mean())


def test_the_page_draws_a_panel_per_measure(in_context, planted):
    found = Agreement().analyse(in_context, planted.test, 0)
    (figure,) = figures_of(found)
    panels = figure.chart.to_dict()["concat"]
    assert [panel["title"] for panel in panels] == list(BOTH)
    page = analysis_page(found)
    assert figure.title in page
    assert 'class="chart"' in page


def test_what_cannot_be_compared_is_refused_in_a_sentence(planted):
    pooled = train(Task.from_corpus(planted, {}), quick("embedding", 1).with_(pooling="mean"))
    with pytest.raises(ConfigError, match=r"agreement is about attention .* pooling = 'mean'"):
        Agreement().analyse(pooled, planted.test, 0)
    with pytest.raises(UnknownName, match="Did you mean 'leave-one-out'"):
        analyses.make("agreement:measures=attention+leave-one-outt")
    with pytest.raises(ConfigError, match="two measures are called 'random'"):
        Agreement(measures=("random", "random"))
    with pytest.raises(ConfigError, match="give at least one"):
        Agreement(measures=())
    with pytest.raises(ConfigError, match="most_words should be at least 5, not 4"):
        Agreement(fewest_words=5, most_words=4)
