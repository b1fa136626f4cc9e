"""How much attention lies on punctuation and on special pieces (Bai et al. 2021)."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from heedful.analysis.instruments.base import OfAttention, analyses
from heedful.analysis.result import Result, with_interval
from heedful.auditing.bootstrap import estimate
from heedful.auditing.results import Table
from heedful.auditing.subjects.base import Reading, Subject
from heedful.config import at_least
from heedful.errors import DataError
from heedful.text.documents import Documents

DOCUMENTS_AT_ONCE = 64
SPECIAL, PUNCTUATION, WORDS = "special pieces", "punctuation", "other words"


@analyses.register("attention-mass")
@dataclass(frozen=True)
class AttentionMass(OfAttention):
    """Share of attention on punctuation and on special pieces of Hugging Face models (Bai et al.).

    mass = mean over documents of the weight of all signs of a kind, of 1 in all

    Even: what punctuation would get if all words got the same. Special pieces ([CLS], [SEP]) belong
    to no word and are dropped wherever weights of words are shown; here they are counted.
    """

    name = "attention-mass"
    asks = "How much attention is on punctuation and on special pieces?"

    readout: str = "last-cls"  # how the attention of a Hugging Face model is read
    signs: int = 10  # at most, those with the largest mass

    def __post_init__(self) -> None:
        at_least(1, signs=self.signs)

    def analyse(self, subject: Subject, documents: Documents, seed: int) -> Result:
        """Means over documents, and the signs that get most."""
        texts = documents.texts
        read = [
            mass
            for start in range(0, len(texts), DOCUMENTS_AT_ONCE)
            for mass in _masses(subject.read(texts[start : start + DOCUMENTS_AT_ONCE]))
        ]
        if not read:
            raise DataError("attention-mass needs documents with words, and there are none.")
        rng = np.random.default_rng(seed)
        special, punctuation, even = (
            np.array([getattr(one, name) for one in read])
            for name in ("special", "punctuation", "even")
        )
        words = 1 - special - punctuation
        summary: list[dict[str, Any]] = [
            {"on": kind, **with_interval("mass", estimate(mass, rng)), "even": share}
            for kind, mass, share in (
                (SPECIAL, special, None),
                (PUNCTUATION, punctuation, float(even.mean())),
                (WORDS, words, float(1 - even.mean())),
            )
            if kind != SPECIAL or any(one.has_special for one in read)
        ]
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables={"mass": tuple(summary), "signs": self._signs(read)},
            rows={
                "text": [one.text for one in read],
                "special": special.tolist(),
                "punctuation": punctuation.tolist(),
                "even_punctuation": even.tolist(),
            },
            notes=(
                "Mass is the share of all attention, averaged over documents. Even is the share of "
                "punctuation if every word had the same weight. Intervals are over documents.",
            ),
            about={"documents_read": len(read)},
        )

    def _signs(self, read: "list[_Mass]") -> Table:
        """The signs that get most attention: mass in the mean, and how often they occur."""
        mass: dict[str, float] = {}
        count: dict[str, int] = {}
        for one in read:
            for sign, weight in one.signs:
                mass[sign] = mass.get(sign, 0.0) + weight
                count[sign] = count.get(sign, 0) + 1
        most = sorted(mass, key=mass.__getitem__, reverse=True)[: self.signs]
        return tuple(
            {"sign": sign, "mass": mass[sign] / len(read), "occurrences": count[sign]}
            for sign in most
        )


@dataclass(frozen=True)
class _Mass:
    """Where the attention to one document lies."""

    text: str
    special: float
    has_special: bool
    punctuation: float
    even: float
    signs: list[tuple[str, float]]


def _masses(reading: Reading) -> Iterator[_Mass]:
    """One per document that has words."""
    for row, (text, offsets) in enumerate(zip(reading.texts, reading.offsets, strict=True)):
        if not len(offsets):
            continue
        words = [text[start:end] for start, end in offsets.tolist()]
        is_sign: Bool[ndarray, " words"] = np.array([is_punctuation(word) for word in words])
        on_special = 0.0 if reading.on_special is None else float(reading.on_special[row])
        weights = (1 - on_special) * reading.weights[row, : len(words)]
        yield _Mass(
            text=text,
            special=on_special,
            has_special=reading.on_special is not None,
            punctuation=float(weights[is_sign].sum()),
            even=float(is_sign.mean()),
            signs=[(words[n], float(weights[n])) for n in np.flatnonzero(is_sign)],
        )


def is_punctuation(word: str) -> bool:
    """Whether a word has nothing but punctuation, as Unicode sorts characters."""
    return all(unicodedata.category(sign).startswith("P") for sign in word)
