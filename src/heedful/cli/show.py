"""What commands show: notes and progress on standard error, results on standard output."""

import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from rich.console import Console
from rich.text import Text

from heedful.training.progress import percent

if TYPE_CHECKING:
    from heedful.importance.explanation import Explanation
    from heedful.training.trained import Trained


def note(sentence: str) -> None:
    """A sentence on standard error."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)


def result(line: str | Text) -> None:
    """A line of the answer on standard output."""
    Console(soft_wrap=True, highlight=False).print(line, markup=False)


def as_json(value: Any) -> None:
    """The answer for machines: one JSON value per line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def one_line(text: str) -> str:
    """The text without line ends, tabs or anything else that steers a terminal."""
    return " ".join(one_for_one(text).split())


def score_line(trained: "Trained") -> str:
    """The most honest score there is, in a sentence."""
    part = "test" if "test" in trained.metrics else "dev"
    if part not in trained.metrics:
        return "no documents were kept aside, so there is no score"
    scores = trained.metrics[part]
    low, high = (percent(bound) for bound in scores["accuracy_interval"])
    chosen = "" if part == "test" else " (which also chose the epoch, so it flatters)"
    return (
        f"{part} accuracy {percent(scores['accuracy'])} on {scores['documents']:,} documents"
        f"{chosen}; 95% interval {low} to {high}; "
        f"always the commonest label: {percent(scores['majority_accuracy'])}"
    )


ORANGE, BLUE = (255, 150, 40), (90, 160, 255)  # told apart by every kind of colour vision
GREY = (150, 150, 150)  # no strength: stands out neither on a dark nor on a light terminal


def shaded(text: str, offsets: Int[ndarray, "words 2"], scores: Float[ndarray, " words"]) -> Text:
    """The text with each word's background as strong as its score; the largest is full.

    Orange above zero, blue below.
    """
    largest = np.abs(scores).max(initial=0.0) or 1.0
    line = Text(one_for_one(text))
    for (start, end), score in zip(offsets.tolist(), scores.tolist(), strict=True):
        strength = abs(score) / largest
        if strength >= 0.1:
            full = ORANGE if score > 0 else BLUE
            red, green, blue = (
                round(weak + strength * (tone - weak))
                for weak, tone in zip(GREY, full, strict=True)
            )
            line.stylize(f"black on rgb({red},{green},{blue})", start, end)
    return line


def one_for_one(text: str) -> str:
    """The text with what steers a terminal replaced by as many blanks, so that offsets hold."""
    return "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in text)


def strongest(words: Sequence[str], scores: Float[ndarray, " words"], count: int = 3) -> str:
    """The words furthest from zero with their scores, for where colours do not show."""
    places = np.argsort(-np.abs(scores), kind="stable")[:count].tolist()
    return " · ".join(f"{one_line(words[place])} {scores[place]:.2f}" for place in places)


def explained(explanation: "Explanation") -> Iterator[Text]:
    """Prediction, the text once per measure, and what deleting top words does."""
    probability = explanation.probabilities.max()
    yield Text(f"{one_line(str(explanation.prediction))} {probability:.3f}\n")
    width = max(map(len, explanation.scores))
    for measure, scores in explanation.scores.items():
        line = shaded(explanation.text, explanation.offsets, scores)
        yield Text(f"{measure:<{width}}  ") + line
        yield Text(f"{'':<{width}}  {strongest(explanation.words, scores)}", style="dim")
    if explanation.deletions:
        yield Text(
            f"\nprobability of {one_line(str(explanation.prediction))} without the top words"
        )
    for deletion in explanation.deletions:
        gone = one_line(" · ".join(deletion.words))
        yield Text(f"{deletion.measure:<{width}}  {deletion.probability:.3f}  without {gone}")
