"""Does the prediction move when the attention moves?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.metrics.divergence import js_divergence
from heedful.auditing.metrics.erasure import fraction_to_flip
from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.questions.base import (
    Columns,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    cross_fitted_best,
    questions,
)
from heedful.auditing.results import Column, Table, TestResult
from heedful.auditing.subjects.base import Decides, Reading
from heedful.auditing.word_effects import SLIGHT
from heedful.counterfactual.baselines import Permuted, uniform

ORDERS = ("attention-x-gradient", "contribution")  # the best importance order is one of these
NOTHING = 1e-9  # a move of the prediction below this is none

MOVES = tuple(
    AuditTest(
        name, "higher", paper, "0", "the change from losing all evidence (a zero context)", column,
        is_compared=name == "permutation", defined_by=("moved",),
    )
    for name, paper, column in (
        ("permutation", "Jain & Wallace 2019", "permuted_tvd"),
        ("uniform", "Tutek & Šnajder 2020", "uniform_tvd"),
    )
)  # fmt: skip
LOOK_AWAY = AuditTest(
    "look away", "higher", "ours, after Jain & Wallace", "no change",
    "the change from deleting all other words", "looked_away", is_compared=True,
    is_usual_column=True, dose="bypass",
    judged_for=("classifier", "module"),  # a Transformer's other layers are other paths
)  # fmt: skip
PERMUTED_ODDS = AuditTest(
    "permutation in log-odds", "higher", "ours, after Jain & Wallace", "0",
    "the change from losing all evidence (a zero context)", "permuted_log_odds",
)  # fmt: skip
ERASE_UNTIL_FLIP = AuditTest(
    "erase until flip", "lower", "Serrano & Smith 2019", "5 random orders",
    "the best of attention × gradient and contribution", "flip_share_attention",
)  # fmt: skip


@questions.register("decisive")
@dataclass(frozen=True)
class Decisive(Question):
    """Permuted and uniform weights at inference, and weights erased until the decision flips.

    *Look away* puts all weight on the words that matter least, the text as it is, and compares with
    taking all other words away: document by document, so that sure ones do not outvote the others.
    In log-odds, what is missing to 1 is the share of the decision that reaches the output past the
    weights.
    """

    name = "decisive"
    place = 1
    asks = "Does the prediction change when attention changes?"
    needs = Decides
    tests = (LOOK_AWAY, *MOVES, PERMUTED_ODDS, ERASE_UNTIL_FLIP)

    def measure(self, group: DocumentGroup) -> Measured:
        """Moves of the prediction, and shares of the support erased."""
        subject, reading, settings = group.subject, group.reading, group.settings
        assert isinstance(subject, Decides)
        seed = group.seed
        permuted = subject.otherwise(reading, Permuted(settings.permutations), seed)
        moved = subject.decide(reading, permuted)
        even = subject.otherwise(reading, uniform, seed)
        documents, words = reading.weights.shape
        at_one_word = reading.moved(subject.decide_at_each_word(reading))
        nothing = subject.without_evidence(reading)[:, None]
        draws = group.rng.random((settings.flip_draws, documents, words))
        flips = [_share_to_flip(subject, reading, draw) for draw in draws]
        orders = {order: group.importance(order) for order in ORDERS if order in subject.measures}
        return Measured(
            {
                "permuted_tvd": np.median(reading.moved(moved), axis=1),
                "uniform_tvd": reading.moved(subject.decide(reading, even))[:, 0],
                "no_evidence_tvd": reading.moved(nothing)[:, 0],
                "reachable_tvd": np.where(reading.is_token, at_one_word, 0.0).max(axis=1),
                "max_weight": reading.weights.max(axis=1),
                "flip_share_attention": _share_to_flip(subject, reading, reading.weights),
                "flip_share_random": np.mean(flips, axis=0),
            }
            | {f"flip_share_{o}": _share_to_flip(subject, reading, by) for o, by in orders.items()}
            | _one_weight_erased(subject, reading, draws[0])
            | _moves_in_log_odds(group, subject, moved, nothing)
        )

    def conclude(self, found: Findings) -> Conclusion:
        """Moves between none and those of losing all evidence; flips between random and best."""
        columns = found.columns
        reachable = columns["reachable_tvd"]
        cannot_move = bool((reachable[~np.isnan(reachable)] < NOTHING).all())
        reach = f"all weight on one word could move it by {np.nanmean(reachable):.3f} on average"
        look_away = found.test(
            LOOK_AWAY, columns["looked_away"], 0.0, 1.0, note=reach, cannot_move=cannot_move
        )  # fmt: skip
        in_odds = found.test(
            PERMUTED_ODDS, columns["permuted_log_odds"], 0.0, columns["no_evidence_log_odds"]
        )
        moves = [
            found.test(
                move, columns[str(move.column)], 0.0, columns["no_evidence_tvd"],
                note=reach, cannot_move=cannot_move,
            )
            for move in MOVES
        ]  # fmt: skip
        flip = _erased_until_flip(found)
        further = columns["top_erased_jsd"] - columns["other_erased_jsd"]
        facts = (
            found.fact(
                "JSD of erasing the top weight minus another", further, "Serrano & Smith, nats"
            ),
        )
        return Conclusion(
            (look_away, *moves, in_odds, *flip), {"flips": _flip_table(columns), "facts": facts}
        )


def _erased_until_flip(found: Findings) -> tuple[TestResult, ...]:
    """The test between random orders and the best one; none where no other order is measured."""
    columns = found.columns
    candidates = {o: f"flip_share_{o}" for o in ORDERS if f"flip_share_{o}" in columns}
    if not candidates:
        return ()
    rng = found.rng_for("best order")
    best, chosen = cross_fitted_best(columns, candidates, ERASE_UNTIL_FLIP.better, rng)
    value, floor = columns["flip_share_attention"], columns["flip_share_random"]
    return (found.test(ERASE_UNTIL_FLIP, value, floor, best, note=f"best order: {chosen}"),)


def _moves_in_log_odds(
    group: DocumentGroup,
    subject: Decides,
    permuted: Float[ndarray, "documents attentions classes"],
    nothing: Float[ndarray, "documents 1 classes"],
) -> dict[str, Column]:
    """How far the log-odds of the prediction fall, by other weights and by words taken away."""
    reading, effects = group.reading, group.effects_by(subject)
    prediction, smallest = reading.prediction, subject.smallest
    is_left = effects.is_neutral
    looking = is_left / np.maximum(is_left.sum(axis=1, keepdims=True), 1)  # a text without words
    away = subject.decide(reading, looking[:, None])[:, 0]
    taken = subject.predict_kept(reading, np.arange(len(looking)), is_left)
    many = np.repeat(prediction[:, None], permuted.shape[1], axis=1)
    falls = effects.whole[:, None] - log_odds(permuted, many, smallest)
    looked = effects.whole - log_odds(away, prediction, smallest)
    lost = effects.whole - log_odds(taken, prediction, smallest)
    is_asked = lost > SLIGHT * effects.margin
    share = np.divide(looked, lost, out=np.full(len(lost), np.nan), where=is_asked)
    return {
        "looked_away": np.clip(share, 0.0, 1.0),
        "permuted_log_odds": np.median(falls, axis=1),
        "no_evidence_log_odds": effects.whole - log_odds(nothing[:, 0], prediction, smallest),
    }


def _share_to_flip(
    subject: Decides, reading: Reading, order_by: Float[ndarray, "documents words"]
) -> Column:
    """Share of the support whose weights are erased, highest first, before the decision flips.

    Erased weights are 0 and the rest is renormalised; states stay (arXiv:1906.03731).
    """
    support = reading.support
    rank = np.where(support, -order_by, np.inf).argsort(axis=1, kind="stable").argsort(axis=1)
    steps = np.arange(1, max(2, int(support.sum(axis=1).max(initial=1))))
    decisions = subject.decide_erased(reading, rank, len(steps)).argmax(axis=-1)
    size = support.sum(axis=1, keepdims=True)
    is_real = steps < size  # something must be left to decide with
    is_flipped = (decisions != reading.prediction[:, None]) & is_real
    return fraction_to_flip(is_flipped, steps / np.maximum(size, 1))


def _one_weight_erased(
    subject: Decides, reading: Reading, draw: Float[ndarray, "documents words"]
) -> dict[str, Column]:
    """What erasing the top weight does, and erasing another one drawn at random."""
    support = reading.support
    rows = np.arange(len(support))
    top = np.where(support, reading.weights, -np.inf).argmax(axis=1)
    others = support.copy()
    others[rows, top] = False
    other = np.where(others, draw, -np.inf).argmax(axis=1)
    is_left = np.repeat(support[:, None], 2, axis=1)
    is_left[rows, 0, top] = is_left[rows, 1, other] = False
    probabilities = subject.decide(reading, reading.renormalised(is_left))
    columns = {}
    is_asked = others.any(axis=1)  # with one weight there is no other to erase
    for place, name in enumerate(("top", "other")):
        erased = probabilities[:, place]
        flipped = (erased.argmax(axis=1) != reading.prediction).astype(np.float64)
        distance = js_divergence(erased, reading.probabilities)
        columns[f"{name}_erased_flips"] = np.where(is_asked, flipped, np.nan)
        columns[f"{name}_erased_jsd"] = np.where(is_asked, distance, np.nan)
    return columns


def _flip_table(columns: Columns) -> Table:
    """Serrano & Smith's four cells: does the top weight decide, and would another one have?"""
    top, other = columns["top_erased_flips"], columns["other_erased_flips"]
    asked = int((~np.isnan(top)).sum())
    rows = []
    for top_flips in (True, False):
        for other_flips in (True, False):
            documents = int(((top == top_flips) & (other == other_flips)).sum())
            share = documents / max(asked, 1)
            cell = {"top_flips": top_flips, "other_flips": other_flips}
            rows.append({**cell, "documents": documents, "share": share})
    return tuple(rows)
