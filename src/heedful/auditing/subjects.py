"""Who can be audited: our own classifier, a liar, and any function with weights beside it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.erasing import leave_one_out, shared_importance
from heedful.auditing.subject import (
    Attentions,
    Decides,
    KnowsWords,
    Probabilities,
    Reading,
    ShowsStates,
    States,
    Subject,
    Words,
)
from heedful.counterfactual import Counterfactual
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError, DataError, counted
from heedful.importance import importances
from heedful.importance.influence import influence
from heedful.importance.kept import logits_of_kept
from heedful.importance.measure import Measure, ready
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.model.digest import weights_digest
from heedful.model.precision import Precision, Rounded
from heedful.model.pretrained import PretrainedEncoder
from heedful.text.documents import fingerprints
from heedful.text.token_classes import classify_tokens
from heedful.text.vocabulary import SPECIAL_WORDS
from heedful.training.task import Label
from heedful.training.trained import Exposure, Trained, WordWeights

NOISE = 3.0  # of a decoration's scores: what Jain & Wallace start their adversary from


class ClassifierSubject(Decides, ShowsStates, KnowsWords):
    """A trained attention classifier, with further measures of importance where some are given."""

    def __init__(
        self,
        trained: Trained,
        measures: Sequence[Measure] = (),
        precision: Precision = "auto",
    ) -> None:
        if not isinstance(trained.model, AttentionClassifier):
            raise ConfigError(
                "an audit asks about attention, and this classifier has none: it was built with "
                f"pooling = {trained.settings.model.pooling!r}."
            )
        self.trained = trained
        self.model: AttentionClassifier = trained.model
        self._precision = precision
        self._measures = ready([*importances, *measures])
        self.measures = tuple(self._measures)
        self.classes = trained.classes
        self.vocabulary = trained.tokenizer.words
        self.token_classes = classify_tokens(trained.label_counts)
        self._is_pretrained = isinstance(self.model.encoder, PretrainedEncoder)
        gains = self._is_pretrained and trained.device.type == "cuda"
        self._rounded = Rounded(is_wanted=gains and precision == "auto")
        self._memory_notes: dict[str, None] = {}  # each once, in order

    @property
    def notes(self) -> Sequence[str]:
        """Whether texts were rounded, and whether memory sufficed."""
        return [*self._rounded.notes, *self._memory_notes]

    @property
    def reads_side_by_side(self) -> bool:
        """On a CPU, where small steps gain more from it than from many threads each.

        Further measures may hang on to the model while they work, so they go one after the other.
        """
        has_further = len(self.measures) > len(importances)
        return self.trained.device.type == "cpu" and not has_further

    @property
    def identity(self) -> dict[str, object]:
        """The weights, and how exactly they are computed with."""
        return {"model": weights_digest(self.model), "precision": self._precision}

    def describe(self) -> dict[str, object]:
        """What the model is and how it scored on its own test part."""
        return self.trained.describe()

    def exposure(self, texts: Sequence[str]) -> Exposure:
        """Which texts it was trained on, and which chose its best epoch."""
        return self.trained.exposure(texts)

    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities of some texts."""
        batches = self.trained.batches(texts)
        batch = batches.whole()
        with torch.no_grad():
            trace = self.model(batch)
        return Reading(
            texts=tuple(texts),
            is_token=batch.is_token.cpu().numpy(),
            weights=trace.weights.double().cpu().numpy(),
            probabilities=trace.logits.double().softmax(dim=-1).cpu().numpy(),
            offsets=tuple(self.trained.tokenizer.offsets(text) for text in texts),
            inner=(batch, trace),
            cut=batches.documents.cut,
        )

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """Probabilities of shortened documents, the deleted words physically gone."""
        batch, _ = reading.inner

        def run(rows: Int[ndarray, " rows"]) -> Float[ndarray, "rows classes"]:
            logits = logits_of_kept(self.model, batch, document[rows], is_kept[rows], self._note)
            return logits.double().softmax(dim=-1).cpu().numpy()

        return self._rounded.read(run, len(document))

    def _note(self, note: str) -> None:
        self._memory_notes[note] = None

    def importance(self, reading: Reading, measure: str) -> Words:
        """Signed importance of each word for the prediction."""
        if measure == "leave-one-out" and self._is_pretrained:
            return leave_one_out(self, reading)  # no shortcut is lost, and bf16 may be gained
        batch, _ = reading.inner
        target = torch.from_numpy(reading.prediction).to(batch.labels)
        measured = self._measures.get(measure) or importances.make(measure)
        scores = measured(self.model, batch, target)
        return scores.double().cpu().numpy()

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights."""
        _, trace = reading.inner
        weights = torch.tensor(attentions).to(trace.hidden)
        with torch.inference_mode():
            logits = decide_many(self.model, trace.hidden, weights)
            return logits.double().softmax(dim=-1).cpu().numpy()

    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities of a zero context."""
        return self.decide(reading, np.zeros_like(reading.weights)[:, None])[:, 0]

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """What the counterfactual makes of the shown weights."""
        batch, trace = reading.inner
        shown = replace(trace, weights=torch.tensor(reading.weights).to(trace.weights))
        rng = torch.Generator().manual_seed(seed)
        return counterfactual(self.model, shown, batch, rng).double().cpu().numpy()

    def word_ids(self, reading: Reading) -> Int[ndarray, "documents words"]:
        """Places in the vocabulary; padding, unknown words and numbers have none."""
        batch, _ = reading.inner
        ids = batch.token_ids.cpu().numpy()
        return np.where(ids >= len(SPECIAL_WORDS), ids, -1)

    def states(self, reading: Reading) -> dict[str, States]:
        """Embeddings, states, and those of the same encoder as it was before training."""
        batch, trace = reading.inner
        with torch.inference_mode():
            untrained = self._untrained.encoder(trace.embedded, batch.is_token)
        embedded = self.model.pooled_vectors(trace.embedded)
        seen = {"embedded": embedded, "hidden": trace.hidden, "untrained": untrained}
        return {name: states.float().cpu().numpy() for name, states in seen.items()}

    def influence(self, reading: Reading) -> Float[ndarray, "documents words words"]:
        """Shares of gradient lengths; see `importance.influence`."""
        batch, _ = reading.inner
        return influence(self.model, batch).double().cpu().numpy()

    @cached_property
    def _untrained(self) -> AttentionClassifier:
        """The same parts with other random numbers in them."""
        model = self.trained.untrained(seed=self.trained.settings.training.seed + 1)
        assert isinstance(model, AttentionClassifier)
        return model


class Decoration(Decides):
    """A subject that shows random weights beside the decisions of another: a known liar.

    Whatever weights one puts in its place, it decides as before.
    """

    def __init__(self, behind: Decides, seed: int = 0) -> None:
        self.behind = behind
        self.classes = behind.classes
        self.measures = behind.measures
        self.seed = seed

    @property
    def reads_side_by_side(self) -> bool:
        """As the other subject."""
        return self.behind.reads_side_by_side

    def read(self, texts: Sequence[str]) -> Reading:
        """The other subject's words and decisions, with weights that a text and the seed decide."""
        reading = self.behind.read(texts)
        noise = np.zeros_like(reading.weights)
        for row, number in enumerate(fingerprints(texts).tolist()):
            rng = np.random.default_rng([self.seed, number % 2**32])
            noise[row] = NOISE * rng.standard_normal(noise.shape[1])
        weights = np.exp(noise) * reading.is_token
        total = weights.sum(axis=1, keepdims=True)
        return replace(reading, weights=weights / np.maximum(total, 1e-300))

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """As the other subject."""
        return self.behind.predict_kept(reading, document, is_kept)

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """The same probabilities, whatever the weights."""
        count = attentions.shape[1]
        return np.repeat(reading.probabilities[:, None], count, axis=1)

    def without_evidence(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.without_evidence(reading)

    def importance(self, reading: Reading, measure: str) -> Words:
        """As the other subject, except for attention, which is what is shown."""
        return (
            reading.weights if measure == "attention" else self.behind.importance(reading, measure)
        )

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """As the other subject; an adversary, whom nothing holds back, takes the farthest there is.

        That is all on the word with the least weight.
        """
        if not isinstance(counterfactual, Adversarial):
            return self.behind.otherwise(reading, counterfactual, seed)
        least = np.where(reading.is_token, reading.weights, np.inf).argmin(axis=1)
        return np.eye(reading.weights.shape[1])[least][:, None]


class PlainSubject(Subject):
    """Any function from texts to probabilities, with weights shown beside it.

    `attend` gives the words of each text, as places in it, and their weights. A word is deleted by
    writing the text without it, so leave-one-out is the one measure of importance there is.
    """

    measures = ("attention", "leave-one-out")

    def __init__(
        self,
        predict: Callable[[list[str]], Probabilities],
        attend: Callable[[list[str]], list[WordWeights]],
        classes: Sequence[Label],
    ) -> None:
        self.predict = predict
        self.attend = attend
        self.classes = tuple(classes)

    def read(self, texts: Sequence[str]) -> Reading:
        """What the two functions say."""
        shown = _checked_weights(self.attend(list(texts)), texts)
        longest = max((len(words.weights) for words in shown), default=0)
        weights = np.zeros((len(texts), max(1, longest)))
        is_token = np.zeros(weights.shape, dtype=bool)
        for row, words in enumerate(shown):
            weights[row, : len(words.weights)] = words.weights
            is_token[row, : len(words.weights)] = True
        probabilities = self._predict(list(texts))
        offsets = tuple(words.offsets for words in shown)
        return Reading(tuple(texts), is_token, weights, probabilities, offsets)

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """The function on the kept words, one blank between two."""
        shortened = []
        for number, kept in zip(document.tolist(), is_kept, strict=True):
            text, offsets = reading.texts[number], reading.offsets[number]
            spans = offsets[kept[: len(offsets)]].tolist()
            shortened.append(" ".join(text[start:end] for start, end in spans))
        return self._predict(shortened)

    def _predict(self, texts: list[str]) -> Probabilities:
        found = np.asarray(self.predict(texts))
        wanted = (len(texts), len(self.classes))
        if found.shape != wanted or not np.issubdtype(found.dtype, np.number):
            raise DataError(
                f"predict should give one row of {len(self.classes)} probabilities per text; for "
                f"{counted(len(texts), 'text')} it gave {found.dtype} of shape {found.shape}."
            )
        found = found.astype(np.float64)
        if not (found >= 0).all() or not np.allclose(found.sum(axis=1), 1, atol=1e-3):
            raise DataError("predict should give probabilities: rows of numbers that sum to 1.")
        return found

    def importance(self, reading: Reading, measure: str) -> Words:
        """The shown weights, or how far the probability falls without each word."""
        shared = shared_importance(self, reading, measure, "a plain function")
        assert shared is not None  # it has no other measure
        return shared


def _checked_weights(shown: object, texts: Sequence[str]) -> list[WordWeights]:
    """What `attend` gave, if it is one `WordWeights` per text that fits it."""
    if not isinstance(shown, list) or len(shown) != len(texts):
        raise DataError(f"attend should give a list of {counted(len(texts), 'WordWeights')}.")
    for words, text in zip(shown, texts, strict=True):
        if not isinstance(words, WordWeights):
            raise DataError(f"attend should give WordWeights, not {type(words).__name__}.")
        offsets, weights = np.asarray(words.offsets), np.asarray(words.weights)
        is_inside = (offsets[:, 0] >= 0) & (offsets[:, 0] < offsets[:, 1])
        if len(offsets) != len(weights) or not (is_inside & (offsets[:, 1] <= len(text))).all():
            raise DataError(
                f"attend should give a weight and a place for each word of the text {text!r:.60}."
            )
        if len(weights) and (
            not (weights >= 0).all() or not np.isclose(weights.sum(), 1, atol=1e-3)
        ):
            raise DataError(
                f"weights should be positive and sum to 1 over a text; those of {text!r:.60} sum "
                f"to {weights.sum():.3g}."
            )
    return shown
