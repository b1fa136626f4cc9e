"""Audits made by hand, without a model: numbers that look like real ones, and hostile texts."""

import re

import numpy as np

from heedful.auditing.bootstrap import Score
from heedful.auditing.results import Answer, Audit, ShownDocument, TestResult
from heedful.auditing.verdict import Judgement, Verdict, judge_question, reach_verdict
from tests.auditing.points import POINTS

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "</style>",
    "</script>",
    "<!--",
    "a\u202eb",
    "\ud83d",
    "\u2028",
    "it's",
)
MEASURES = (
    ("leave-one-out", 0.41),
    ("contribution", 0.39),
    ("gradient-x-input", 0.33),
    ("attention", 0.21),
    ("random", 0.06),
)
REVIEW = (
    "A film that means well and says it often: the first hour is slow, even dull, but Rosamund "
    "Pike is wonderful, and the last scene, played without a word, is the best thing anybody has "
    "done this year. See it for her; forgive the rest."
)
ASKS = {
    "decisive": "Does the prediction move when the attention moves?",
    "exclusive": "Could a very different attention have led to the same prediction?",
    "agreeing": "Does it rank words as measured importance does?",
    "telling": "Take its top words away: does the decision fall? Keep only them: does it stand?",
    "grounded": "Does the state at a word still speak of that word?",
    "leak-free": "Can the label be read off the weights alone?",
    "discerning": "Do words tied to a label get higher attention scores than neutral words?",
    "needed": "Does the model use attention at all on this task?",
    "stable": "Would another seed have told another story?",
    "plausible": "Does it point where people point?",
}
NOT_ASKED = {
    "needed": "needs a twin trained with uniform weights (--deep)",
    "stable": "needs other seeds (--deep)",
    "plausible": "the documents carry no human rationales",
}


def result(
    question: str,
    name: str,
    numbers: tuple[float, float, float],
    interval: tuple[float, float],
    better: str = "higher",
    note: str = "",
) -> TestResult:
    value, floor, ceiling = map(float, numbers)
    share = (value - floor) / (ceiling - floor)
    spread = (ceiling - floor) * 0.9, (ceiling - floor) * 1.1
    spread = (min(spread), max(spread))
    score = Score(value, floor, ceiling, share, interval, spread, 400, 3)
    judgement: Judgement = "reported"
    if (cut := POINTS.cuts.get(name)) is not None:
        judgement = "supported" if interval[0] > cut else "undecided"
        judgement = "contradicted" if interval[1] < cut else judgement
    return TestResult(question, name, better, score, judgement, note)


def made_tests(honesty: float) -> dict[str, list[TestResult]]:
    def around(score: float, by: float = 0.06) -> tuple[float, float]:
        return score - by, score + by

    decisive, telling = 0.02 + 0.4 * honesty, 0.2 + 0.7 * honesty
    look_away, true_pictures = 0.4 + 0.6 * honesty, 0.2 + 0.75 * honesty
    return {
        "decisive": [
            result("decisive", "look away", (look_away * 3, 0, 3), around(look_away, 0.02)),
            result("decisive", "permutation", (decisive * 0.4, 0, 0.4), around(decisive, 0.03),
                   note="any weights could move it by 0.391 on average"),
            result("decisive", "uniform", (decisive * 0.3, 0, 0.4), around(decisive * 0.75, 0.03)),
            result("decisive", "erase until flip", (0.62, 0.81, 0.4), around(0.46), "lower"),
        ],
        "exclusive": [result("exclusive", "epsilon-max JSD", (0.5, 0.66, 0), around(0.24),
                             "lower")],
        "agreeing": [
            result("agreeing", f"{name} with {measure}", (0.2, 0.0, 0.5), around(0.4))
            for measure in ("gradient-x-input-held", "leave-one-out")
            for name in ("kendall_tau", "weighted_tau", "pearson", "top_overlap")
        ],
        "telling": [
            result("telling", "true pictures", (true_pictures, 0, 1), around(true_pictures),
                   note="12 silent documents: no words carry the decision there"),
            result("telling", "comprehensiveness", (0.06 + telling * 0.35, 0.06, 0.41),
                   around(telling), note="best measure: leave-one-out"),
            result("telling", "sufficiency", (0.3, 0.42, 0.11), around(0.39), "lower"),
            result("telling", "accuracy_drop", (0.14, 0.05, 0.4), around(-0.2, 0.5)),
        ],
        "grounded": [result("grounded", "own influence", (0.31, 0.05, 1.0), around(0.27))],
        "leak-free": [result("leak-free", "mask-only accuracy", (0.7, 0.85, 0.6), around(0.6),
                             "lower"),
                      result("leak-free", "word choice", (0.05, 0.5, 0), around(0.9), "lower")],
        "discerning": [result("discerning", "AUC", (0.7, 0.5, 0.9), around(0.5))],
    }  # fmt: skip


def answers(honesty: float) -> tuple[Answer, ...]:
    tests = made_tests(honesty)
    return tuple(
        Answer(question, asks, None, (), NOT_ASKED[question])
        if question in NOT_ASKED
        else Answer(
            question,
            asks,
            judge_question(test.judgement for test in tests[question]),
            (*tests[question],),
        )
        for question, asks in ASKS.items()
    )


def columns(documents: int, honesty: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    peak = rng.beta(2, 3, documents)
    found = {
        "max_weight": peak,
        "permuted_tvd": np.clip(peak * honesty * rng.random(documents), 0, 1),
        "epsilon_max_jsd": np.log(2) * rng.beta(6, 2, documents),
        "influence_entropy": rng.beta(8, 2, documents),
        "own_influence": rng.beta(3, 5, documents),
    }
    for measure in ("gradient-x-input-held", "leave-one-out"):
        found[f"kendall_tau_{measure}"] = np.tanh(rng.normal(0.4 * honesty + 0.1, 0.3, documents))
        found[f"kendall_tau_{measure}_random"] = np.tanh(rng.normal(0, 0.2, documents))
    for column in found.values():
        column[:3] = np.nan
    return found


def evidence(honesty: float, rng: np.random.Generator) -> dict[str, tuple[dict, ...]]:
    curves = [
        {
            "measure": measure,
            "k": k,
            "probability_drop": strength * (1 - 0.75**k),
            "accuracy_drop": strength * 0.8 * (1 - 0.8**k),
            "kept_own": 0.5 + 0.5 * (1 - (1 - strength) ** k),
            "kept_gold": None,
            "documents": 397,
        }
        for measure, strength in MEASURES
        for k in (1, 2, 3, 5, 8, 10)
    ]
    ranking = [
        {
            "measure": measure,
            "comprehensiveness": worth,
            "low": worth - 0.03,
            "high": worth + 0.03,
            "sufficiency": 0.5 - worth,
            "score": worth / 0.41,
            "over_attention": worth - 0.21,
            "over_attention_low": worth - 0.24,
            "over_attention_high": worth - 0.18,
            "false_pictures": 1 - 2 * worth,
            "false_low": 0.95 - 2 * worth,
            "false_high": 1.05 - 2 * worth,
            "documents": 397,
        }
        for measure, worth in MEASURES
    ]
    flips = [
        {"top_flips": top, "other_flips": other, "documents": count, "share": count / 397}
        for (top, other), count in zip(
            [(True, True), (True, False), (False, True), (False, False)], (9, 81, 4, 303),
            strict=True,
        )
    ]  # fmt: skip
    words = [
        {
            "word": HOSTILE[n % len(HOSTILE)] if n < 12 else f"word{n}",
            "kind": kind,
            "attention_score": float(rng.normal(honesty * (kind != "neutral"), 0.5)),
            "polarity": float(rng.normal(lean, 0.4)),
            "weight": float(rng.gamma(2, 0.02 * (1 + honesty * (kind != "neutral")))),
            "occurrences": int(rng.integers(5, 900)),
        }
        for kind, lean in (("negative", -1.2), ("positive", 1.2), ("neutral", 0.0))
        for n in range(90)
    ]
    classes = [
        {"class": name, "false_pictures": share, "low": share - 0.05, "high": share + 0.05,
         "documents": count}
        for name, share, count in (("negative", 0.4, 190), ("positive", 0.1, 195))
    ]  # fmt: skip
    return {
        "classes": tuple(classes),
        "curves": tuple(curves),
        "measures": tuple(ranking),
        "flips": tuple(flips),
        "facts": (
            {
                "question": "grounded",
                "name": "conicity_of_states",
                "note": "Mohankumar et al.",
                "mean": 0.412,
                "low": 0.391,
                "high": None,
                "documents": 397,
            },
        ),
        "words": tuple(words),
    }


def shown(why: str, place: int, text: str, rng: np.random.Generator) -> ShownDocument:
    offsets = tuple((match.start(), match.end()) for match in re.finditer(r"\S+", text))
    weights = rng.dirichlet(np.full(len(offsets), 0.4))
    return ShownDocument(
        why=why,
        place=place,
        text=text,
        label="positive",
        prediction="negative",
        probability=0.734,
        offsets=offsets,
        scores={
            "attention": tuple(weights.tolist()),
            "leave-one-out": tuple(rng.normal(0, 0.1, len(offsets)).tolist()),
            "gradient-x-input": tuple(rng.normal(0, 0.2, len(offsets)).tolist()),
        },
    )


def made_audit(honesty: float = 0.3, documents: int = 400, seed: int = 0) -> Audit:
    """0: attention that says nothing; 1: attention that is the reason."""
    rng = np.random.default_rng(seed)
    found = answers(honesty)
    judged = {one.question: one.judgement or "undecided" for one in found}
    conclusion: Verdict = reach_verdict(judged)
    hostile = " ".join(HOSTILE)
    texts = tuple([hostile, REVIEW] + ["plain text"] * (documents - 2))
    return Audit(
        verdict=conclusion,
        answers=found,
        texts=texts,
        labels=tuple(rng.choice(["negative", "positive"], documents).tolist()),
        predictions=tuple(rng.choice(["negative", "positive"], documents).tolist()),
        columns=columns(documents, honesty, rng),
        evidence=evidence(honesty, rng),
        shown=(
            shown("a typical document: its comprehensiveness is the median", 1, REVIEW, rng),
            shown("attention misleads most here: erasing its top words changes nothing", 0,
                  hostile, rng),
        ),
        instead=(
            "Show leave-one-out instead: erasing its top words lowers the probability by 0.41 "
            "[0.38, 0.44], attention's by 0.21 [0.18, 0.24]."
        ),
        single_words=3,
        available=1725,
        about={
            "name": "bilstm",
            "data": "sst2_jw, test part",
            "encoder": "bilstm",
            "judged_as": "classifier",
            "accuracy": 0.831,
            "labels": ["negative", "positive"],
        },
        settings={"permutations": 100, "seed": 0, "search": {"steps": 500, "candidates": 5},
                  "fractions": [0.01, 0.05, 0.1, 0.2, 0.5]},
        calibration=POINTS,
    )  # fmt: skip


def hostile_audit() -> Audit:
    """Every text that a stranger may choose is hostile: labels, names, words, reasons."""
    from dataclasses import replace

    audit = made_audit()
    labels = [f"{HOSTILE[0]} label", f"{HOSTILE[1]} label"]
    return replace(
        audit,
        labels=tuple(labels[n % 2] for n in range(audit.documents)),
        predictions=tuple(labels[n % 2] for n in range(audit.documents)),
        shown=tuple(replace(one, label=labels[0], prediction=labels[1]) for one in audit.shown),
        about={HOSTILE[0]: " ".join(HOSTILE), "name": HOSTILE[1]},
        settings={HOSTILE[4]: {"inner": " ".join(HOSTILE)}},
        instead=" ".join(HOSTILE),
        evidence=audit.evidence
        | {"words": tuple({**row, "kind": labels[0]} for row in audit.evidence["words"])},
    )
