"""Words tied to a label and words tied to none, by how often each label's documents use them.

Sun & Lu 2020 call words positive, negative or neutral by their counts in training documents.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.text.vocabulary import Encoded

POLAR_LEAN = 0.5  # |lean| above this, and
POLAR_COUNT = 5  # more occurrences than this under the label: a polar word
NEUTRAL_LEAN = 0.1  # |lean| below this, and
NEUTRAL_DIFFERENCE = 5  # counts closer than this: a neutral word
POLAR_SHARE = 0.6  # with more than two labels: the largest share above this is polar


@dataclass(frozen=True)
class TokenClasses:
    """Word numbers by class: `polar[k]` lean to label k; all others are in no class."""

    polar: tuple[Int[ndarray, " _"], ...]
    neutral: Int[ndarray, " _"]

    @property
    def counts(self) -> tuple[int, ...]:
        """Words per label, then neutral ones."""
        return (*(len(words) for words in self.polar), len(self.neutral))


def label_counts(
    documents: Encoded, labels: Int[ndarray, " documents"], classes: int, vocabulary: int
) -> Int[ndarray, "classes vocabulary"]:
    """How often each word occurs in the documents of each label, every occurrence counted."""
    label_of_word = np.repeat(labels, documents.lengths)
    flat = np.bincount(
        label_of_word * vocabulary + documents.token_ids, minlength=classes * vocabulary
    )
    return flat.reshape(classes, vocabulary)


def classify_tokens(counts: Int[ndarray, "labels vocabulary"]) -> TokenClasses:
    """Sun & Lu's classes from counts per label; label 1 is the positive one of two.

    lean = (f1 - f0) / (f1 + f0)
    positive: lean > 0.5 and f1 > 5; negative: lean < -0.5 and f0 > 5;
    neutral: |lean| < 0.1 and |f1 - f0| < 5

    The paper prints open intervals (0.5, 1); its own counts come out only when words that occur
    under one label alone (lean of exactly 1 or -1) are included. With more than two labels the
    paper gives no threshold. Here a word is polar when its most frequent label has more than 0.6 of
    its occurrences and more than 5, and neutral when no label has more than 0.1 above an equal
    share and counts differ by less than 5.
    """
    total = counts.sum(axis=0)
    highest = counts.max(axis=0)
    spread = highest - counts.min(axis=0)
    share = counts / np.maximum(total, 1)
    if len(counts) == 2:
        lean = share[1] - share[0]
        polar = [(lean < -POLAR_LEAN), (lean > POLAR_LEAN)]
        is_level = np.abs(lean) < NEUTRAL_LEAN
    else:
        polar = list(share > POLAR_SHARE)
        is_level = share.max(axis=0) < 1 / len(counts) + NEUTRAL_LEAN
    is_neutral = (total > 0) & is_level & (spread < NEUTRAL_DIFFERENCE)
    return TokenClasses(
        polar=tuple(
            np.flatnonzero(leans & (count > POLAR_COUNT))
            for leans, count in zip(polar, counts, strict=True)
        ),
        neutral=np.flatnonzero(is_neutral),
    )
