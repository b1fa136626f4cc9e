"""A text and one score per word -> what a heat map draws: pieces of text with a strength.

Every measure of a document cuts the same text at the same places, so that lines align. In a report
one number of a measure has one depth of colour in all documents.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    is_marked: bool = False  # by people, as the reason


@dataclass(frozen=True)
class HeatLine:
    """The text as one measure sees it."""

    measure: str
    pieces: tuple[Piece, ...]
    strongest: tuple[tuple[str, float], ...]
    is_signed: bool = True


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


def scales_of(scores: Iterable[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The largest score of each measure in some documents: what has the deepest colour."""
    found: dict[str, float] = {}
    for by_measure in scores:
        for measure, numbers in by_measure.items():
            largest = max((abs(one) for one in numbers if math.isfinite(one)), default=0.0)
            found[measure] = max(found.get(measure, 0.0), largest)
    return found


def heat_map(
    text: str,
    offsets: Offsets,
    scores: Mapping[str, Sequence[float]],
    *,
    unsigned: Sequence[str] = (),
    marked: Offsets = (),
    scales: Mapping[str, float] | None = None,
) -> HeatMap:
    """What to draw for each measure.

    `unsigned` are measures without a sign, `marked` what people marked, in characters. `scales`
    are the scores of the deepest colour; by default the largest of this text.
    """
    kept = min(len(offsets), WORDS_SHOWN)
    end = len(text) if kept == len(offsets) else offsets[kept - 1][1]
    lines = tuple(
        _line(
            measure,
            text[:end],
            offsets[:kept],
            list(numbers)[:kept],
            [
                any(start < m_end and m_start < stop for m_start, m_end in marked)
                for start, stop in offsets[:kept]
            ],
            (scales or scales_of([scores]))[measure],
            measure not in unsigned,
        )
        for measure, numbers in scores.items()
    )
    return HeatMap(lines, len(offsets), len(offsets) - kept)


def _line(
    measure: str,
    text: str,
    offsets: Offsets,
    scores: list[float],
    is_marked: list[bool],
    full: float,
    is_signed: bool,
) -> HeatLine:
    scores = [score if math.isfinite(score) else 0.0 for score in scores]
    strongest = sorted(range(len(scores)), key=lambda place: -abs(scores[place]))[:TOP]
    strongest = [place for place in strongest if scores[place]]
    words = [text[start:end] for start, end in offsets]
    return HeatLine(
        measure=measure,
        pieces=tuple(_joined(_pieces(text, offsets, scores, set(strongest), is_marked, full))),
        strongest=tuple((words[place], scores[place]) for place in strongest),
        is_signed=is_signed,
    )


def _pieces(
    text: str,
    offsets: Offsets,
    scores: list[float],
    top: set[int],
    is_marked: list[bool],
    full: float,
) -> Iterator[Piece]:
    position = 0
    for place, ((start, end), score) in enumerate(zip(offsets, scores, strict=True)):
        start = max(start, position)  # words that overlap are not written twice
        yield Piece(text[position:start])
        strength = min(abs(score) / (full or 1.0), 1.0)
        if strength >= WEAKEST_SHADED:
            is_top = place in top
            yield Piece(text[start:end], round(strength, 2), score, is_top, is_marked[place])
        else:
            yield Piece(text[start:end], is_marked=is_marked[place])
        position = max(end, position)
    yield Piece(text[position:])


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours with neither colour nor mark as one piece: most words of a long text are."""
    plain = ""
    for piece in pieces:
        if piece.strength == 0 and not piece.is_marked:
            plain += piece.text
            continue
        if plain:
            yield Piece(plain)
        plain = ""
        yield piece
    if plain:
        yield Piece(plain)
