"""What `audit.json` holds: the type of every value that is read from it or shown.

A file that was edited, cut or written by something else is refused when it is read, with the place
of the first value that does not fit; what is shown later can rely on it. Keys that are not named
here may hold anything: they are listed as they are.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_object

from heedful.auditing.metrics.base import Better
from heedful.auditing.verdict import Judgement, Verdict
from heedful.config import check
from heedful.errors import ConfigError

Number = float | None  # what is not a number is null
Plain = str | float | bool | None


class Score(TypedDict):
    """A score between its controls."""

    value: Number
    floor: Number
    ceiling: Number
    score: Number
    interval: list[Number]
    spread_interval: list[Number]
    documents: int
    left_out: int


class Test(TypedDict):
    """One test of a question."""

    question: str
    name: str
    better: Better
    score: Score
    judgement: Judgement
    note: NotRequired[str]
    column: NotRequired[str | None]


class Answer(TypedDict):
    """What was found on one question."""

    question: str
    asks: str
    judgement: Judgement | Literal["not asked"]
    tests: list[Test]
    reason: str


class Shown(TypedDict):
    """A document drawn as a heat map."""

    why: str
    place: int
    text: str
    label: str | None
    prediction: str
    probability: float
    offsets: list[list[int]]
    scores: dict[str, list[Number]]


class Share(TypedDict):
    """A share of some models."""

    value: Number
    low: Number
    high: Number
    models: int


class Point(TypedDict):
    """One operating point."""

    question: str
    test: str
    cut: Number
    is_judged: bool
    power: Share | None
    false_alarms: Share | None
    auc: Share | None
    note: NotRequired[str]


class Calibration(TypedDict):
    """What an audit was judged by."""

    made: dict[str, Any]
    verdict: dict[str, Number]
    points: list[Point]


class Fact(TypedDict):
    """A mean without controls."""

    question: str
    name: str
    mean: Number
    low: Number
    high: Number
    documents: int
    note: str


class Flips(TypedDict):
    """A cell of Serrano & Smith's four."""

    top_flips: bool
    other_flips: bool
    documents: int
    share: float


class Curve(TypedDict, total=False):
    """A point of a deletion curve."""

    measure: str
    k: int
    probability_drop: Number
    accuracy_drop: Number
    kept_own: Number
    kept_gold: Number
    documents: int


class Measure(TypedDict, total=False):
    """A measure in the ranking of all."""

    measure: str
    comprehensiveness: Number
    low: Number
    high: Number
    over_attention: Number
    over_attention_low: Number
    over_attention_high: Number
    sufficiency: Number
    documents: int


class Word(TypedDict, total=False):
    """A word of the vocabulary."""

    word: str
    kind: str
    attention_score: Number
    polarity: Number
    weight: Number
    occurrences: int


class Adversary(TypedDict, total=False):
    """A trained adversary."""

    model: str
    adversary_weight: Number
    jsd: Number
    tvd: Number
    is_on_frontier: bool


class Evidence(TypedDict, total=False):
    """Tables behind figures."""

    facts: list[Fact]
    flips: list[Flips]
    curves: list[Curve]
    measures: list[Measure]
    words: list[Word]
    frontier: list[Adversary]


class About(TypedDict, total=False):
    """What was audited, as far as anybody reads it."""

    name: str
    accuracy: Number
    documents_trained_on: int
    documents_cut: int
    notes: list[str]


class Stored(TypedDict):
    """The whole file."""

    verdict: Verdict
    instead: str
    documents_available: int
    documents_of_one_word: int
    answers: list[Answer]
    cuts: NotRequired[dict[str, float]]
    calibration: NotRequired[Calibration]
    about: About
    settings: dict[str, Any]
    evidence: Evidence
    shown: list[Shown]


def check_stored(stored: dict[str, Any]) -> None:
    """Refuse, with its place, the first value that is not of its type."""
    _check(stored, Stored, "")
    for table, rows in stored["evidence"].items():
        _check(rows, list[dict[str, Plain]], f"evidence.{table}")


def _check(value: Any, shape: Any, where: str) -> None:
    if type(None) in get_args(shape) and is_object(get_args(shape)[0]):
        shape = NoneType if value is None else get_args(shape)[0]
    if shape is Any:
        return
    if is_object(shape) or get_origin(shape) is dict:
        check(value, dict, where or "the file")
    elif get_origin(shape) is list:
        check(value, list, where)
    else:
        check(value, shape, where)
        return
    for place, inner, inner_shape in _parts(value, shape, where):
        _check(inner, inner_shape, place)


def _parts(value: Any, shape: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Every part of an object or a list with its place and its shape."""
    if get_origin(shape) is list:
        (of_each,) = get_args(shape)
        for number, item in enumerate(value):
            yield f"{where}[{number}]", item, of_each
        return
    inside = f"{where}." if where else ""
    if get_origin(shape) is dict:
        for name, item in value.items():
            yield f"{inside}{name}", item, get_args(shape)[1]
        return
    for name, of_name in get_type_hints(shape).items():
        if name in value:
            yield f"{inside}{name}", value[name], of_name
        elif name in shape.__required_keys__:
            raise ConfigError(f"{inside}{name} is missing.")
