"""What measures see of a heedful classifier: everything."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.errors import ConfigError
from heedful.importance.deletion import logits_without_each
from heedful.importance.held_layers import layers_held
from heedful.importance.seen import (
    Held,
    IsKept,
    Part,
    Pass,
    PositionScores,
    Seen,
    Target,
    TokenScores,
    Variants,
    Vectors,
    gradients_in_eval,
    of_target,
    target_probability,
    through_weights,
)
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many
from heedful.model.pretrained import PretrainedEncoder
from heedful.model.word_subsets import logits_of_kept
from heedful.text.batching import Batch

PredictKept = Callable[
    [Int[ndarray, " variants"], Bool[ndarray, "variants tokens"]],
    Float[ndarray, "variants classes"],
]


class Inside(Seen):
    """A batch as a classifier of heedful reads it. Nothing is computed before a measure asks.

    An audit, which has read the batch already, gives its `trace`, the weights that are `shown`, how
    it predicts from the words that are kept, and the texts with the places of their words.
    """

    def __init__(
        self,
        model: AttentionClassifier,
        batch: Batch,
        target: Target,
        *,
        trace: Trace | None = None,
        shown: TokenScores | None = None,
        predict_kept: PredictKept | None = None,
        texts: Sequence[str] | None = None,
        offsets: Sequence[Int[ndarray, "_ 2"]] = (),
    ) -> None:
        self.model, self.batch = model, batch
        self.is_token, self.target = batch.is_token, target
        self._trace, self._shown, self._predict_kept = trace, shown, predict_kept
        self._texts, self._offsets = texts, offsets

    @property
    def identifiers(self) -> list[int]:
        """Places in the corpus."""
        return self.batch.indices.tolist()

    @property
    def texts(self) -> Sequence[str]:
        """As they were given."""
        return super().texts if self._texts is None else self._texts

    @property
    def offsets(self) -> Sequence[Int[ndarray, "_ 2"]]:
        """Of their words."""
        return super().offsets if self._texts is None else self._offsets

    @property
    def trace(self) -> Trace:
        """One forward pass."""
        if self._trace is None:
            with torch.no_grad():
                self._trace = self.model(self.batch)
        return self._trace

    @property
    def shown(self) -> TokenScores:
        """The attention weights."""
        return self.trace.weights if self._shown is None else self._shown

    @property
    def probability(self) -> Float[Tensor, " batch"]:
        """Of the target."""
        return target_probability(self.trace.logits, self.target)

    def of_kept(self, document: Variants, is_kept: IsKept) -> Float[Tensor, " variants"]:
        """From the words that are left."""
        rows, kept = document.cpu().numpy(), is_kept.cpu().numpy()
        if self._predict_kept is not None:
            found = torch.from_numpy(self._predict_kept(rows, kept)).to(self.is_token.device)
            return of_target(found, self.target[document])
        logits = logits_of_kept(self.model, self.batch, rows, kept, trace=self._trace)
        return target_probability(logits, self.target[document])

    def without_each(self) -> TokenScores:
        """By the shortcuts that the encoder allows; a pretrained one allows none."""
        if isinstance(self.model.encoder, PretrainedEncoder):
            return super().without_each()
        with torch.no_grad():
            logits = logits_without_each(self.model, self.batch, self._trace)
        return target_probability(logits, self.target) * self.is_token

    def decide(
        self, change: Callable[[TokenScores], Float[Tensor, "batch attentions tokens"]]
    ) -> Float[Tensor, "batch attentions"]:
        """From the states as they are."""
        with torch.no_grad():
            logits = decide_many(self.model, self.trace.hidden, change(self.trace.weights))
        return target_probability(logits, self.target)

    def by_weights(self, score: Callable[[Tensor, Tensor], Tensor]) -> TokenScores:
        """From one pass, and back through the decision."""
        with gradients_in_eval(self.model):
            hidden, weights = self.trace.hidden, self.trace.weights
            found = through_weights(self.model.decide, hidden, weights, self.target, score)
        return found * self.is_token

    def by_parts(self, score: Callable[[Part], PositionScores], passes: int = 1) -> TokenScores:
        """All documents at once; a position is a word."""
        with gradients_in_eval(self.model):
            part = _Whole(self.model, self.batch, self.target, self._trace)
            return score(part).detach() * self.is_token


class _Whole(Part):
    """The whole batch."""

    def __init__(
        self, model: AttentionClassifier, batch: Batch, target: Target, trace: Trace | None
    ) -> None:
        self.model, self.is_word, self.target = model, batch.is_token, target
        self.own = (model.embed(batch) if trace is None else trace.embedded).detach()

    def run(
        self, change: Callable[[Vectors], Vectors] | None = None, *, held: Held = "nothing"
    ) -> Pass:
        """Embeddings to logits; layers can be held in a pretrained encoder."""
        if held == "layers" and not isinstance(self.model.encoder, PretrainedEncoder):
            raise ConfigError(
                "decomposition needs a pretrained encoder or a Hugging Face model: the encoder of "
                f"this model ({type(self.model.encoder).__name__}) cannot be held fixed."
            )
        with layers_held(self.model) if held == "layers" else nullcontext():
            embedded, trace = self._read(change)
            if held == "nothing":
                return Pass(self.own, embedded, trace.logits)
            logits = self.model.decide(trace.hidden, trace.weights.detach())
        return Pass(self.own, embedded, logits)

    def states(self) -> tuple[Vectors, Float[Tensor, "batch classes"]]:
        """Of the same pass."""
        _, trace = self._read(None)
        return trace.hidden, trace.logits

    def _read(self, change: Callable[[Vectors], Vectors] | None) -> tuple[Vectors, Trace]:
        embedded = (self.own if change is None else change(self.own)).detach().requires_grad_()
        return embedded, self.model.read(embedded, self.is_word)
