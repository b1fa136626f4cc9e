"""Attention that is trained on the model's own deletions: a word's score follows what it is worth.

The model first learns the labels alone. What it then says of the texts is its teacher while four
penalties are added, each of which an audit asks about: attention ranks words as deleting them does,
its top words are enough for the label, without them nothing of the label is left, and neither does
it reach the decision past the weights.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from heedful.config import at_least, share
from heedful.errors import ConfigError
from heedful.model.classifier import AttentionClassifier, TextClassifier, Trace
from heedful.model.encoders import EncoderSettings, Pretrained
from heedful.model.pretrained import PretrainedEncoder
from heedful.model.projections import frozen, projections, uniform
from heedful.text.batching import Batch, Sizes, sent
from heedful.training.deletion_penalties import (
    IsToken,
    Loss,
    TopWords,
    away,
    drop,
    logits_of_words,
    rank,
    sizes_of_share,
    top_words,
)
from heedful.training.evaluate import predict
from heedful.training.recipe import (
    AnyTrace,
    Material,
    Penalised,
    Phase,
    by_label,
    cross_entropy_of,
    needs_attention,
    recipes,
)

Number = TypeVar("Number", int, float, float | None)
VOTES, LAYERS = 64, 7  # of a pretrained encoder: what its words say, read at even depths


@dataclass(frozen=True)
class Usual:
    """What suits a kind of model, where nothing else is given."""

    weights: tuple[float, float, float, float]  # of rank, keep, drop and away
    first_epochs: tuple[int, int]  # by the labels alone, at least and at most
    epochs: tuple[int, int]  # with the penalties
    readings: int  # documents read in each part in all, so that small corpora take more epochs
    deletions: int
    replaced_share: float
    final_rate_share: float  # of the learning rate, at the end of the part with the penalties
    first_select_by: Literal["loss"] | None  # dev score for the first epochs; None: the training's
    first_averaging: float | None
    averaging: float | None
    kept: Literal["best", "last"]  # epoch, where weights are averaged


FROM_SCRATCH = Usual(
    weights=(1.0, 0.5, 0.0, 0.5), first_epochs=(4, 5), epochs=(4, 8), readings=25_000,
    deletions=4, replaced_share=0.5, final_rate_share=1.0, first_select_by="loss",
    first_averaging=1.0, averaging=1.0, kept="last",
)  # fmt: skip
# A pretrained encoder learns in few and small steps; where it does not, what is on top of it does.
FINE_TUNED = Usual(
    weights=(1.0, 1.0, 0.3, 0.3), first_epochs=(3, 3), epochs=(3, 8), readings=10_000,
    deletions=4, replaced_share=0.0, final_rate_share=0.1, first_select_by=None,
    first_averaging=None, averaging=None, kept="best",
)  # fmt: skip
ON_TOP = Usual(
    weights=(1.0, 1.0, 0.3, 1.0), first_epochs=(3, 3), epochs=(6, 8), readings=10_000,
    deletions=6, replaced_share=0.5, final_rate_share=1.0, first_select_by=None,
    first_averaging=None, averaging=1.0, kept="best",
)  # fmt: skip


@recipes.register("faithful")
@dataclass(frozen=True)
class Faithful(Penalised):
    """Train attention to match the effect of deleting words on the model's own decision.

    first:  cross_entropy to the labels, for `first_epochs`
    then:   loss + rank_weight * Rank + keep_weight * Keep + drop_weight * Drop + away_weight * Away

    loss = (1 - teacher_weight) * cross_entropy to the labels
           + teacher_weight * cross_entropy to what the model said after `first_epochs`
    Rank = sum over pairs of gap_ij * softplus(score_j - score_i) / sum of gap_ij
           gap_ij = max(0, fall_i - fall_j),  fall_i = log p(some words) - log p(these without i)
    Keep = loss of the top words by attention alone
    Drop = KL(shares of the labels | p(text without its top words))
    Away = KL(shares of the labels | p(states of the whole text, all weight on its other words))

    `p` is that of the predicted class, without dropout; no gradient flows through the falls, so
    Rank moves scores only. Of `ranked_share` of the documents of each batch `deletions` words are
    drawn, half by attention and half evenly. In `shortened_share` of these documents only some of
    the other words are left, a share drawn evenly from none to all, so that deleting a word has an
    effect even if other words say the same. The share of words that are the top words is drawn from
    `shares` for each batch. In `replaced_share` of the batches each word that Rank, Keep and Drop
    leave out is replaced by an unknown word; in the others it is deleted. Away costs no second
    reading: it keeps the states of other words from telling what the top words say, which would
    then reach the decision past the weights.
    Of a pretrained encoder, attention and output see `votes` made of its layers, which keep what a
    word says apart from what the text says. It learns on unless `holds_body`.
    Weights of a model from scratch are averaged. Its first part ends with the epoch of the lowest
    dev loss: later epochs are overconfident on training documents and make a poor teacher. Its
    second part ends with the last. Without a dev part both end with the last. A pretrained model
    ends both with the most accurate epoch: in the second part that whose answers are most often
    right from the whole dev text and from its top words, both counted alike.
    """

    rank_weight: float | None = None  # None: 1, whatever the encoder
    keep_weight: float | None = None  # None: 0.5, and 1 for a pretrained encoder
    drop_weight: float | None = None  # None: 0, and 0.3 for a pretrained encoder
    away_weight: float | None = None  # None: 0.5, 0.3 for a pretrained encoder (1 if it is held)
    ranked_share: float = 0.5  # of the documents of a batch: reading them again takes time
    shortened_share: float = 1.0  # of these documents: read with only some of their other words
    deletions: int | None = None  # words of each; None: 4, and 6 for a held encoder
    shares: tuple[float, ...] = (0.1, 0.2, 0.5)
    replaced_share: float | None = None  # of the batches; None: 0.5, 0 if a pretrained one learns
    first_epochs: int | None = None  # None: 4, 5 on few documents, 3 for a pretrained encoder
    teacher_weight: float = 0.5  # of what the model said after the first epochs
    first_averaging: float | None = None  # epochs of averaged weights; None: 1, from scratch
    averaging: float | None = None  # the same afterwards; None: 1, unless a pretrained one learns
    final_rate_share: float | None = None  # of the learning rate; None: 1, pretrained 0.1
    holds_embeddings: bool = True  # from scratch: not changed after the first epochs
    holds_body: bool = False  # nor is a pretrained encoder
    epochs: int | None = None  # None: 4, pretrained 3, held 6; up to 8 on few documents

    def __post_init__(self) -> None:
        at_least(0, rank_weight=self.rank_weight, keep_weight=self.keep_weight)
        at_least(0, drop_weight=self.drop_weight, away_weight=self.away_weight)
        at_least(2, deletions=self.deletions)
        at_least(1, epochs=self.epochs)
        at_least(0, first_epochs=self.first_epochs, first_averaging=self.first_averaging)
        at_least(0, averaging=self.averaging)
        share(teacher_weight=self.teacher_weight, replaced_share=self.replaced_share)
        share(shortened_share=self.shortened_share, final_rate_share=self.final_rate_share)
        if not self.shares:
            raise ConfigError("faithful: shares should have at least one number, as in 0.1+0.5.")
        for given in (self.ranked_share, *self.shares):
            if not 0 < given <= 1:
                raise ConfigError(
                    "faithful: ranked_share and shares should be above 0 and at most 1, not "
                    f"{given}."
                )

    @property
    def teaches_attention(self) -> bool:
        """Where to look is all that it teaches."""
        return True

    def check(self, model: TextClassifier, material: Material) -> None:
        """Refuse what attention cannot learn from."""
        super().check(model, material)
        if (material.documents.documents.lengths < 2).all():
            raise ConfigError(
                "faithful ranks the words of each text, and every training text has only one. "
                "Give texts of several words, or use another recipe."
            )

    def fitted(self, encoder: EncoderSettings) -> EncoderSettings:
        """Votes made of the layers of a pretrained encoder, unless something else was asked for."""
        if not isinstance(encoder, Pretrained):
            return encoder
        return replace(
            encoder,
            votes=VOTES if encoder.votes is None else encoder.votes,
            layers=LAYERS if encoder.layers is None else encoder.layers,
        )

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """The shares of the labels; says so if attention cannot learn."""
        attends = needs_attention(model, "faithful")
        if not isinstance(attends, AttentionClassifier):
            raise ConfigError("faithful ranks words, and this model does not attend to words.")
        if attends.project in (uniform, frozen):
            raise ConfigError(
                "faithful trains attention, which cannot learn with the projection "
                f"{projections.name_of(attends.project)}. "
                "Use another projection, such as --projection softmax, or another recipe."
            )
        return _Targets(material).to(next(model.parameters()).device)

    def before(
        self, model: TextClassifier, material: Material, prepared: nn.Module
    ) -> Iterator[Phase]:
        """The model learns the labels first; what it then says of each text is its teacher."""
        assert isinstance(prepared, _Targets)
        if epochs := self.first_length(model, len(material.documents)):
            averaging = _given(self.first_averaging, self.usual(model).first_averaging)
            yield Phase(
                by_label,
                [model],
                epochs,
                epochs_to_come=self.length(model, len(material.documents)),
                select_by=self.usual(model).first_select_by,
                name="labels only",
                averaging=averaging,
            )
            prepared.remember(predict(model, material.documents), self.teacher_weight)

    def usual(self, model: TextClassifier) -> Usual:
        """What suits the model."""
        if not isinstance(model.encoder, PretrainedEncoder):
            return FROM_SCRATCH
        return ON_TOP if self.holds_body or _is_frozen(model) else FINE_TUNED

    def first_length(self, model: TextClassifier, documents: int) -> int:
        """The number of epochs by the labels alone."""
        if self.first_epochs is not None:
            return self.first_epochs
        usual = self.usual(model)
        return _epochs(usual.first_epochs, usual.readings, documents)

    def averaged(self, model: TextClassifier) -> float | None:
        """Epochs over which weights are averaged after the first ones."""
        return _given(self.averaging, self.usual(model).averaging)

    def rate_share_at_end(self, model: TextClassifier) -> float:
        """A tenth if a pretrained encoder learns."""
        return _given(self.final_rate_share, self.usual(model).final_rate_share)

    def kept(self, model: TextClassifier) -> Literal["best", "last"]:
        """From scratch the last epoch: averaged weights vary little from one to the next."""
        return self.usual(model).kept if self.averaged(model) else "best"

    def length(self, model: TextClassifier, documents: int) -> int:
        """More epochs if documents are few; too many make a model sure of what it has seen."""
        if self.epochs is not None:
            return self.epochs
        usual = self.usual(model)
        return _epochs(usual.epochs, usual.readings, documents)

    def held(self, model: TextClassifier) -> Sequence[nn.Module]:
        """What does not change after the first epochs: accuracy then falls less."""
        if self.first_epochs == 0 and not _is_frozen(model):
            return []
        if not isinstance(model.encoder, PretrainedEncoder):
            return [model.embedding] if self.holds_embeddings else []
        is_held = self.holds_body or _is_frozen(model)
        return [model.embedding, *model.encoder.read_with] if is_held else []

    def counted_too(self, model: TextClassifier) -> Mapping[str, nn.Module]:
        """Answers from the top words of a text count as much as those from the whole.

        A model that knows the labels already may be most accurate before attention has learnt.
        """
        assert isinstance(model, AttentionClassifier)
        return {} if self.first_epochs == 0 else {"top_words": TopWords(model)}

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Loss:
        """The four penalties, each times its weight; one that weighs nothing is not computed."""
        assert isinstance(prepared, _Targets)
        assert isinstance(trace, Trace)  # `prepare` has seen to it
        assert isinstance(model, AttentionClassifier)
        rank_weight, keep_weight, drop_weight, away_weight = self.weights(model)
        total = prepared.beyond_label(trace.logits, batch)
        usual = self.usual(model)
        is_replaced = _is_drawn(_given(self.replaced_share, usual.replaced_share), rng)
        if rank_weight:
            deletions = _given(self.deletions, usual.deletions)
            total = total + rank_weight * rank(
                model,
                batch,
                trace,
                self.ranked_share,
                deletions,
                rng,
                is_replaced,
                self.shortened_share,
            )
        top_share = self.shares[int(torch.randint(len(self.shares), (), generator=rng))]
        is_top = top_words(trace.scores, batch.is_token, top_share)
        if keep_weight:
            sizes = sizes_of_share(batch, 1.0 if is_replaced else top_share)
            total = total + keep_weight * keep(
                model, batch, trace, is_top, prepared, is_replaced, sizes
            )
        if drop_weight:
            total = total + drop_weight * drop(
                model, batch, trace, is_top, prepared.of_label, is_replaced
            )
        if away_weight:
            total = total + away_weight * away(model, batch, trace, is_top, prepared.of_label)
        return total

    def weights(self, model: TextClassifier) -> tuple[float, float, float, float]:
        """The weights of rank, keep, drop and away for this model."""
        usual = self.usual(model).weights
        given = (self.rank_weight, self.keep_weight, self.drop_weight, self.away_weight)
        rank, keep, drop, away = map(_given, given, usual)
        return rank, keep, drop, away


def _epochs(bounds: tuple[int, int], readings: int, documents: int) -> int:
    """Enough epochs to read this many documents in all, within the bounds."""
    least, most = bounds
    return min(most, max(least, math.ceil(readings / documents)))


def _is_frozen(model: TextClassifier) -> bool:
    return isinstance(model.encoder, PretrainedEncoder) and model.encoder.is_frozen


def _given(given: Number | None, usual: Number) -> Number:
    return usual if given is None else given


def _is_drawn(share: float, rng: torch.Generator) -> bool:
    return bool(torch.rand((), generator=rng) < share)


class _Targets(nn.Module):
    """What answers are held against: labels, perhaps the teacher's answers, shares of the labels.

    The shares say what is left to say of a text that holds no evidence. Even shares would teach a
    model of unequal labels to contradict what it knows.
    """

    of_label: Tensor
    taught: Tensor

    def __init__(self, material: Material) -> None:
        super().__init__()
        weights, least = material.documents.example_weight, material.classes
        counts = np.bincount(material.documents.labels, weights=weights, minlength=least)
        self.register_buffer("of_label", torch.from_numpy(counts / counts.sum()).float())
        # Found again from the weights of the first phase if a training is resumed.
        self.register_buffer("taught", torch.empty(0), persistent=False)
        self.teacher_weight = 0.0

    def remember(self, taught: Float[ndarray, "documents classes"], weight: float) -> None:
        """The teacher's probabilities of all documents, and how much they count."""
        self.taught = torch.from_numpy(taught).to(self.of_label)
        self.teacher_weight = weight

    def loss(self, logits: Float[Tensor, "batch classes"], batch: Batch) -> Loss:
        """(1 - w) * cross-entropy to the label + w * cross-entropy to the teacher's answer."""
        return cross_entropy_of(logits, batch) + self.beyond_label(logits, batch)

    def beyond_label(self, logits: Float[Tensor, "batch classes"], batch: Batch) -> Loss:
        """What the teacher adds to the cross-entropy to the label."""
        if not self.teacher_weight:
            return logits.new_zeros(())
        taught = self.taught[sent(torch.from_numpy(batch.indices), logits.device)]
        of_teacher = -(taught * logits.log_softmax(dim=-1)).sum(dim=-1) * batch.example_weight
        return self.teacher_weight * (of_teacher.mean() - cross_entropy_of(logits, batch))


def keep(
    model: AttentionClassifier,
    batch: Batch,
    trace: Trace,
    is_top: IsToken,
    targets: _Targets,
    is_replaced: bool = False,
    sizes: Sizes | None = None,
) -> Loss:
    """Cross-entropy of the texts cut to their top words.

    Against label and teacher, not the model's own answer, which a model that always says the same
    gives from any words.
    """
    is_token = batch.is_token if is_replaced else None
    return targets.loss(logits_of_words(model, trace.embedded, is_top, is_token, sizes), batch)
