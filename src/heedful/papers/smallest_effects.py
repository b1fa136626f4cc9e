"""The smallest effect that matters, for each kind of measure, and why.

A difference whose whole interval lies inside it is too small to matter, whatever its sign. Where
no such size can be stated, because the measure has no unit outside its run, there is none.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from heedful.papers.expected import Number


@dataclass(frozen=True)
class Kind:
    """A kind of measure: the columns that hold it, and the smallest effect that matters."""

    name: str
    columns: tuple[str, ...]  # patterns, as in a shell
    smallest: float | None  # in the unit that claims are stated in
    why: str


TREND = Kind(
    "trend (tau-b)",
    (),
    0.13,
    "over six settings, one of their 15 pairs ordered otherwise changes tau by 0.13",
)
KINDS = (
    Kind(
        "accuracy (points)",
        (
            *("accuracy", "*.accuracy", "*_accuracy", "accuracy_drop", "kept_gold", "*accuracy*"),
            "*.FS-*",
            "*.FU-*",
        ),
        1.0,
        "the standard error of an accuracy of 85% on 1,300 documents, a usual test part here",
    ),
    Kind(
        "F1 (points)",
        ("f1", "f1_gain", "*.token_f1.*"),
        2.0,
        "one in fifty of the words that are marked",
    ),
    Kind(
        "share of attention (points)",
        ("mass",),
        1.0,
        "a fifth of what a word gets in a text of 20 words under uniform attention",
    ),
    Kind(
        "rank correlation (tau)",
        ("tau", "tau_support"),
        0.05,
        "in a text of 20 words, 5 of its 190 pairs of words ranked otherwise",
    ),
    Kind(
        "change of probability (TVD)",
        ("tvd", "*.permutation.*", "*TVD*"),
        0.01,
        "one percent: what a reader of rounded probabilities does not see",
    ),
    Kind(
        "distance between attentions (JSD)",
        ("*JSD*", "jsd"),
        0.02,
        "3% of the largest possible, ln 2 = 0.69",
    ),
    Kind(
        "entropy or information (share of its maximum)",
        ("entropy", "*.entropy_of_influence.*", "*.mutual_information.*"),
        0.02,
        "2% of the range that the measure has",
    ),
    Kind(
        "attention score",
        ("local_attention_score", "attention_score_distance"),
        0.1,
        "it changes the ratio of two weights by 10%",
    ),
    Kind(
        "polarity score",
        ("local_polarity", "polarity"),
        0.1,
        "it moves a probability by at most 2.5 points",
    ),
    Kind(
        "split of attention scores (0 to 1)",
        ("attention_score_split",),
        0.05,
        "a twentieth of a full split",
    ),
    Kind(
        "ratio of two terms",
        ("A_over_B", "D_over_EF"),
        0.1,
        "one term a tenth of the other",
    ),
    Kind("silhouette", ("silhouette",), 0.02, "1% of its range from -1 to 1"),
    Kind(
        "weight of words",
        ("weight", "mean_weight", "median"),
        None,
        "none is stated: a weight depends on how many words a text has",
    ),
    Kind(
        "V · W",
        ("query_times_output",),
        None,
        "none is stated: it has no unit outside its run",
    ),
    Kind(
        "terms of gradient flow",
        ("A", "B", "C", "D", "E", "F", "D_by_sign"),
        None,
        "none is stated: a term is a step of one run, in that run's own unit",
    ),
)


def kind_of(number: Number) -> Kind | None:
    """The kind of a number; None if none is known, as of claims from older files."""
    if number.rises_with:
        return TREND
    for kind in KINDS:
        if any(fnmatchcase(number.column, pattern) for pattern in kind.columns):
            return kind
    return None
