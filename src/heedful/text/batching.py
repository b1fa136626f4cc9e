"""Encoded documents to padded batches, filled in length buckets up to a token budget.

Documents of like length travel together, so little of a batch is padding, and no batch holds more
than `token_budget` tokens, padding included, however long its documents are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.text.pieces import NO_PIECE
from heedful.text.vocabulary import NO_WORD, Encoded

TOKEN_BUDGET = 16_384
BATCHES_PER_POOL = 50  # in training, documents are sorted by length within this many batches


@dataclass(frozen=True)
class KnownStates:
    """What an encoder that learns nothing made of the words: the same in every epoch."""

    states: Float[Tensor, "batch tokens states"]
    by: object  # the encoder; no other one may use them


@dataclass(frozen=True)
class Sizes:
    """How long documents are, at most.

    A GPU that is asked has to finish all its work before it answers, so callers who know tell.
    """

    words: Int[ndarray, " batch"]
    pieces: Int[ndarray, " batch"]  # of a pretrained model; words where they are whole

    def of(self, rows: Int[ndarray, " rows"]) -> "Sizes":
        """Those of some of the documents."""
        return Sizes(self.words[rows], self.pieces[rows])

    def of_share(self, share: float, pieces_per_word: int) -> "Sizes":
        """Those of the ⌈share · n⌉ words that a device chooses of each document."""
        # One word more, should the device count up where this does not.
        words = np.minimum(self.words, np.ceil(self.words * share).astype(np.int64) + 1)
        return Sizes(words, np.minimum(self.pieces, words * pieces_per_word))


@dataclass(frozen=True)
class Batch:
    """Padded documents; `is_token` is True on real words."""

    token_ids: Int[Tensor, "batch tokens"]
    is_token: Bool[Tensor, "batch tokens"]
    labels: Int[Tensor, " batch"]
    example_weight: Float[Tensor, " batch"]  # how much each document counts in a loss
    indices: Int[ndarray, " batch"]  # where the documents stand in their corpus
    piece_ids: Int[Tensor, "batch tokens pieces"] | None = None  # for a pretrained encoder
    known: KnownStates | None = None
    sizes: Sizes | None = None

    @property
    def longest_row(self) -> int | None:
        """At most this many pieces has a document, if that can be told without a look."""
        return None if self.sizes is None else int(self.sizes.pieces.max(initial=0))

    @property
    def pieces_per_word(self) -> int:
        """How many pieces there is room for at each word; 1 where words are whole."""
        return 1 if self.piece_ids is None else self.piece_ids.shape[2]

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        return replace(
            self,
            token_ids=sent(self.token_ids, device),
            is_token=sent(self.is_token, device),
            labels=sent(self.labels, device),
            example_weight=sent(self.example_weight, device),
            piece_ids=None if self.piece_ids is None else sent(self.piece_ids, device),
            known=None
            if self.known is None
            else replace(self.known, states=sent(self.known.states, device)),
        )

    def kept(
        self,
        document: Int[Tensor, " variants"],
        is_kept: Bool[Tensor, "variants tokens"],
        sizes: Sizes | None = None,
    ) -> "Batch":
        """Documents of the batch with only some of their words, which move up.

        Their states are not known: a state depends on the words around it. If the device is not to
        be asked for their sizes, `document` lies on the CPU and `sizes` are given; no text may be
        longer.
        """
        lengths = is_kept.sum(dim=1)
        if sizes is not None:
            longest = max(1, int(sizes.words.max(initial=0)))
        else:
            longest = max(1, int(lengths.max())) if len(lengths) else 1
        rows = sent(document, is_kept.device)
        # What is not kept lands in a column of its own, which is then cut off.
        place = (is_kept.cumsum(dim=1) - 1).masked_fill(~is_kept, longest)
        is_token = torch.arange(longest, device=is_kept.device) < lengths.unsqueeze(1)

        def moved_up(of_words: Tensor, blank: int) -> Tensor:
            inner = of_words.shape[2:]
            moved = of_words.new_full((len(rows), longest + 1, *inner), blank)
            places = place.unflatten(1, (-1, *[1] * len(inner))).expand(*place.shape, *inner)
            return moved.scatter_(1, places, of_words[rows])[:, :longest]

        pieces = None if self.piece_ids is None else moved_up(self.piece_ids, NO_PIECE)
        return Batch(
            token_ids=moved_up(self.token_ids, NO_WORD),
            is_token=is_token,
            labels=self.labels[rows],
            example_weight=self.example_weight[rows],
            indices=self.indices[document.cpu().numpy()],
            piece_ids=pieces,
            sizes=sizes,
        )


def may_be_asked(tensor: Tensor) -> bool:
    """Whether its numbers can be read at once: a GPU has to finish all its work first."""
    return not tensor.is_cuda


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on a device; nobody waits while it is on its way to a GPU."""
    if device.type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Batches:
    """All documents of a part, handed out as batches."""

    def __init__(
        self,
        documents: Encoded,
        labels: Int[ndarray, " documents"] | None = None,
        example_weight: Float[ndarray, " documents"] | None = None,
        *,
        batch_size: int = 1_000_000,
        token_budget: int = TOKEN_BUDGET,
        device: torch.device = torch.device("cpu"),
    ) -> None:
        self.documents = documents
        self.labels = np.zeros(len(documents), np.int64) if labels is None else labels
        weight = np.ones(len(documents)) if example_weight is None else example_weight
        self.example_weight = weight.astype(np.float32)
        self.batch_size = batch_size
        self.token_budget = token_budget
        self.device = device
        self._sizes = _sizes(documents)
        self._known: KnownStates | None = None  # of all words end to end, one document

    def __len__(self) -> int:
        return len(self.documents)

    def whole(self) -> Batch:
        """Every document in one batch, in the order of the corpus, whatever the budget."""
        return self._batch(np.arange(len(self)))

    def by_length(self) -> Iterator[Batch]:
        """Every document once, longest first, so that memory gives out at once or never."""
        order = np.argsort(-self.documents.lengths, kind="stable")
        return map(self._batch, self._fill(order))

    def remember(
        self, by: object, read: Callable[[Batch], Float[Tensor, "batch tokens states"]]
    ) -> None:
        """Let `read` read every document once; from here on batches bring what it found."""
        found: Tensor | None = None
        for batch in self.by_length():
            states = read(batch)
            if found is None:
                found = states.new_empty(1, len(self.documents.token_ids), states.shape[-1])
            lengths = self.documents.lengths[batch.indices]
            columns = np.arange(states.shape[1])
            places = self.documents.starts[batch.indices][:, None] + columns
            places = torch.from_numpy(places[columns < lengths[:, None]]).to(states.device)
            found[0, places] = states[batch.is_token]
        self._known = None if found is None else KnownStates(found, by)

    def shuffled(self, rng: torch.Generator) -> Iterator[Batch]:
        """Every document once, in an order that `rng` decides."""
        order = torch.randperm(len(self), generator=rng).numpy()
        pool = self.batch_size * BATCHES_PER_POOL
        chunks = []
        for start in range(0, len(order), pool):
            some = order[start : start + pool]
            by_length = some[np.argsort(-self.documents.lengths[some], kind="stable")]
            chunks += self._fill(by_length)
        for number in torch.randperm(len(chunks), generator=rng).tolist():
            yield self._batch(chunks[number])

    def _fill(self, order: Int[ndarray, " documents"]) -> list[Int[ndarray, " batch"]]:
        """Cut an order, longest first, into batches within size and budget."""
        chunks, start = [], 0
        while start < len(order):
            longest = max(1, int(self.documents.lengths[order[start]]))
            size = max(1, min(self.batch_size, self.token_budget // longest))
            chunks.append(order[start : start + size])
            start += size
        return chunks

    def _batch(self, indices: Int[ndarray, " batch"]) -> Batch:
        lengths = self.documents.lengths[indices]
        columns = np.arange(max(1, lengths.max(initial=0)))
        is_token = columns < lengths[:, None]
        token_ids = np.full(is_token.shape, NO_WORD, dtype=np.int64)
        places = (self.documents.starts[indices][:, None] + columns)[is_token]
        token_ids[is_token] = self.documents.token_ids[places]
        pieces = None
        if self.documents.pieces is not None:
            of_words = self.documents.pieces.padded(places)
            pieces = np.full((*is_token.shape, of_words.shape[1]), NO_PIECE, dtype=np.int64)
            pieces[is_token] = of_words
        batch = Batch(
            token_ids=torch.from_numpy(token_ids),
            is_token=torch.from_numpy(is_token),
            labels=torch.from_numpy(self.labels[indices]),
            example_weight=torch.from_numpy(self.example_weight[indices]),
            indices=indices,
            piece_ids=None if pieces is None else torch.from_numpy(pieces),
            sizes=self._sizes.of(indices),
        )
        batch = batch if self.device.type == "cpu" else batch.to(self.device)
        if self._known is None:
            return batch
        starts = self.documents.starts[indices][:, None]
        return self._with_known(batch, np.where(is_token, starts + columns, 0), self._known)

    def _with_known(
        self, batch: Batch, places: Int[ndarray, "batch tokens"], known: KnownStates
    ) -> Batch:
        of_all = known.states[0]
        states = of_all[sent(torch.from_numpy(places), of_all.device)]
        states.masked_fill_(~batch.is_token.unsqueeze(-1), 0)
        return replace(batch, known=KnownStates(states, known.by))


def _sizes(documents: Encoded) -> Sizes:
    if documents.pieces is None:
        return Sizes(documents.lengths, documents.lengths)
    # Every word takes a place in the row, whatever it is made of.
    counts = np.maximum(1, np.diff(documents.pieces.starts))
    before = np.concatenate([[0], np.cumsum(counts)])
    return Sizes(documents.lengths, np.diff(before[documents.starts]))
