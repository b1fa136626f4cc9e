"""What `audit.json` holds beside records: the types of what is read from it or shown.

Keys that are not named here may hold anything: they are listed as they are. Of a table behind a
figure every cell is a plain value.
"""

from typing import Any, NotRequired, TypedDict

Number = float | None  # what is not a number is null
Plain = str | int | float | bool | None


class Share(TypedDict):
    """A share of some models."""

    value: Number
    low: Number
    high: Number
    models: int


class StoredCut(TypedDict):
    """The score at a tolerated dose, for one kind of model."""

    value: float
    low: Number
    high: Number
    models: int
    curve: list[tuple[float, float]]


class Point(TypedDict):
    """One operating point; from schema 2 on with a dose and a cut for each kind of model."""

    question: str
    test: str
    cut: Number
    is_judged: bool
    power: Share | None
    false_alarms: Share | None
    auc: Share | None
    note: NotRequired[str]
    dose: NotRequired[str]
    tolerated: NotRequired[Number]
    cuts: NotRequired[dict[str, StoredCut]]


class Rate(TypedDict):
    """How often the verdict did one thing with models of one kind."""

    value: float
    low: float
    high: float
    models: int


class Rates(TypedDict, total=False):
    """How often the verdict was right on some models."""

    liars_passed: Rate
    partial_liars_passed: Rate
    honest_refused: Rate
    honest_passed: Rate


class VerdictRates(TypedDict, total=False):
    """The same of all models; those of schema 1 were single numbers."""

    all: Rates
    liars_caught: Number
    honest_refused: Number


class Calibration(TypedDict):
    """What an audit was judged by."""

    made: dict[str, Any]
    verdict: VerdictRates
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


class Row(TypedDict, total=False):
    """A row of any other table: a column of one name has one type in all of them."""

    measure: str
    word: str
    kind: str
    model: str
    k: int
    documents: int
    occurrences: int
    is_on_frontier: bool
    probability_drop: Number
    accuracy_drop: Number
    kept_own: Number
    kept_gold: Number
    false_pictures: Number
    comprehensiveness: Number
    sufficiency: Number
    low: Number
    high: Number
    over_attention: Number
    over_attention_low: Number
    over_attention_high: Number
    attention_score: Number
    polarity: Number
    weight: Number
    adversary_weight: Number
    jsd: Number
    tvd: Number


class Evidence(TypedDict, total=False):
    """Tables behind figures."""

    facts: list[Fact]
    flips: list[Flips]
    curves: list[Row]
    measures: list[Row]
    classes: list[Row]
    words: list[Row]
    frontier: list[Row]


class About(TypedDict, total=False):
    """What was audited, as far as anybody reads it."""

    name: str
    accuracy: Number
    documents_trained_on: int
    documents_cut: int
    notes: list[str]
