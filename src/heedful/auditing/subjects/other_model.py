"""Another model as judge: what it predicts when the words that a subject points at go.

Zhou et al. 2021 judge attention by a twin without any, trained apart. The two may cut texts
differently, so a word of the judge goes when the subject's words that cover it all go.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful import runs
from heedful.auditing.subjects.base import Judge, Probabilities, Reading
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.errors import ConfigError
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.model.word_subsets import logits_of_kept
from heedful.text.batching import Batch
from heedful.text.documents import only_words
from heedful.training.task import Label
from heedful.training.trained import Trained


class TrainedJudge(Judge):
    """A trained classifier, with or without attention, that knows the subject's classes."""

    def __init__(self, trained: Trained, classes: tuple[Label, ...]) -> None:
        if tuple(map(str, trained.classes)) != tuple(map(str, classes)):
            raise ConfigError(
                "the judge must have the same labels as the audited model: it has "
                f"{', '.join(map(str, trained.classes))}, the model {', '.join(map(str, classes))}."
            )
        self.trained = trained
        self._read = lru_cache(maxsize=2)(self._read_texts)  # of the group in hand

    def judged(self, reading: Reading) -> Probabilities:
        """Probabilities of the whole documents."""
        return self.trained.probabilities(reading.texts).astype(np.float64)

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the documents without the judge's words that fell to the deletion."""
        batch, offsets = self._read(reading.texts)
        kept = np.ones((len(document), batch.is_token.shape[1]), dtype=bool)
        for number in np.unique(document).tolist():
            covers = _overlaps(offsets[number], reading.offsets[number])
            rows = document == number
            of_words = is_kept[rows][:, : covers.shape[1]]
            is_covered = covers.any(axis=1)
            is_left = (of_words @ covers.T.astype(np.int64)) > 0
            kept[np.ix_(rows, np.arange(len(covers)))] = is_left | ~is_covered
        logits = logits_of_kept(self.trained.model, batch, document, kept)
        return logits.double().softmax(dim=-1).cpu().numpy()

    def _read_texts(
        self, texts: tuple[str, ...]
    ) -> tuple[Batch, tuple[Int[ndarray, "words 2"], ...]]:
        offsets = tuple(self.trained.tokenizer.offsets(text) for text in texts)
        return self.trained.batches(texts).whole(), offsets


class OriginalJudge(Judge):
    """The model that a healed run decides by, asked about the texts without the deleted words."""

    def __init__(self, original: SequenceClassifier) -> None:
        self.original = original

    def judged(self, reading: Reading) -> Probabilities:
        """Probabilities of the whole documents."""
        return self.original.probabilities(reading.texts).astype(np.float64)

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of the texts written without the other words."""
        written = reading.written(document, is_kept, only_words)
        return self.original.probabilities(written).astype(np.float64)


def _overlaps(
    own: Int[ndarray, "words 2"], others: Int[ndarray, "others 2"]
) -> Bool[ndarray, "words others"]:
    """Which words share characters."""
    return (own[:, None, 0] < others[None, :, 1]) & (own[:, None, 1] > others[None, :, 0])


def judge_named(judge: str, trained: Trained, device: str) -> Judge | None:
    """Whose predictions an audit of a run looks at: nobody else's, another run's, or the original's
    of a healed run."""
    if judge == runs.ORIGINAL and trained.original is not None:
        return OriginalJudge(trained.original)
    return None if judge == "self" else TrainedJudge(Trained.load(judge, device), trained.classes)
