"""What a kind of classifier is, and which half of the kinds it belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heedful.auditing.subjects.base import Subject
from heedful.text.documents import Documents

DOCUMENTS = 200


SAMPLED = 60  # documents for what is costly


QUESTIONS = ("decisive", "telling", "leak-free")


MISLABELLED = 0.05  # share of the documents whose label is not what the model says


SPLIT_SEED = 20261119


Words = list[str]


Numbers = NDArray[np.float64]


Logits = Callable[[Words], Numbers]  # a number per class


Picture = Callable[[Words], Numbers]  # a number of at least 0 per word; they need not sum to 1


Range = tuple[int, int]  # both ends included


Rng = np.random.Generator


Truth = Literal["honest", "partial", "liar"]


Half = Literal["dev", "held-out"]


@dataclass(frozen=True)
class Case:
    """A classifier and the documents on which it is audited."""

    subject: Subject
    documents: Documents


@dataclass(frozen=True)
class Kind:
    """A kind of classifier, and what is known about its picture."""

    name: str
    truth: Truth
    make: Callable[[Rng], Case]
    debatable: str = ""  # why somebody might call its picture otherwise; written before any audit

    @property
    def says(self) -> str:
        """What it is, in a sentence or two."""
        return " ".join((self.make.__doc__ or "").split())


KINDS: dict[str, Kind] = {}


Make = Callable[[Rng], Case]


def kind(truth: Truth, debatable: str = "") -> Callable[[Make], Make]:
    """Register a kind under the name of the function that makes it."""

    def register(make: Make) -> Make:
        KINDS[make.__name__] = Kind(make.__name__, truth, make, debatable)
        return make

    return register


def halves() -> dict[str, Half]:
    """The half of each kind: of every truth, one kind in two at random."""
    rng = np.random.default_rng(SPLIT_SEED)
    found: dict[str, Half] = {}
    for truth in ("honest", "partial", "liar"):
        names = sorted(name for name, one in KINDS.items() if one.truth == truth)
        for place, number in enumerate(rng.permutation(len(names)).tolist()):
            found[names[number]] = "dev" if place % 2 == 0 else "held-out"
    return found
