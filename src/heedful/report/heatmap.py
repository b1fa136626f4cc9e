"""A text and one score per word -> what a heat map draws: pieces of text with a strength.

Every measure of a document cuts the same text at the same places, so that lines align.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WORDS_SHOWN = 300  # of a long document; the rest is said to be left out
WEAKEST_SHADED = 0.04  # of the largest score: paler than this is not seen
TOP = 3  # words whose numbers are written out

Offsets = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Piece:
    """A stretch of text; `strength` from 0 to 1 is how deep its colour is."""

    text: str
    strength: float = 0.0
    score: float = 0.0
    is_top: bool = False


@dataclass(frozen=True)
class HeatLine:
    """The text as one measure sees it."""

    measure: str
    pieces: tuple[Piece, ...]
    strongest: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class HeatMap:
    """The text once per measure."""

    lines: tuple[HeatLine, ...]
    words: int
    left_out: int  # words of a long text that are not shown

    @property
    def is_long(self) -> bool:
        """Whether the measures after the first are better folded away."""
        return self.words > 80


def heat_map(text: str, offsets: Offsets, scores: Mapping[str, Sequence[float]]) -> HeatMap:
    """What to draw for each measure."""
    kept = min(len(offsets), WORDS_SHOWN)
    end = len(text) if kept == len(offsets) else offsets[kept - 1][1]
    lines = tuple(
        _line(measure, text[:end], offsets[:kept], list(numbers)[:kept])
        for measure, numbers in scores.items()
    )
    return HeatMap(lines, len(offsets), len(offsets) - kept)


def _line(measure: str, text: str, offsets: Offsets, scores: list[float]) -> HeatLine:
    scores = [score if math.isfinite(score) else 0.0 for score in scores]
    strongest = sorted(range(len(scores)), key=lambda place: -abs(scores[place]))[:TOP]
    strongest = [place for place in strongest if scores[place]]
    words = [text[start:end] for start, end in offsets]
    return HeatLine(
        measure=measure,
        pieces=tuple(_joined(_pieces(text, offsets, scores, set(strongest)))),
        strongest=tuple((words[place], scores[place]) for place in strongest),
    )


def _pieces(text: str, offsets: Offsets, scores: list[float], top: set[int]) -> Iterator[Piece]:
    largest = max(map(abs, scores), default=0.0) or 1.0
    position = 0
    for place, ((start, end), score) in enumerate(zip(offsets, scores, strict=True)):
        start = max(start, position)  # words that overlap are not written twice
        yield Piece(text[position:start])
        strength = abs(score) / largest
        if strength >= WEAKEST_SHADED:
            yield Piece(text[start:end], round(strength, 2), score, place in top)
        else:
            yield Piece(text[start:end])
        position = max(end, position)
    yield Piece(text[position:])


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Unshaded neighbours as one piece: most words of a long text are."""
    plain = ""
    for piece in pieces:
        if piece.strength == 0:
            plain += piece.text
            continue
        if plain:
            yield Piece(plain)
        plain = ""
        yield piece
    if plain:
        yield Piece(plain)
