"""A trained classifier of heedful under audit."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.subjects.base import (
    TEXTS_AT_ONCE,
    Attentions,
    Decides,
    KnowsWords,
    Probabilities,
    Reading,
    ShowsStates,
    States,
    Words,
)
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.counterfactual import Counterfactual
from heedful.errors import ConfigError
from heedful.importance.deletion import logits_without_each
from heedful.importance.influence import influence
from heedful.importance.inside import Inside
from heedful.importance.seen import Need
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.model.digest import weights_digest
from heedful.model.outputs import Output
from heedful.model.precision import Precision, Rounded, in_parts
from heedful.model.pretrained import PretrainedEncoder
from heedful.model.randomised import randomised
from heedful.model.word_subsets import logits_of_kept, reads_words_alone
from heedful.text.token_classes import classify_tokens
from heedful.text.vocabulary import SPECIAL_WORDS
from heedful.training.trained import Exposure, Trained

Rows = Int[ndarray, " rows"]
UNKNOWN = "unknown"  # repeated until no vocabulary has it
OF_TRANSFORMERS = {Need.LAYERS, Need.SUMS, Need.SHARED_BIASES}  # as Hugging Face keeps them
UNWRITTEN = "\ua66e"  # a letter of one manuscript, for which no tokenizer has a piece


class ClassifierSubject(Decides, ShowsStates, KnowsWords):
    """A trained attention classifier."""

    gives = frozenset(Need) - OF_TRANSFORMERS - {Need.HELD_LAYERS}
    architecture = "classifier"

    def __init__(
        self,
        trained: Trained,
        precision: Precision = "auto",
    ) -> None:
        if not isinstance(trained.model, AttentionClassifier):
            raise ConfigError(
                "an audit needs attention, and this classifier has none: it was built with "
                f"pooling = {trained.settings.model.pooling!r}."
            )
        self.trained = trained
        self.model: AttentionClassifier = trained.model
        self._precision = precision
        self.classes = trained.classes
        self.vocabulary = trained.tokenizer.words
        self.token_classes = classify_tokens(trained.label_counts)
        if isinstance(self.model.encoder, PretrainedEncoder):
            self.gives = frozenset(Need) - OF_TRANSFORMERS
        gains = isinstance(self.model.encoder, PretrainedEncoder) and trained.device.type == "cuda"
        self._rounded = Rounded(is_wanted=gains and precision == "auto")
        self._memory_notes: dict[str, None] = {}  # each once, in order

    @property
    def notes(self) -> Sequence[str]:
        """Who decides, whether texts were rounded, and whether memory sufficed."""
        return [*self._whose, *self._rounded.notes, *self._memory_notes]

    @property
    def _whose(self) -> Sequence[str]:
        """Whose decisions are audited, where another model decides."""
        original = self.trained.original
        if original is None:
            return ()
        return (
            f"{original.name} decides; the audit tests the decisions of the attention head trained "
            "on top of it, which the heat maps show",
        )

    @property
    def reads_side_by_side(self) -> bool:
        """On a CPU, where small steps gain more from it than from many threads each.

        Further measures may hang on to the model while they work, so they go one after the other.
        """
        return self.trained.device.type == "cpu" and not self.further

    @property
    def identity(self) -> dict[str, object]:
        """The weights, and how exactly they are computed with."""
        whose = {} if (by := self.trained.original) is None else {"original": by.digest}
        return {"model": weights_digest(self.model), "precision": self._precision, **whose}

    def describe(self) -> dict[str, object]:
        """What the model is and how it scored on its own test part."""
        return self.trained.describe()

    def exposure(self, texts: Sequence[str]) -> Exposure:
        """Which texts it was trained on, and which chose its best epoch."""
        return self.trained.exposure(texts)

    def is_strange(self, texts: Sequence[str]) -> Bool[ndarray, " documents"]:
        """Which texts hold no word of its vocabulary."""
        return self.trained.is_strange(texts)

    @cached_property
    def replacement(self) -> str:
        """A word that is not in the vocabulary, and that a pretrained encoder has no piece for."""
        if isinstance(self.model.encoder, PretrainedEncoder):
            return UNWRITTEN  # its mask is a special piece, and those cannot be written in a text
        word = UNKNOWN
        while word in self.vocabulary:
            word += UNKNOWN
        return word

    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities of some texts."""
        batches = self.trained.batches(texts)
        batch = batches.whole()
        with torch.no_grad():
            trace = self.model(batch)
        by_attention = trace.logits.double().softmax(dim=-1).cpu().numpy()
        return Reading(
            texts=tuple(texts),
            is_token=batch.is_token.cpu().numpy(),
            weights=trace.weights.double().cpu().numpy(),
            probabilities=by_attention,
            offsets=tuple(self.trained.tokenizer.offsets(text) for text in texts),
            inner=(batch, trace),
            cut=batches.documents.cut,
            is_withheld=self._is_withheld(texts, by_attention),
        )

    def _is_withheld(
        self, texts: Sequence[str], by_attention: Probabilities
    ) -> Bool[ndarray, " documents"] | None:
        """Of which texts the run shows no heat map, where another model decides."""
        if self.trained.original is None:
            return None
        withheld = self.trained.decided(texts, by_attention).withheld
        return np.array([bool(why) for why in withheld])

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of shortened documents, the deleted words physically gone."""
        batch, trace = reading.inner
        is_kept = is_kept & reading.is_token[document]

        def predict(unknown: Int[ndarray, " rows"]) -> Float[ndarray, "rows classes"]:
            documents, kept = document[unknown], is_kept[unknown]

            def run(some: Int[ndarray, " some"]) -> Float[ndarray, "some classes"]:
                logits = logits_of_kept(
                    self.model, batch, documents[some], kept[some], self._note, trace
                )
                return logits.double().softmax(dim=-1).cpu().numpy()

            return self._rounded.read(run, len(unknown))

        return reading.known[self](document, is_kept, predict)

    def predict_texts(self, texts: Sequence[str]) -> Probabilities:
        """Probabilities of any texts; what else a reading holds is left out: it takes time."""
        parts = [np.empty((0, len(self.classes)))]
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            batch = self.trained.batches(texts[start : start + TEXTS_AT_ONCE]).whole()
            with torch.no_grad():
                logits = self.model(batch).logits
            parts.append(logits.double().softmax(dim=-1).cpu().numpy())
        return np.concatenate(parts)

    def without_each(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """Probabilities without each word, by the exact shortcuts that the encoder allows."""
        if isinstance(self.model.encoder, PretrainedEncoder):  # it has none, and may be rounded
            return super().without_each(reading)

        def find(part: Reading, _: Rows) -> ndarray:
            with torch.no_grad():
                logits = logits_without_each(self.model, *part.inner)
            return logits.double().softmax(dim=-1).cpu().numpy()

        without = self._by_documents(reading, find)
        rows, is_kept = reading.without_one
        reading.known[self].add(rows, is_kept, without[reading.is_token])
        return without

    def alone_each(self, reading: Reading) -> Float[ndarray, "all_words classes"]:
        """Probabilities of each word alone: all weight on it, where a state is its own word's."""
        if reads_words_alone(self.model):
            return self.decide_at_each_word(reading)[reading.is_token]
        return super().alone_each(reading)

    def importance(
        self, reading: Reading, measure: str, target: Int[ndarray, " documents"] | None = None
    ) -> Words:
        """Signed importance of each word; of fewer documents at once where memory runs short."""
        chosen = reading.prediction if target is None else target
        usual = super().importance

        def find(part: Reading, rows: Rows) -> ndarray:
            return usual(
                part, measure, None if part is reading and target is None else chosen[rows]
            )

        return self._by_documents(reading, find)

    def _by_documents(
        self, reading: Reading, find: Callable[[Reading, Rows], ndarray], axes: int = 1
    ) -> ndarray:
        """What is found of all documents at once; where memory does not suffice, of halves of them.

        The first `axes` behind the documents are words, which halves may have fewer of.
        """
        everyone, words = np.arange(len(reading.texts)), reading.is_token.shape[1]

        def run(rows: Rows) -> ndarray:
            if len(rows) == len(everyone):
                return find(reading, rows)
            found = find(self.read([reading.texts[row] for row in rows.tolist()]), rows)
            missing = [(0, words - found.shape[axis]) for axis in range(1, axes + 1)]
            return np.pad(found, [(0, 0), *missing, *[(0, 0)] * (found.ndim - 1 - axes)])

        return np.concatenate(in_parts(everyone, run, self._note))

    def _note(self, note: str) -> None:
        self._memory_notes[note] = None

    def see(self, reading: Reading) -> Inside:
        """Everything; words are deleted as in the rest of the audit."""
        batch, trace = reading.inner
        return Inside(
            self.model,
            batch,
            torch.from_numpy(reading.prediction).to(batch.labels),
            trace=trace,
            shown=torch.from_numpy(reading.weights),
            predict_kept=partial(self.predict_kept, reading),
            texts=reading.texts,
            offsets=reading.offsets,
        )

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights."""
        _, trace = reading.inner
        weights = torch.tensor(attentions).to(trace.hidden)
        with torch.inference_mode():
            logits = decide_many(self.model, trace.hidden, weights)
            return logits.double().softmax(dim=-1).cpu().numpy()

    def decide_at_each_word(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """Probabilities with all weight on one word: what the output makes of its state."""
        _, trace = reading.inner
        with torch.inference_mode():
            logits = self.model.output(trace.hidden.flatten(0, 1))
        return logits.double().softmax(dim=-1).unflatten(0, trace.hidden.shape[:2]).cpu().numpy()

    def decide_erased(
        self, reading: Reading, rank: Int[ndarray, "documents words"], most: int
    ) -> Float[ndarray, "documents most classes"]:
        """Probabilities with the first weights by rank erased: sums from the last word upwards."""
        output = self.model.output
        if not isinstance(output, Output):
            return super().decide_erased(reading, rank, most)
        _, trace = reading.inner
        with torch.inference_mode():
            scores = (trace.hidden @ output.linear.weight.t()).double().cpu().numpy()
        weights = np.where(reading.support, reading.weights, 0.0)[..., None]
        summed = np.concatenate([weights, weights * scores], axis=-1)
        order = rank.argsort(axis=1)[..., None]
        from_last = np.take_along_axis(summed, order, axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        # With as many erased as there are words, nothing is left.
        left = np.pad(from_last, ((0, 0), (0, 1), (0, 0)))[:, 1 : most + 1]
        total = left[..., :1]
        means = np.divide(left[..., 1:], total, out=np.zeros_like(left[..., 1:]), where=total > 0)
        if output.linear.bias is not None:
            means = means + output.linear.bias.detach().double().cpu().numpy()
        return output.logits(torch.from_numpy(means)).softmax(dim=-1).numpy()

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

        def find(part: Reading, _: Rows) -> ndarray:
            return influence(self.model, part.inner[0]).double().cpu().numpy()

        return self._by_documents(reading, find, axes=2)

    @cached_property
    def randomised(self) -> "ClassifierSubject":
        """The same with random weights in it."""
        other = copy(self)
        other.model = randomised(self.model)
        return other

    @cached_property
    def _untrained(self) -> AttentionClassifier:
        """The same parts with other random numbers in them."""
        model = self.trained.untrained(seed=self.trained.settings.training.seed + 1)
        assert isinstance(model, AttentionClassifier)
        return model
