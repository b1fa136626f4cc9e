"""The layers behind the encoders: embedded words to one state per token."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.model.recurrence import OrthogonalLSTM

Embedded = Float[Tensor, "batch tokens embedding"]
Hidden = Float[Tensor, "batch tokens hidden"]
IsToken = Bool[Tensor, "batch tokens"]
Skip = Literal["none", "concat", "residual"]
"""How a word's own embedding joins its state."""


class Encoder(nn.Module, ABC):
    """A module from embedded words to one state per token."""

    output_size: int
    reads_context = True  # False: a state depends on its own word alone
    reads_words = True  # False: a state depends on no word at all, only on where it stands
    is_two_way = False  # True: the second half of a state has read the text from its end
    has_own_dropout = False  # True: it drops out of its inputs itself

    @abstractmethod
    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states; zero where there is no token."""


class TokenWise(Encoder):
    """The same map for every word, blind to its neighbours."""

    reads_context = False

    def __init__(self, embedding_size: int, output_size: int, layers: nn.Module) -> None:
        super().__init__()
        self.output_size = output_size
        self.layers = layers

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        return self.layers(embedded) * is_token.unsqueeze(-1)


class Blended(Encoder):
    """Each state a blend of the word's own vector and the mean of its text's."""

    def __init__(self, embedding_size: int, share: float) -> None:
        super().__init__()
        self.output_size = embedding_size
        self.share = share

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        own = embedded * is_token.unsqueeze(-1)
        words = is_token.sum(dim=1, keepdim=True).clamp(min=1).unsqueeze(-1)
        mean = own.sum(dim=1, keepdim=True) / words
        return (1 - self.share) * own + self.share * mean * is_token.unsqueeze(-1)


class Places(Encoder):
    """A learned vector for each place in a text, whatever word stands there."""

    reads_words = False

    def __init__(self, size: int, places: int) -> None:
        super().__init__()
        self.output_size = size
        self.vectors = nn.Embedding(places, size)

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states; the last vector serves every place from there on."""
        place = torch.arange(embedded.shape[1], device=embedded.device)
        states = self.vectors(place.clamp(max=self.vectors.num_embeddings - 1))
        # The words have no part in it; added as nothing, so that their gradients are 0, not amiss.
        nothing = 0 * (embedded * is_token.unsqueeze(-1)).sum(dim=-1, keepdim=True)
        return (states + nothing) * is_token.unsqueeze(-1)


class Convolutions(Encoder):
    """One convolution per kernel size, side by side."""

    def __init__(self, embedding_size: int, kernel_sizes: tuple[int, ...], filters: int) -> None:
        super().__init__()
        self.output_size = filters * len(kernel_sizes)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_size, filters, width, padding=width // 2) for width in kernel_sizes
        )

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        # Padding must be zero, or the words next to it would see how long the batch is.
        channels_first = (embedded * is_token.unsqueeze(-1)).transpose(1, 2)
        views = [convolve(channels_first) for convolve in self.convolutions]
        return torch.cat(views, dim=1).relu().transpose(1, 2) * is_token.unsqueeze(-1)


class Votes(Encoder):
    """Each word votes in a few numbers; its neighbours may weaken or turn a vote, not cast it.

    state_t = tanh(V · own_t + c) * tanh(1 + U · window_t + d)

    `own` are features of the word alone, `window` of the words around it. No word can shout: under
    a linear output its say in the decision is at most its weight times the sum of |W|, so whatever
    a word is worth beyond that, attention has to show.
    """

    def __init__(
        self, embedding_size: int, votes: int, kernel_sizes: tuple[int, ...], filters: int
    ) -> None:
        super().__init__()
        self.output_size = votes
        self.own = Convolutions(embedding_size, (1,), filters)
        self.window = Convolutions(embedding_size, kernel_sizes, filters)
        self.vote = nn.Linear(self.own.output_size, votes)
        self.turn = nn.Linear(self.window.output_size, votes)

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        votes = self.vote(self.own(embedded, is_token)).tanh()
        turned = (1 + self.turn(self.window(embedded, is_token))).tanh()
        return votes * turned * is_token.unsqueeze(-1)


class Recurrent(Encoder):
    """One recurrent layer, run in one or both directions without packing.

    Padding stands at the end, so left to right it disturbs nothing. Right to left, each text is
    turned round within its own length first. This equals a packed two-way call and costs less.
    """

    def __init__(self, embedding_size: int, hidden_size: int, cell: str, directions: int) -> None:
        super().__init__()
        make: dict[str, type[nn.Module]] = {
            "rnn": nn.RNN,
            "gru": nn.GRU,
            "lstm": nn.LSTM,
            "orthogonal-lstm": OrthogonalLSTM,
        }
        self.output_size = hidden_size * directions
        self.is_two_way = directions == 2
        self.forwards = make[cell](embedding_size, hidden_size, batch_first=True)
        self.backwards = (
            make[cell](embedding_size, hidden_size, batch_first=True) if self.is_two_way else None
        )

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        hidden = self.forwards(embedded)[0]
        if self.backwards is not None:
            turned = self.backwards(turn_round(embedded, is_token))[0]
            hidden = torch.cat([hidden, turn_round(turned, is_token)], dim=-1)
        return hidden * is_token.unsqueeze(-1)


class Stacked(Encoder):
    """Recurrent layers on top of each other: each reads the states of the one below.

    Read both ways, every state of the second layer depends on the whole text, so none can be reused
    when a word is deleted. That is why this is no `Recurrent`: deletions read the shortened text.
    """

    def __init__(self, layers: Sequence[Recurrent]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.output_size = layers[-1].output_size
        self.is_two_way = layers[-1].is_two_way

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states of the last layer."""
        for layer in self.layers:
            embedded = layer(embedded, is_token)
        return embedded


class WithSkip(Encoder):
    """An encoder whose states also carry their own word's embedding."""

    def __init__(self, inner: Encoder, embedding_size: int, skip: Skip) -> None:
        super().__init__()
        self.inner = inner
        self.is_concatenated = skip == "concat"
        self.output_size = inner.output_size + embedding_size * self.is_concatenated

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        return self.join(self.inner(embedded, is_token), embedded * is_token.unsqueeze(-1))

    def join(
        self, state: Float[Tensor, "*rows hidden"], own: Float[Tensor, "*rows embedding"]
    ) -> Float[Tensor, "*rows joined"]:
        """A state and its own word's embedding as one."""
        return torch.cat([state, own], dim=-1) if self.is_concatenated else state + own


def with_skip(encoder: Encoder, embedding_size: int, skip: Skip) -> Encoder:
    """The encoder, with each word's embedding joined to its state if asked for."""
    if skip == "residual" and encoder.output_size != embedding_size:
        raise ConfigError(
            f"a residual embedding is added to the state, so their sizes must match: the encoder "
            f"has {encoder.output_size}, embeddings have {embedding_size}. "
            "Change hidden_size (two directions double it) or use skip=concat."
        )
    return encoder if skip == "none" else WithSkip(encoder, embedding_size, skip)


def turn_round(
    rows: Float[Tensor, "batch tokens size"], is_token: IsToken
) -> Float[Tensor, "batch tokens size"]:
    """Each text from its last word to its first; padding stays where it is."""
    lengths = is_token.sum(dim=1, keepdim=True)
    place = torch.arange(rows.shape[1], device=rows.device)
    source = torch.where(is_token, lengths - 1 - place, place)
    return rows.gather(1, source.unsqueeze(-1).expand_as(rows))
