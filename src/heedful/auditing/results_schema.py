"""What `audit.json` holds beside records: the types of what is read from it or shown.

Keys that are not named here may hold anything: they are listed as they are. Of a table behind a
figure every cell is a plain value.
"""

from typing import Any, NotRequired, TypedDict

from heedful.auditing.verdict import Judgement, Verdict

Number = float | None  # what is not a number is null
Plain = str | int | float | bool | None


class Share(TypedDict):
    """A share of some models."""

    value: Number
    low: Number
    high: Number
    models: int


class Cut(TypedDict):
    """Where a tolerated dose is reached, for one kind of model."""

    value: float
    low: Number
    high: Number
    models: int
    curve: list[tuple[float, float]]


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
    dose: NotRequired[str]
    tolerated: NotRequired[Number]
    cuts: NotRequired[dict[str, Cut]]


class Rates(TypedDict, total=False):
    """How often a verdict was right: shares by name in schema 2, single numbers in schema 1."""

    all: dict[str, Share]
    liars_caught: Number
    honest_refused: Number


class Calibration(TypedDict):
    """What an audit was judged by."""

    made: dict[str, Any]
    verdict: Rates
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


ClassRow = TypedDict(
    "ClassRow",
    {"class": str, "false_pictures": Number, "low": Number, "high": Number, "documents": int},
)
"""False pictures of one predicted class."""


class Curve(TypedDict):
    """A measure's curve at one number of words."""

    measure: str
    k: int
    probability_drop: Number
    accuracy_drop: Number
    kept_own: Number
    kept_gold: Number
    documents: int


class Measure(TypedDict):
    """A measure of importance in the ranking of all."""

    measure: str
    comprehensiveness: Number
    low: Number
    high: Number
    over_attention: Number
    over_attention_low: Number
    over_attention_high: Number
    sufficiency: Number
    documents: int
    false_pictures: NotRequired[Number]  # since version 0.2
    false_low: NotRequired[Number]
    false_high: NotRequired[Number]
    judgement: NotRequired[Judgement]
    otherwise: NotRequired[str]  # what other ways to take words away say of given scores
    verdict: NotRequired[Verdict | None]
    random_model: NotRequired[Number]
    random_model_judgement: NotRequired[Judgement | None]
    incompleteness: NotRequired[Number]
    incompleteness_judgement: NotRequired[Judgement | None]


class Ceiling(TypedDict):
    """How often a ranking was the best one."""

    measure: str
    share: Number
    documents: int


class Instead(TypedDict):
    """The reading that may be shown instead of attention, judged on other documents."""

    measure: str
    false_pictures: Number
    false_low: Number
    false_high: Number
    judgement: Judgement
    documents: int


class WordRow(TypedDict):
    """A word, what it is tied to and how much attention it gets."""

    word: str
    kind: str
    attention_score: Number
    polarity: Number
    weight: Number
    occurrences: int


class Adversary(TypedDict):
    """A trained adversary (deep audits)."""

    model: str
    adversary_weight: Number
    jsd: Number
    tvd: Number
    is_on_frontier: bool
    accuracy: NotRequired[Number]  # since version 0.2
    accuracy_drop: NotRequired[Number]


class Matched(TypedDict):
    """What an adversary pays at a distance that is the same for all models (deep audits)."""

    model: str
    at_jsd: Number
    tvd: Number


class Evidence(TypedDict, total=False):
    """Tables behind figures."""

    facts: list[Fact]
    flips: list[Flips]
    curves: list[Curve]
    measures: list[Measure]
    classes: list[ClassRow]
    ceiling: list[Ceiling]
    instead: list[Instead]
    words: list[WordRow]
    frontier: list[Adversary]
    matched: list[Matched]


class About(TypedDict, total=False):
    """What was audited: the fields that are read."""

    name: str
    judged_as: str
    accuracy: Number
    documents_trained_on: int
    documents_cut: int
    documents_in_windows: int
    notes: list[str]
    identity: dict[str, Plain]
    given: list[str]


class StoredSettings(TypedDict, total=False):
    """The settings that a verdict is shown by."""

    tolerate: Number
    fractions: list[float]
