"""What measures of importance may see of a model and some documents, whatever the model is.

    subject, reading ──> Seen ── measure ──> one signed score per word
                          └─ Part: documents that are read together, for gradients

A measure names its needs; whatever gives them all can be measured. Each kind of subject gives what
it has of the methods below and says which in a set of `Need`; nobody asks for the others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.errors import ConfigError

Target = Int[Tensor, " batch"]
TokenScores = Float[Tensor, "batch tokens"]
Vectors = Float[Tensor, "batch positions size"]
PositionScores = Float[Tensor, "batch positions"]
Square = Float[Tensor, "batch positions positions"]
Variants = Int[Tensor, " variants"]
IsKept = Bool[Tensor, "variants tokens"]
Of = Literal["logits", "probabilities"]
Held = Literal["nothing", "weights", "layers"]  # constant to gradients: attention; all not linear


class Need(Enum):
    """What a measure looks at beside the words, the prediction and the shown weights."""

    DELETIONS = "predictions without some of the words"
    DECISIONS = "decisions from its states with other weights"
    WEIGHTS = "gradients with respect to attention weights"
    STATES = "gradients with respect to states"
    EMBEDDINGS = "gradients with respect to word embeddings"
    HELD_ATTENTION = "attention weights that can be held fixed"
    HELD_LAYERS = "a Transformer that is linear once attention, norms and activations are held"
    LAYERS = "a Transformer whose layers can be inspected and run one by one"
    SUMS = "a Transformer that exposes what attention adds to its states"
    SHARED_BIASES = "a Transformer whose biases can be shared out among its positions"
    OTHER_EMBEDDINGS = "a forward pass from other embeddings"
    TEXTS = "the texts and the positions of their words"
    CLASSIFIER = "the internals of a heedful classifier"


@dataclass(frozen=True)
class Pass:
    """A forward pass from embeddings: `own` as the model has them, `embedded` as they were used."""

    own: Vectors
    embedded: Vectors
    logits: Float[Tensor, "batch classes"]


@dataclass(frozen=True)
class Layers:
    """A pass through a Transformer, kept for gradients; layers in their order."""

    embedded: Vectors
    states: list[Float[Tensor, "batch positions state"]]  # what each layer gives out
    weights: list[Float[Tensor, "batch heads positions positions"]]
    logits: Float[Tensor, "batch classes"]
    is_real: Bool[Tensor, "batch positions"]  # no padding
    is_read: Bool[Tensor, "batch positions"]  # positions whose state the classifier reads

    def read_row(self, square: Square) -> PositionScores:
        """The row of the position that is read; the mean where there are several."""
        return _mean_of_rows(square, self.is_read)

    def mean_row(self, square: Square) -> PositionScores:
        """The mean of the rows of all positions."""
        return _mean_of_rows(square, self.is_real)


def _mean_of_rows(square: Square, is_chosen: Bool[Tensor, "batch positions"]) -> PositionScores:
    share = is_chosen.to(square.dtype)
    share = share / share.sum(dim=1, keepdim=True).clamp(min=1)
    return (share.unsqueeze(1) @ square).squeeze(1)


@dataclass(frozen=True)
class AttentionSum:
    """Where a layer adds what it attends to to its states."""

    weights: Float[Tensor, "batch heads positions positions"]
    added: Float[Tensor, "batch heads positions size"]  # values sent through the output matrix
    states: Vectors  # the residual path
    output: Vectors  # the sum, normalised where a norm stands behind it
    deviation: PositionScores | None = None  # of that norm; None: there is no norm
    gain: Float[Tensor, " size"] | None = None  # of that norm

    def parts(self, row: int) -> Vectors:
        """What each position gives to the output of one: its attention, and the state itself.

        The deviation is held; biases are nobody's.
        """
        given = torch.einsum("bhp,bhpd->bpd", self.weights[:, :, row], self.added)
        given[:, row] += self.states[:, row]
        if self.deviation is None:
            return given
        centred = given - given.mean(dim=-1, keepdim=True)
        scaled = centred / self.deviation[:, row, None, None]
        return scaled if self.gain is None else scaled * self.gain


class Part(ABC):
    """Documents that are read together, with gradients. Positions are words or pieces of words."""

    is_word: Bool[Tensor, "batch positions"]
    target: Target
    copies: int = 1  # of the documents that can be read at once

    def repeated(self, times: int) -> "Part":
        """All documents again and again, at most `copies` times."""
        assert times == 1, "nothing but what is here can be read at once"
        return self

    @abstractmethod
    def run(
        self, change: Callable[[Vectors], Vectors] | None = None, *, held: Held = "nothing"
    ) -> Pass:
        """A pass, with nothing held fixed (EMBEDDINGS), attention (HELD_ATTENTION), or all layers
        (HELD_LAYERS, from the output of the embedding layer).

        It starts from what `change` makes of the embeddings (OTHER_EMBEDDINGS).
        """

    def layers(self) -> Layers:
        """A pass with everything in it (LAYERS)."""
        raise _not_given(Need.LAYERS)

    def sums(self) -> Sequence[AttentionSum]:
        """The sum of each layer (SUMS)."""
        raise _not_given(Need.SUMS)

    def contributions(self) -> tuple[Float[Tensor, " batch"], PositionScores]:
        """The target's logit, and what each position gives to it with biases (SHARED_BIASES)."""
        raise _not_given(Need.SHARED_BIASES)

    def without_values(self) -> Iterator[Square]:
        """Of each layer, how far the state at i moves without the value of j (LAYERS).

        Cosine distances; the layer is given what it was given, and 0 on padding.
        """
        raise _not_given(Need.LAYERS)

    def states(self) -> tuple[Vectors, Float[Tensor, "batch classes"]]:
        """The states that attention weighs, and the logits that are made of them (STATES)."""
        raise _not_given(Need.STATES)


class Seen(ABC):
    """Some documents as a model reads them."""

    of: ClassVar[Of] = "probabilities"  # what lengths of gradients are of
    is_token: Bool[Tensor, "batch tokens"]
    target: Target  # the class that is explained

    @property
    @abstractmethod
    def identifiers(self) -> Sequence[int]:
        """A number for each document."""

    @property
    def texts(self) -> Sequence[str]:
        """The documents as they were given (TEXTS)."""
        raise _not_given(Need.TEXTS)

    @property
    def offsets(self) -> Sequence[Int[ndarray, "_ 2"]]:
        """Where the words of each document stand in its text (TEXTS)."""
        raise _not_given(Need.TEXTS)

    @property
    @abstractmethod
    def shown(self) -> TokenScores:
        """The weights that the model shows as its attention."""

    @property
    @abstractmethod
    def probability(self) -> Float[Tensor, " batch"]:
        """Of the target, in double precision."""

    @abstractmethod
    def of_kept(self, document: Variants, is_kept: IsKept) -> Float[Tensor, " variants"]:
        """Probability of the target with only some words of a document left (DELETIONS)."""

    def without_each(self) -> TokenScores:
        """Probability of the target without each word, 0 on padding (DELETIONS)."""
        rows, places = self.is_token.nonzero(as_tuple=True)
        is_kept = self.is_token[rows]
        is_kept[torch.arange(len(rows)), places] = False
        found = self.probability.new_zeros(self.is_token.shape)
        found[rows, places] = self.of_kept(rows, is_kept)
        return found

    def decide(
        self, change: Callable[[TokenScores], Float[Tensor, "batch attentions tokens"]]
    ) -> Float[Tensor, "batch attentions"]:
        """Probability of the target with what `change` makes of the weights (DECISIONS)."""
        raise _not_given(Need.DECISIONS)

    def by_weights(self, score: Callable[[Tensor, Tensor], Tensor]) -> TokenScores:
        """`score` of attention weights and of the gradient with respect to them (WEIGHTS)."""
        raise _not_given(Need.WEIGHTS)

    def by_parts(self, score: Callable[[Part], PositionScores], passes: int = 1) -> TokenScores:
        """`score` of each part, summed over the pieces of words, zero on padding.

        `passes`: how many times `score` reads the documents.
        """
        raise _not_given(Need.EMBEDDINGS)

    def sums(self, value: Callable[[Part], Float[Tensor, " batch"]]) -> Float[Tensor, " batch"]:
        """`value` of each part, a number per document; 0 of one without words."""
        return self.by_parts(lambda part: _spread(part, value(part))).sum(dim=1)


def _spread(part: Part, values: Float[Tensor, " batch"]) -> PositionScores:
    """A number per document, evenly over the positions of its words."""
    share = part.is_word / part.is_word.sum(dim=1, keepdim=True).clamp(min=1)
    return values.unsqueeze(-1) * share


def through_weights(
    decide: Callable[[Tensor, Tensor], Tensor],
    states: Vectors,
    weights: TokenScores,
    target: Target,
    score: Callable[[Tensor, Tensor], Tensor],
) -> TokenScores:
    """`score` of the weights and of the gradient of the target's probability; states fixed."""
    weights = weights.detach().requires_grad_()
    probability = target_probability(decide(states.detach(), weights), target)
    return score(weights.detach(), gradient(probability, weights))


def of_target(rows: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Each document's value for its own target class."""
    index = target.view(-1, *[1] * (rows.dim() - 1)).expand(*rows.shape[:-1], 1)
    return rows.gather(-1, index).squeeze(-1)


def target_probability(logits: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Probability of the target class, in double precision.

    A sure model's probabilities differ in digits that fp32 has not: 0.99999 and 0.99998 are 168
    steps apart.
    """
    return of_target(logits.double().softmax(dim=-1), target)


def gradient(values: Tensor, by: Tensor, retain_graph: bool = False) -> Tensor:
    """Gradient of one value per document; zero where there is no way back.

    Documents do not interact, so one backward pass over the sum serves them all.
    """
    (found,) = torch.autograd.grad(
        values.sum(), by, retain_graph=retain_graph, allow_unused=True, materialize_grads=True
    )
    return found


def _not_given(need: Need) -> ConfigError:
    return ConfigError(f"this model does not provide {need.value}; list it in the measure's needs.")


@contextmanager
def gradients_in_eval(model: nn.Module) -> Iterator[None]:
    """Gradients of a model as it predicts: dropout off, parameters left alone."""
    was_training = model.training
    model.eval()
    try:
        # cuDNN cannot backpropagate through an LSTM in eval mode, so gradients run without it here.
        with torch.backends.cudnn.flags(enabled=False), torch.enable_grad():
            yield
    finally:
        model.train(was_training)
