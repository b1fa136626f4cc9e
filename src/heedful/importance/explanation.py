"""One text explained: the prediction, the scores of each measure, and a check by deletion.

An explanation shows several measures because they disagree, and says what happens to the prediction
when the words that each measure ranks first are deleted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.errors import ConfigError, DataError
from heedful.importance.base import Measure, ready
from heedful.model.classifier import AttentionClassifier
from heedful.model.precision import in_full
from heedful.model.word_subsets import logits_of_kept
from heedful.text.documents import only_words
from heedful.training.task import Label
from heedful.training.trained import Trained

ATTENTION = "attention"
USUAL_MEASURES = (ATTENTION, "contribution", "gradient-x-input", "leave-one-out")
NO_WORDS = "the text contains no words, so there is nothing to explain."
IsKept = Bool[ndarray, "variants words"]
DELETED = (1, 2, 3)  # how many top words are deleted


@dataclass(frozen=True)
class Deletion:
    """The prediction without the words that a measure ranks first."""

    measure: str
    words: tuple[str, ...]
    probability: float  # of the class that the whole text was given


@dataclass(frozen=True, repr=False)
class Explanation:
    """Scores of each measure for each word of a text."""

    text: str
    offsets: Int[ndarray, "words 2"]
    classes: tuple[Label, ...]
    probabilities: Float[ndarray, " classes"]
    scores: dict[str, Float[ndarray, " words"]]  # by measure; positive speaks for the prediction
    deletions: tuple[Deletion, ...]
    withheld: str = ""  # why there are no scores, in a sentence; empty where there are
    shown: bool | None = None  # whether its heat map of attention may be shown; None: not audited
    why: str = ""  # in a sentence: what guarantees it, or why the heat map is withheld
    unsigned: tuple[str, ...] = (ATTENTION,)  # measures that do not say which side a word is on

    @property
    def words(self) -> list[str]:
        """The words as they are written in the text."""
        return [self.text[start:end] for start, end in self.offsets.tolist()]

    @property
    def drawn(self) -> dict[str, Float[ndarray, " words"]]:
        """The scores that are drawn as heat maps: all except withheld attention."""
        is_withheld = self.shown is False
        return {m: s for m, s in self.scores.items() if not (is_withheld and m == ATTENTION)}

    @property
    def drawn_deletions(self) -> tuple[Deletion, ...]:
        """Deletions by what is drawn: the top words of a withheld heat map would give it away."""
        return tuple(deletion for deletion in self.deletions if deletion.measure in self.drawn)

    @property
    def prediction(self) -> Label:
        """The class that the text is given."""
        return self.classes[int(self.probabilities.argmax())]

    def _repr_html_(self) -> str:
        """The text in colour, in a notebook."""
        from heedful.notebook import explanation_view

        return explanation_view(self)

    def __repr__(self) -> str:
        probability = float(self.probabilities.max())
        measures = ", ".join(self.scores) or "withheld"
        return f"<Explanation of {self.prediction!r} ({probability:.3f}): {measures}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        by_class = zip(self.classes, self.probabilities.tolist(), strict=True)
        return {
            "text": self.text,
            "prediction": self.prediction,
            "probabilities": {str(label): share for label, share in by_class},
            **({"withheld": self.withheld} if self.withheld else {}),
            "shown": self.shown,
            "why": self.why,
            "words": [
                {"word": word, "start": start, "end": end}
                | {measure: float(scores[place]) for measure, scores in self.scores.items()}
                for place, (word, (start, end)) in enumerate(
                    zip(self.words, self.offsets.tolist(), strict=True)
                )
            ],
            "deletions": [
                {"measure": d.measure, "words": list(d.words), "probability": d.probability}
                for d in self.deletions
            ],
        }


@in_full()
def explain(
    trained: Trained, text: str, measures: Sequence[Measure] = USUAL_MEASURES
) -> Explanation:
    """Explain the class that `trained` gives a text, unless its heat map is withheld."""
    model = trained.model
    if not isinstance(model, AttentionClassifier):
        raise ConfigError(
            "an explanation needs attention, and this classifier has none: it was built with "
            f"pooling = {trained.settings.model.pooling!r}."
        )
    batches = trained.batches([text])
    if not len(batches.documents[0]):
        raise DataError(NO_WORDS)
    batch = next(batches.by_length())
    decided = trained.decisions([text])
    probabilities, (withheld,) = decided.probabilities[0], decided.withheld
    offsets = trained.tokenizer.offsets(text)
    explanation = Explanation(text, offsets, trained.classes, probabilities, {}, (), withheld)
    asked = ready(measures)  # also of a text without scores: a wrong name is an error
    if withheld:
        return explanation
    target = torch.tensor([int(probabilities.argmax())], device=trained.device)
    scores = {name: one(model, batch, target)[0].cpu().numpy() for name, one in asked.items()}
    unsigned = tuple(name for name, one in asked.items() if not one.is_signed)
    explanation = replace(explanation, scores=scores, unsigned=unsigned)

    def predict_kept(is_kept: IsKept) -> Float[ndarray, "variants classes"]:
        if trained.original is not None:  # it decides, so it is asked
            return trained.probabilities([only_words(text, offsets, kept) for kept in is_kept])
        documents = np.zeros(len(is_kept), dtype=np.int64)
        logits = logits_of_kept(model, batch, documents, is_kept)
        return logits.softmax(dim=-1).cpu().numpy()

    return with_deletions(explanation, predict_kept)


def with_deletions(
    explanation: Explanation, predict_kept: Callable[[IsKept], Float[ndarray, "variants classes"]]
) -> Explanation:
    """The explanation with the prediction without the top one, two and three words of each measure.

    `predict_kept` gives the probabilities of the text with only some of its words left.
    """
    words, target = explanation.words, int(explanation.probabilities.argmax())
    plans = [
        (measure, np.argsort(-scores, kind="stable")[:count])
        for measure, scores in explanation.scores.items()
        for count in DELETED
        if count < len(words)
    ]
    if not plans:
        return explanation
    is_kept = np.ones((len(plans), len(words)), dtype=bool)
    for row, (_, top) in enumerate(plans):
        is_kept[row, top] = False
    deletions = tuple(
        Deletion(measure, tuple(words[place] for place in top), float(row[target]))
        for (measure, top), row in zip(plans, predict_kept(is_kept), strict=True)
    )
    return replace(explanation, deletions=deletions)
