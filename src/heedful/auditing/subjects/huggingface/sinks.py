"""Sinks: positions that take much attention and say little: [CLS], [SEP], full stops, the first.

Special positions are never shown, so what is left is scaled up. A full stop is a word, and users
take a sink among the words for one that matters. Shares are counted while texts are read.
"""

from collections import defaultdict

from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.importance.attributions.placing import letters_of
from heedful.readouts.pooling import SPECIAL

MUCH = 0.3  # of the attention
TIMES_OVER = 2.0  # as much as its share of the words
FIRST = "the first word"
SIGNS = "full stops and other signs"
MOST_NAMED = 3


class Sinks:
    """Where the attention of a readout goes, summed over the texts that were read."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.texts = 0
        self.outside: defaultdict[str, float] = defaultdict(
            float
        )  # shares of special tokens, by name
        self.within: defaultdict[str, float] = defaultdict(
            float
        )  # of what words get: first word, signs
        self.even: defaultdict[str, float] = defaultdict(
            float
        )  # the same if every piece got as much

    def add(self, weights: Float[Tensor, "batch positions"], batch: PieceBatch) -> None:
        """Count some texts."""
        weights = (weights.double() * batch.is_real).cpu()
        shares = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-300)
        numbers, word_of = batch.inputs["input_ids"].tolist(), batch.word_of.tolist()
        for row, (ids, words) in enumerate(zip(numbers, word_of, strict=True)):
            tokens = list(self.tokenizer.convert_ids_to_tokens(ids))
            real = batch.is_real[row].tolist()
            self._add(shares[row].tolist(), tokens, words, real)

    def _add(
        self, shares: list[float], tokens: list[str], words: list[int], real: list[bool]
    ) -> None:
        self.texts += 1
        of_words = sum(s for s, word in zip(shares, words, strict=True) if word != SPECIAL)
        pieces = sum(word != SPECIAL for word in words)
        for share, token, word, is_real in zip(shares, tokens, words, real, strict=True):
            if not is_real:
                continue
            if word == SPECIAL:
                self.outside[token] += share
                continue
            kinds = [FIRST] * (word == 0) + [SIGNS] * is_sign(token)
            for kind in kinds:
                self.within[kind] += share / of_words if of_words > 0 else 0.0
                self.even[kind] += 1 / pieces

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of them, in sentences; none where nothing was read."""
        if not self.texts:
            return ()
        found = []
        outside = sum(self.outside.values()) / self.texts
        if outside >= MUCH:
            named = ", ".join(
                f"{token} {share / self.texts:.0%}"
                for token, share in sorted(self.outside.items(), key=_by_share)[:MOST_NAMED]
            )
            found.append(
                f"{outside:.0%} of the attention lies on positions that are not words ({named}); "
                "they are left out, and the rest is scaled up"
            )
        for kind, total in self.within.items():
            share, even = total / self.texts, self.even[kind] / self.texts
            if share >= MUCH and share > TIMES_OVER * even:
                found.append(
                    f"{share:.0%} of the attention on words lies on {kind}, which would have "
                    f"{even:.0%} if it were even: possibly a sink"
                )
        return tuple(found)


def is_sign(piece: str) -> bool:
    """Whether a piece of a text is neither letters nor digits, whatever marks its place."""
    letters = letters_of(piece)
    return bool(letters) and not any(map(str.isalnum, letters))


def _by_share(named: tuple[str, float]) -> float:
    return -named[1]
