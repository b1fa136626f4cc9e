"""Words by kind: those tied to each label, and neutral ones, under the names that tables show.

Word numbers of each kind -> means over kinds, and mean dot products between their embeddings.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.errors import DataError
from heedful.text.token_classes import TokenClasses
from heedful.training.task import Label

NEUTRAL = "neutral"
NO_KIND = ""
ZERO_AND_ONE = ("0", "1")

Vectors = Float[ndarray, "vocabulary embedding"]
Kinds = Mapping[str, Int[ndarray, " _"]]


def kind_names(classes: Sequence[Label]) -> tuple[str, ...]:
    """A name for each label: its own, but 0 and 1 are negative and positive, as in Sun & Lu."""
    names = tuple(str(label) for label in classes)
    names = ("negative", "positive") if names == ZERO_AND_ONE else names
    return tuple(f"label {name}" if name == NEUTRAL else name for name in names)


def words_by_kind(
    classes: Sequence[Label], token_classes: TokenClasses
) -> dict[str, Int[ndarray, " _"]]:
    """Word numbers of each kind, labels first; refused where there is no polar word at all."""
    names = kind_names(classes)
    if not any(map(len, token_classes.polar)):
        raise DataError(
            "no word of the training documents belongs to a label (more than 5 occurrences and "
            "more than three quarters of all of them under it; 0.6 with three labels or more), so "
            "kinds of words cannot be compared."
        )
    return {**dict(zip(names, token_classes.polar, strict=True)), NEUTRAL: token_classes.neutral}


def kind_of_words(kinds: Kinds, vocabulary: int) -> list[str]:
    """The kind of every word of a vocabulary; nothing for those of none."""
    names = np.full(vocabulary, NO_KIND, dtype=object)
    for kind, words in kinds.items():
        names[words] = kind
    return names.tolist()


def label_margins(
    values: Float[ndarray, "vocabulary outputs"],
) -> Float[ndarray, "vocabulary labels"]:
    """For each label, what is said for it less the mean of what is said for the others.

    This is the one meaning of polarity here, for any number of labels: scores to which the same is
    added for every label decide the same, and have the same margins. One output is the margin of
    the second of two labels already.
    """
    if values.shape[1] == 1:
        return np.concatenate([-values, values], axis=1)
    others = (values.sum(axis=1, keepdims=True) - values) / (values.shape[1] - 1)
    return values - others


def read_labels(
    margins: Float[ndarray, "vocabulary labels"], kinds: Kinds
) -> Int[ndarray, " vocabulary"]:
    """The label on which each word is read, for one polarity score per word.

    The second of two labels, so that polarity has a sign. Of more, the label that a word is tied
    to, or else the one that it speaks for most: the largest of its margins, 0 if there is none.
    """
    if margins.shape[1] == 2:
        return np.ones(len(margins), dtype=np.int64)
    label_of = margins.argmax(axis=1)
    for label, kind in enumerate(kind for kind in kinds if kind != NEUTRAL):
        label_of[kinds[kind]] = label
    return label_of


def mean_by_kind(values: Float[ndarray, " vocabulary"], kinds: Kinds) -> dict[str, float]:
    """Mean over the words of each kind that have a value; NaN where there are none."""
    means = {}
    for kind, words in kinds.items():
        known = values[words][~np.isnan(values[words])]
        means[kind] = float(known.mean()) if len(known) else float("nan")
    return means


def mean_with_others(
    vectors: Vectors, first: Int[ndarray, " first"], second: Int[ndarray, " second"]
) -> Float[ndarray, " first"]:
    """For each word of the first kind, its mean dot product with those of the second, not itself.

    mean_k e_i · e_k = e_i · (sum of the others) / their number; NaN where there are none
    """
    total = vectors[second].sum(axis=0)
    is_inside = np.isin(first, second)
    own = (vectors[first] ** 2).sum(axis=1) * is_inside
    others = len(second) - is_inside
    products = vectors[first] @ total - own
    return np.divide(products, others, out=np.full(len(first), np.nan), where=others > 0)


def mean_dot_products(vectors: Vectors, kinds: Kinds) -> list[dict[str, Any]]:
    """Rows words, with, dot_product: the mean over all pairs of different words of two kinds."""
    names, rows = list(kinds), []
    for place, first in enumerate(names):
        for second in names[place:]:
            of_words = mean_with_others(vectors, kinds[first], kinds[second])
            mean = float(of_words.mean()) if len(of_words) else float("nan")
            rows.append({"words": first, "with": second, "dot_product": mean})
    return rows
