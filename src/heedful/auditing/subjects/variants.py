"""Documents with only some of their words left, and what was predicted from them.

Erasure asks for the same words again and again: rankings share their top words, greedy erasure
starts from leave-one-out, and curves delete what the tests have deleted. For a model that reads
every shortened text, finding an answer again costs much less than computing it.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

Sources = Int[ndarray, " variants"]  # which document each shortened one comes from
KeptWords = Bool[ndarray, "variants words"]
OfVariants = Float[ndarray, "variants classes"]
Rows = Int[ndarray, " some"]


class KnownVariants:
    """Probabilities by document and kept words."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._found: OfVariants | None = None

    def __call__(
        self,
        document: Sources,
        is_kept: KeptWords,
        predict: Callable[[Rows], Float[ndarray, "some classes"]],
    ) -> OfVariants:
        """Probabilities of all variants; `predict` is asked for the unknown rows, each once."""
        keys = _keys(document, is_kept)
        unknown: dict[bytes, int] = {}
        for row, key in enumerate(keys):
            if key not in self._places:
                unknown.setdefault(key, row)
        if unknown or self._found is None:
            self._add(list(unknown), predict(np.array([*unknown.values()], dtype=np.int64)))
        assert self._found is not None
        return self._found[np.array([self._places[key] for key in keys], dtype=np.int64)]

    def add(self, document: Sources, is_kept: KeptWords, probabilities: OfVariants) -> None:
        """Remember variants that were predicted in another way; those that are known stay."""
        keys = _keys(document, is_kept)
        first = {key: row for row, key in enumerate(keys) if key not in self._places}
        self._add(list(first), probabilities[[*first.values()]])

    def _add(self, keys: list[bytes], probabilities: Float[ndarray, "some classes"]) -> None:
        self._places.update(zip(keys, range(len(self._places), 2**62), strict=False))
        known = [] if self._found is None else [self._found]
        self._found = np.concatenate([*known, probabilities])


def _keys(document: Sources, is_kept: KeptWords) -> list[bytes]:
    """One for each different document and set of words."""
    packed = np.packbits(is_kept, axis=1)
    numbers = np.ascontiguousarray(document, dtype=np.int64)[:, None].view(np.uint8)
    rows = np.ascontiguousarray(np.concatenate([numbers, packed], axis=1))
    return cast(list[bytes], rows.view(np.dtype((np.void, rows.shape[1]))).ravel().tolist())
