"""The rule for single texts, on scores and truths that are made up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.conformal import fewest_documents, fit_rule
from heedful.errors import ConfigError

ROUNDS, NEXT = 400, 100  # audits that are made up, and texts that follow each


def made_up(rng, documents, share_false, sharpness):
    """Scores from 0 to 1, lower where the picture is false; the sharper, the lower."""
    is_false = rng.random(documents) < share_false
    raw = rng.normal(size=documents) + sharpness * np.where(is_false, -0.5, 0.5)
    return 1 / (1 + np.exp(-raw)), is_false


@pytest.mark.parametrize("risk", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("share_false", [0.03, 0.3, 0.9])
@pytest.mark.parametrize("sharpness", [0.0, 1.0, 3.0])
def test_no_more_texts_are_shown_with_a_false_picture_than_the_risk(risk, share_false, sharpness):
    rng = np.random.default_rng([int(1000 * risk), int(100 * share_false), int(sharpness)])
    harmed = []
    for _ in range(ROUNDS):
        scores, is_false = made_up(rng, 60 + NEXT, share_false, sharpness)
        rule = fit_rule(scores[:60], is_false[:60], risk)
        threshold = np.inf if rule.threshold is None else rule.threshold
        harmed.append((is_false[60:] & (scores[60:] > threshold)).mean())
    error = np.std(harmed) / np.sqrt(ROUNDS)
    assert np.mean(harmed) <= risk + 3 * error


def test_where_scores_tell_false_pictures_the_shown_ones_are_false_about_as_often_as_the_risk():
    rng = np.random.default_rng(0)
    shown = false = 0
    for _ in range(ROUNDS):
        scores, is_false = made_up(rng, 300 + NEXT, 0.3, 4.0)
        is_shown = scores[300:] > fit_rule(scores[:300], is_false[:300], 0.05).threshold
        shown, false = shown + is_shown.sum(), false + (is_shown & is_false[300:]).sum()
    assert 0.03 < false / shown < 0.055
    assert shown / (ROUNDS * NEXT) > 0.65


@given(
    seed=st.integers(0, 2**31),
    documents=st.integers(1, 80),
    share_false=st.floats(0, 1),
    levels=st.integers(1, 20),
    risk=st.floats(0.01, 0.9),
)
def test_the_threshold_is_the_smallest_that_holds_the_risk(
    seed, documents, share_false, levels, risk
):
    """Found again by trying every threshold there is; scores of few levels have many ties."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels + 1, documents) / levels
    is_false = rng.random(documents) < share_false
    held = [
        t
        for t in (0.0, *sorted(set(scores.tolist())))
        if (scores > t).any()
        and (is_false & (scores > t)).sum() + 1 <= risk * ((scores > t).sum() + 1) * (1 + 1e-12)
    ]
    rule = fit_rule(scores, is_false, risk)
    if not held:
        assert rule.threshold is None
        assert rule.shown == 0
        return
    assert (
        rule.threshold == pytest.approx(held[0], abs=0)
        or ((scores > rule.threshold) == (scores > held[0])).all()
    )
    assert rule.shown == (scores > held[0]).sum()
    assert rule.false_shown == (is_false & (scores > held[0])).sum()


def test_a_rule_by_hand():
    # 19 true above 0.6, then one false at 0.5, then 40 true at 0.4: with the false one shown
    # (1 + 1) / (60 + 1) = 0.033, so all are shown; at 0.02 not even (0 + 1) / (19 + 1) holds.
    scores = np.concatenate([np.full(19, 0.6), [0.5], np.full(40, 0.4)])
    is_false = np.arange(60) == 19
    rule = fit_rule(scores, is_false, 0.05)
    assert (rule.threshold, rule.shown, rule.false_shown) == (0.0, 60, 1)
    # With 20 false ones at 0.4 only the 19 are left: (0 + 1) / (19 + 1) = 0.05.
    is_false[40:] = True
    rule = fit_rule(scores, is_false, 0.05)
    assert (rule.threshold, rule.shown, rule.false_shown) == (0.5, 19, 0)
    assert rule.sentence == (
        "For single texts: show the picture only where its score is above 0.50, as for 19 of 60 "
        "documents, of which 0 are false (0% to 17%). A false picture is shown for at most 5% of "
        "texts like those audited."
    )


def test_a_score_of_0_is_never_shown():
    rule = fit_rule(np.array([0.0] * 50 + [1.0] * 50), np.zeros(100, dtype=bool), 0.05)
    assert rule.threshold == 0
    assert rule.shown == 50


@pytest.mark.parametrize(("risk", "documents"), [(0.05, 19), (0.02, 49), (0.1, 9)])
def test_too_few_documents_are_refused_with_the_number_that_is_needed(risk, documents):
    assert fewest_documents(risk) == documents
    enough = fit_rule(np.ones(documents), np.zeros(documents, dtype=bool), risk)
    assert enough.shown == documents
    rule = fit_rule(np.ones(documents - 1), np.zeros(documents - 1, dtype=bool), risk)
    assert rule.threshold is None
    assert rule.sentence == (
        f"For single texts: show no picture. To guarantee at most {100 * risk:g}% false "
        f"pictures, an audit needs at least {documents} documents "
        f"with more than one word; this one has {documents - 1}."
    )


def test_scores_that_say_nothing_show_nothing():
    rng = np.random.default_rng(0)
    rule = fit_rule(np.ones(300), rng.random(300) < 0.5, 0.05)
    assert rule.threshold is None
    assert "No score separates 19 documents or more" in rule.sentence


@pytest.mark.parametrize("risk", [0.0, -0.1, 1.0, 7.0, float("nan")])
def test_what_is_no_risk_is_refused(risk):
    with pytest.raises(ConfigError, match="risk should be"):
        fit_rule(np.ones(30), np.zeros(30, dtype=bool), risk)
