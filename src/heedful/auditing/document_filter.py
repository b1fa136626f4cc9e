"""Which documents of an audit, in which order: what a table shows, and what stands behind a chart.

    label=negative&prediction=positive&where=epsilon_max_jsd:[0.5,0.6)&word=dull&sort=max_weight

A selection is such a query: labels and predictions (any of those given), numbers within an interval
in the mathematicians' notation, a word, a piece of text, an order.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.results import Audit, Column
from heedful.errors import DataError, UnknownName, nearest

Rows = Int[ndarray, " rows"]


@dataclass(frozen=True)
class Within:
    """Documents whose number in a column lies in an interval; those without one do not."""

    column: str
    low: float = -math.inf
    high: float = math.inf
    has_low: bool = True  # whether the end itself belongs to it
    has_high: bool = False

    @classmethod
    def parse(cls, text: str) -> "Within":
        """'max_weight:(0.25,0.5]'; an end left out is no end."""
        column, _, interval = text.rpartition(":")
        interval = interval.strip()
        left, ends, right = interval[:1], interval[1:-1].split(","), interval[-1:]
        if not column or left not in ("[", "(") or right not in ("]", ")") or len(ends) != 2:
            raise DataError(
                f"expected a column and an interval such as max_weight:[0.5,1], got {text!r:.80}."
            )
        low, high = map(str.strip, ends)
        try:
            least, most = float(low or "-inf"), float(high or "inf")
        except ValueError:
            least = most = math.nan
        if math.isnan(least) or math.isnan(most):
            raise DataError(
                f"the ends of an interval should be numbers or empty, not {interval!r:.60}."
            )
        return cls(column, least, most, has_low=left == "[", has_high=right == "]")

    def __str__(self) -> str:
        low = "" if self.low == -math.inf else repr(float(self.low))
        high = "" if self.high == math.inf else repr(float(self.high))
        return f"{self.column}:{'(['[self.has_low]}{low},{high}{')]'[self.has_high]}"

    def holds(self, numbers: Column) -> Bool[ndarray, " documents"]:
        """Which numbers lie in it."""
        above = numbers >= self.low if self.has_low else numbers > self.low
        below = numbers <= self.high if self.has_high else numbers < self.high
        # No end at all takes infinities in, but never what is not a number.
        above |= (self.low == -math.inf) & ~np.isnan(numbers)
        below |= (self.high == math.inf) & ~np.isnan(numbers)
        return above & below


@dataclass(frozen=True)
class Selection:
    """What is asked of the documents of an audit."""

    labels: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    is_right: bool | None = None
    where: tuple[Within, ...] = ()
    word: str = ""
    text: str = ""
    sort: str = ""
    is_descending: bool = True

    @property
    def query(self) -> str:
        """The selection as the query of an address."""
        parts: list[tuple[str, str]] = [
            *(("label", label) for label in self.labels),
            *(("prediction", prediction) for prediction in self.predictions),
            *([("right", "yes" if self.is_right else "no")] if self.is_right is not None else []),
            *(("where", str(one)) for one in self.where),
        ]
        words = {"word": self.word, "contains": self.text, "sort": self.sort}
        parts += [(name, value) for name, value in words.items() if value]
        if self.sort and not self.is_descending:
            parts.append(("order", "ascending"))
        return urlencode(parts)


def select(audit: Audit, selection: Selection) -> Rows:
    """The chosen documents' places, in the chosen order; without one, as they were audited."""
    is_chosen = np.ones(audit.documents, dtype=bool)
    if selection.labels:
        is_chosen &= np.isin(np.array([label or "" for label in audit.labels]), selection.labels)
    if selection.predictions:
        is_chosen &= np.isin(np.array(audit.predictions), selection.predictions)
    if selection.is_right is not None:
        pairs = zip(audit.labels, audit.predictions, strict=True)
        told = [None if label is None else label == prediction for label, prediction in pairs]
        is_chosen &= np.array([one is selection.is_right for one in told], dtype=bool)
    for one in selection.where:
        is_chosen &= one.holds(column_of(audit, one.column))
    rows = np.flatnonzero(is_chosen)
    if selection.text or selection.word:
        rows = rows[_says(audit.texts, rows, selection)]
    return rows if not selection.sort else _in_order(audit, rows, selection)


def _says(texts: Sequence[str], rows: Rows, selection: Selection) -> Bool[ndarray, " rows"]:
    found = [texts[row] for row in rows.tolist()]
    is_there = np.ones(len(rows), dtype=bool)
    if selection.text:
        piece = selection.text.casefold()
        is_there &= np.array([piece in text.casefold() for text in found], dtype=bool)
    if selection.word:
        word = _as_a_word(selection.word)
        is_there &= np.array([bool(word.search(text)) for text in found], dtype=bool)
    return is_there


def _as_a_word(word: str) -> re.Pattern[str]:
    """Finds a word that stands by itself; signs and scripts without spaces stand by themselves."""
    before = r"(?<!\w)" if _is_spaced(word[0]) else ""
    after = r"(?!\w)" if _is_spaced(word[-1]) else ""
    return re.compile(f"{before}{re.escape(word)}{after}", re.IGNORECASE)


def _is_spaced(sign: str) -> bool:
    return sign.isalnum() and unicodedata.east_asian_width(sign) not in ("W", "F")


def _in_order(audit: Audit, rows: Rows, selection: Selection) -> Rows:
    """Sorted; documents without a number come last either way."""
    named: Mapping[str, Sequence[str | None]] = {
        "label": audit.labels,
        "prediction": audit.predictions,
        "text": audit.texts,
    }
    if selection.sort in named:
        # No array of strings: it would give each of them the room of the longest.
        values = [str(named[selection.sort][row] or "").casefold() for row in rows.tolist()]
        ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
        numbers = np.array([ranks[value] for value in values], dtype=np.float64)
    else:
        numbers = column_of(audit, selection.sort)[rows]
    order = np.argsort(-numbers if selection.is_descending else numbers, kind="stable")
    return rows[order]


def column_of(audit: Audit, name: str) -> Column:
    """One number per document, by the name of the column."""
    try:
        return audit.columns[name]
    except KeyError:
        raise UnknownName(
            f"this audit has no column {name!r:.80}.{nearest(name, audit.columns)} Its documents "
            f"can be ordered by label, prediction, text and {len(audit.columns)} numbers."
        ) from None
