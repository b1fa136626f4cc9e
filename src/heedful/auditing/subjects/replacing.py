"""A judge that puts an unknown word where the subject would leave a word out.

A text with words deleted is shorter than what a model was trained on, one with unknown words is as
long and has holes. What is true of a picture should hold under both.
"""

from functools import partial

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.subjects.base import Judge, Probabilities, Reading, Subject
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources


class Replacing(Judge):
    """A subject that reads a replacement for every word that is not kept."""

    def __init__(self, subject: Subject, replacement: str) -> None:
        self.subject = subject
        self.replacement = replacement
        self.smallest = subject.smallest  # type: ignore[misc]

    def judged(self, reading: Reading) -> Probabilities:
        """As the reading has them."""
        return reading.probabilities

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the texts with the other words replaced."""
        replace = partial(replaced, replacement=self.replacement)
        return self.subject.predict_texts(reading.written(document, is_kept, replace))


def replaced(
    text: str,
    offsets: Int[ndarray, "words 2"],
    is_kept: Bool[ndarray, " words"],
    replacement: str,
) -> str:
    """The text with a replacement for each word that is not kept.

    A replacement made of letters gets a space where it would run into the next letter or digit:
    without "!", "great!" is "great unknown", since "greatunknown" would lose "great" too.
    """
    written, end_before, kept_before = "", 0, True
    for (start, end), kept in zip(offsets.tolist(), is_kept.tolist(), strict=True):
        written += text[end_before:start]
        word = text[start:end] if kept else replacement
        touches = start == end_before and not (kept and kept_before)
        runs_into = touches and written[-1:].isalnum() and word[:1].isalnum()
        written += f" {word}" if runs_into else word
        end_before, kept_before = end, kept
    return written + text[end_before:]


def randomly_replaced(
    text: str, offsets: Int[ndarray, "words 2"], replacement: str, rng: np.random.Generator
) -> str:
    """The text with a replacement for a random share of its words: none to all of them."""
    is_kept = rng.random(len(offsets)) >= rng.random()
    return replaced(text, offsets, is_kept, replacement)
