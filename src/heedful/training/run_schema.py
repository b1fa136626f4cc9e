"""What the JSON files of a run hold: the types of what is read from them or shown.

Keys that are not named here may hold anything.
"""

from typing import Any, NotRequired, TypedDict

Number = float | None  # what is not a number is null
Finite = int | float  # a number that must be there


class Scores(TypedDict):
    """How a classifier did on some documents (`metrics.json`, by part)."""

    documents: int
    loss: Number
    accuracy: Finite
    accuracy_interval: tuple[Finite, Finite]
    f1: Number
    majority_accuracy: Finite


class HealedScores(TypedDict):
    """How well attention keeps to the model that decides, and how both did on labelled texts."""

    documents: int
    decisions_kept: Finite
    decisions_kept_interval: tuple[Finite, Finite]
    accuracy: NotRequired[Finite]
    attention_accuracy: NotRequired[Finite]
    labelled_documents: NotRequired[int]


class EpochLine(TypedDict):
    """A line of `history.jsonl`."""

    phase: int
    epoch: int
    train_loss: Number
    is_best: bool
    seconds: Finite
    dev_documents: NotRequired[int]
    dev_loss: NotRequired[Number]
    dev_accuracy: NotRequired[Number]
    dev_f1: NotRequired[Number]
    notes: NotRequired[dict[str, Number]]


class DataFacts(TypedDict, total=False):
    """What a run was trained on."""

    name: str | None
    source: str | None
    text: str | None
    label: str | None
    dev_share: Number
    test_share: Number
    documents: dict[str, int]
    fingerprint: str


class VectorFacts(TypedDict):
    """Which word vectors a run began with."""

    source: str
    share_of_training_tokens_covered: Finite


class Provenance(TypedDict, total=False):
    """`provenance.json`: how a run came about, and the checksums of its files."""

    seed: int
    data: DataFacts
    documents_cut: int
    vectors: VectorFacts | None
    versions: dict[str, Any]
    sha256: dict[str, str]
    seal: str


Metrics = dict[str, Scores]
"""`metrics.json`, by part."""

HealedMetrics = dict[str, HealedScores]
"""The same of a healed run."""
