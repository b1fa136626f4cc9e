"""Figures of the analyses, drawn from made-up rows of the shapes that analyses give."""

import numpy as np
import pandas as pd

from heedful import plots

KINDS = ("negative", "positive", "neutral")


def analysis_figures() -> dict[str, plots.Figure]:
    rng = np.random.default_rng(0)
    epochs = range(31)
    words = pd.DataFrame(
        {"epoch": epoch, "kind": kind, "polarity": rng.normal(), "attention_score": rng.normal()}
        | {term: rng.normal() / 1000 for term in ("A", "A_map", "B", "C", "D", "E", "F")}
        for epoch in epochs
        for kind in KINDS
    )
    numbers = pd.DataFrame(
        {"epoch": epoch, "query_times_output": -epoch, "output_squared": epoch**0.5}
        | {"average_beta": 1 / (1 + epoch), "dev_accuracy": np.nan if epoch == 0 else 0.8}
        for epoch in epochs
    )
    dots = pd.DataFrame(
        {"epoch": epoch, "words": first, "with": second, "dot_product": epoch * rng.normal()}
        for epoch in epochs
        for first in KINDS
        for second in KINDS
        if first <= second
    )
    pairs = pd.DataFrame(
        {
            "words": first,
            "with": second,
            "dot_product": rng.normal(),
            "share_positive": rng.random(),
        }
        for first in KINDS
        for second in KINDS
    )
    trainings = pd.DataFrame(
        {"ratio": ratio, "seed": seed, "query_times_output": rng.normal()}
        for ratio in ("1:1", "1:5", "2:1")
        for seed in (1, 2)
    )
    scores = pd.DataFrame(
        {
            "word": f"word{n}",
            "kind": KINDS[n % 3],
            "occurrences": n + 1,
            **{
                f"{where}_{what}": rng.normal()
                for where in ("local", "global")
                for what in ("attention_score", "polarity")
            },
        }
        for n in range(30)
    )
    shares = pd.DataFrame(
        {"of": of, "share_of_entropy": share, "share_of_entropy_low": share - 0.02}
        | {"share_of_entropy_high": share + 0.02}
        for of, share in (("embeddings", 0.9), ("states", 0.6), ("states, shuffled", 0.3))
    )
    places = pd.DataFrame(
        {"x": rng.normal(), "y": rng.normal(), "label": str(n % 9), "prediction": str(n % 8)}
        for n in range(60)
    )
    figures = pd.DataFrame(
        {"documents_are": polarity, "k": k, "average": average}
        | {
            name + end: 0.5 + add
            for name in ("precision", "recall", "f1")
            for end, add in (("", 0.0), ("_low", -0.1), ("_high", 0.1))
        }
        | {f"random_{name}": 0.1 for name in ("precision", "recall", "f1")}
        for polarity in ("positive", "negative")
        for k in (1, 5)
        for average in ("micro", "macro")
    )
    curve = pd.DataFrame(
        {"k": k, "by": by, "judge_accuracy": 0.85}
        | {
            name + end: share + k / 50 + add
            for name in ("accuracy_drop", "kept_gold")
            for end, add in (("", 0.0), ("_low", -0.05), ("_high", 0.05))
        }
        for k in (1, 2, 5, 10)
        for by, share in (("attention", 0.4), ("random", 0.1))
    )
    ends = pd.DataFrame(
        {"iteration": n, "role": role, "dev_accuracy": 0.8, "attention_entropy": 0.9 - n / 10}
        for n in (1, 2, 3)
        for role in ("learner", "compressor")
    )
    agreement = pd.DataFrame(
        {"prediction": KINDS[n % 3], "tau_gradient": rng.uniform(-1, 1), "p_gradient": 0.5}
        | {"tau_leave-one-out": np.nan if n == 0 else rng.uniform(0, 1)}
        for n in range(60)
    )
    arms = pd.DataFrame(
        {"arm": arm, "seed": seed, "accuracy": 0.6, "majority_accuracy": 0.5}
        | ({"low": 0.55, "high": 0.65} if seed is None else {})
        for arm in ("ordinary", "learned", "random")
        for seed in (None, 1, 2)
    )
    masks = pd.DataFrame(
        {"arm": arm, "seed": seed, "label": label, "token": token, "mean_weight": 0.25}
        for arm in ("learned", "random")
        for seed in (1, 2)
        for label in KINDS[:2]
        for token in (1, 2, 3, 4)
    )
    return {
        "arm_accuracies": plots.arm_accuracies(arms),
        "mask_by_label": plots.mask_by_label(masks),
        "agreement_by_class": plots.agreement_by_class(agreement),
        "flow_terms": plots.flow_terms(words),
        "flow_scores": plots.flow_scores(words),
        "flow_numbers": plots.flow_numbers(numbers),
        "dot_product_curves": plots.dot_product_curves(dots),
        "dot_products": plots.dot_products(pairs),
        "label_imbalance": plots.label_imbalance(trainings),
        "local_against_global": plots.local_against_global(scores),
        "information": plots.information(shares),
        "sentence_vectors": plots.sentence_vectors(places),
        "word_sentiment": plots.word_sentiment(figures),
        "deletion": plots.deletion(curve),
        "iterations": plots.iterations(ends),
    }
