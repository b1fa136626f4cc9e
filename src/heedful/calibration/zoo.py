"""The zoo as it is written down: kinds of models with a known answer, and settings to make them in.

zoo.toml -> Zoo: which models there are, what is true of each by question, and how that is known.
There are two sorts: *trained* kinds, checked on the dev part, and *exact* kinds, built by hand or
shown with pictures of known truth, of which doses are known (`exact.py`).
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal

from heedful.auditing.questions import audit_tests
from heedful.auditing.subjects.base import Architecture
from heedful.calibration.built import BuiltModel
from heedful.calibration.exact import PLACED, Exact
from heedful.calibration.pictures import Picture
from heedful.calibration.planted_transformers import BASES, Base
from heedful.config import from_plain
from heedful.errors import ConfigError

CONSTRUCTION = "construction"
HONEST_AT_MOST = {"false-documents": 0.05, "bypass": 0.1, "written-choice": 0.05}
PARTLY_FROM = {"false-documents": 0.3, "bypass": 0.5, "written-choice": 0.4}
FULLY_FROM = 0.9  # of any dose
QUESTION_OF = {"false-documents": "telling", "bypass": "decisive", "written-choice": "leak-free"}
Lies = Literal["no", "partly", "fully", "between"]  # between: too little to be called false
EVIDENCE = "evidence"  # the analysis that checks read, on the dev part
KNOWN_OF = ("explains", "checks", "truth", "with_one_word")  # a kind, and those like it
Answer = Literal["holds", "fails"]

# What a truth may be checked by, in words.
QUANTITIES = {
    "accuracy": "accuracy, of what the evidence allows (1 less the noise)",
    "evidence_mass": "attention on the evidence",
    "relative_mass": "attention on the evidence, in units of what even weights put there",
    "own_influence": "share of a state's influence that comes from its own word, above 1/n",
    "moved": "how far permuted weights move the prediction, of what losing all states does",
}


@dataclass(frozen=True)
class Truth:
    """What is true of a model on one question, and how that is known."""

    answer: Answer
    by: str  # the way it is made, or a quantity that was checked

    @classmethod
    def parse(cls, said: str) -> "Truth":
        """'holds by construction', 'fails by evidence_mass'."""
        answer, _, by = said.partition(" by ")
        if answer not in ("holds", "fails") or by not in (CONSTRUCTION, *QUANTITIES):
            raise ConfigError(f"a truth reads 'holds by construction' or the like, not {said!r}.")
        return cls(answer, by)  # type: ignore[arg-type]

    def is_defined_by(self, test: str) -> bool:
        """Whether the test measures the very quantity that the truth was checked by."""
        known = audit_tests().get(test)
        return known is not None and self.by in known.defined_by


@dataclass(frozen=True)
class Setting:
    """What the documents are like that models are trained on."""

    name: str
    half: int  # 1 or 2: which half of the settings it belongs to
    data: str  # a corpus
    words: int  # of a document
    evidence: int  # different words that say the label
    repeats: int = 1  # how often each stands there
    noise: float = 0.0  # share of documents with another label's evidence
    classes: int = 2
    language: Literal["made up", "real"] = "made up"
    needs_all: bool = False  # whether no word of the evidence says anything without the others

    @property
    def has_one_word(self) -> bool:
        """Whether a single word decides, and nothing else says the same."""
        return self.evidence == self.repeats == 1


@dataclass(frozen=True)
class Kind:
    """A way to make a model, and what is true of it."""

    name: str
    says: str
    explains: bool  # whether its attention may be shown as an explanation
    model: Mapping[str, Any]  # its settings
    checks: Mapping[str, tuple[float, ...]]  # quantity: at least this, at most that
    truth: Mapping[str, Truth]  # by question
    with_one_word: Mapping[str, Truth] = field(default_factory=dict)  # also, where one decides
    settings: tuple[str, ...] = ()
    deep: tuple[str, ...] = ()  # settings in which twins are trained too
    quick: tuple[str, ...] = ()  # settings of the quick zoo

    def truth_in(self, setting: Setting) -> dict[str, Truth]:
        """What is true by question in a setting."""
        return {**self.truth, **(self.with_one_word if setting.has_one_word else {})}

    def failed_checks(self, found: Mapping[str, float]) -> list[str]:
        """The checks that a model does not pass, in words."""
        return [
            f"{name} {found[name]:.2f}, not {in_words(bounds)}"
            for name, bounds in self.checks.items()
            if not is_within(found[name], bounds)
        ]


@dataclass(frozen=True)
class Member:
    """One model of the zoo."""

    kind: Kind
    setting: Setting
    seed: int
    is_deep: bool

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"{self.kind.name}, {self.setting.name}, seed {self.seed}"


@dataclass(frozen=True)
class ExactKind:
    """A way to build a model, or to show pictures beside one, and what is true of it."""

    name: str
    says: str
    architectures: tuple[Architecture, ...]
    settings: tuple[str, ...]
    model: Mapping[str, Any] = field(default_factory=dict)
    picture: Mapping[str, Any] = field(default_factory=dict)
    vary: str = ""  # a field of the model or of the picture that takes each of `values`
    values: tuple[float, ...] = ()
    doses: Mapping[str, float] = field(default_factory=dict)  # known; `vary` may be one of them
    lies: Lies | None = None  # None: as the doses say
    base: Base = "tiny-bert"  # what a Transformer behind it is trained from
    quick: tuple[str, ...] = ()  # settings of the quick zoo
    quick_values: tuple[float, ...] = ()

    def known(self, model: Mapping[str, Any]) -> dict[str, float]:
        """The doses of one of its models, as far as they follow from how it is made."""
        varied = {"bypass": float(model["bypass"])} if "bypass" in model else {}
        return {**self.doses, **varied}

    def variants(self, *, is_quick: bool) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """A name, the model and the picture for each value that is varied."""
        if not self.vary:
            yield self.name, dict(self.model), dict(self.picture)
            return
        for value in self.quick_values if is_quick else self.values:
            model, picture = dict(self.model), dict(self.picture)
            changed = picture if self.vary in PICTURE_FIELDS else model
            changed[self.vary] = value
            yield f"{self.name} {value:g}", model, picture


BESIDE_TRAINED: tuple[Architecture, ...] = ("classifier", "transformer")
PICTURE_FIELDS = tuple(field.name for field in fields(Picture))


@dataclass(frozen=True)
class ExactMember:
    """One exact model."""

    kind: ExactKind
    setting: Setting
    exact: Exact
    seed: int = 0  # of the trained model behind it, the first unnamed; 0: there is none

    @property
    def name(self) -> str:
        """What a person calls it."""
        seeded = f", seed {self.seed}" if self.seed > 1 else ""
        return f"{self.exact.name}, {self.setting.name}, {self.exact.architecture}{seeded}"

    def lies(self, doses: Mapping[str, float]) -> Lies:
        """Whether its pictures lie, by its doses."""
        if self.kind.lies is not None:
            return self.kind.lies
        if any(dose >= FULLY_FROM for dose in doses.values()):
            return "fully"
        if any(doses.get(name, 0.0) >= bound for name, bound in PARTLY_FROM.items()):
            return "partly"
        is_honest = all(doses.get(name, 0.0) <= bound for name, bound in HONEST_AT_MOST.items())
        return "no" if is_honest else "between"


def truth_by_doses(doses: Mapping[str, float]) -> dict[str, Truth]:
    """What doses say by question; nothing of a dose between what is honest and what is false."""
    found = {}
    for name, question in QUESTION_OF.items():
        if name not in doses:
            continue
        if doses[name] >= PARTLY_FROM[name]:
            found[question] = Truth("fails", CONSTRUCTION)
        elif doses[name] <= HONEST_AT_MOST[name]:
            found[question] = Truth("holds", CONSTRUCTION)
    return found


@dataclass(frozen=True)
class Zoo:
    """Everything that zoo.toml says."""

    version: int
    shared: Mapping[str, Any]
    audit: Mapping[str, Any]
    settings: tuple[Setting, ...]
    kinds: tuple[Kind, ...]
    exact: tuple[ExactKind, ...] = ()
    digest: str = ""  # of the file
    first_seed: int = 1  # that models are trained with

    def audit_of(self, seed: int) -> dict[str, Any]:
        """How models of a seed are audited: those of further seeds by what the verdict rests on."""
        asked = {"ask": list(QUESTION_OF.values())} if seed > self.first_seed else {}
        return {**self.audit, **asked}

    def members(self, seeds: int = 1, *, is_quick: bool = False) -> Iterator[Member]:
        """The models, kind by kind; quick: one or two of each, none of them deep."""
        for kind in self.kinds:
            for setting in self.settings:
                if setting.name in (kind.quick if is_quick else kind.settings):
                    may_be_deep = setting.name in kind.deep and not is_quick
                    for number in range(seeds):
                        is_deep = may_be_deep and number == 0
                        yield Member(kind, setting, self.first_seed + number, is_deep)

    def exact_members(self, seeds: int = 1, *, is_quick: bool = False) -> Iterator[ExactMember]:
        """The exact models, kind by kind; those beside a trained model once for each seed of it."""
        for kind in self.exact:
            for setting in self.settings:
                if setting.name not in (kind.quick if is_quick else kind.settings):
                    continue
                for architecture in kind.architectures:
                    for name, model, picture in kind.variants(is_quick=is_quick):
                        placed = {"is_placed": True} if architecture in PLACED else {}
                        shown = Picture(**{**_tuples(picture), **placed})
                        exact = Exact(
                            name, architecture, BuiltModel(**model), shown, kind.known(model),
                            kind.base,
                        )  # fmt: skip
                        is_beside = architecture in BESIDE_TRAINED
                        for number in range(seeds if is_beside else 1):
                            seed = self.first_seed + number if is_beside else 0
                            yield ExactMember(kind, setting, exact, seed)


@cache
def read_zoo() -> Zoo:
    """The zoo that comes with the package."""
    said = (files("heedful.calibration") / "zoo.toml").read_text(encoding="utf-8")
    plain = tomllib.loads(said)
    settings = tuple(from_plain(Setting, one, "setting: ") for one in plain["settings"])
    names = tuple(setting.name for setting in settings)
    alone = tuple(setting.name for setting in settings if not setting.needs_all)
    by_name = {one["name"]: one for one in plain["kinds"]}
    kinds = tuple(_kind(_whole(one, by_name), names, alone) for one in plain["kinds"])
    digest = sha256(said.encode()).hexdigest()[:12]
    exact = tuple(_exact(one, names) for one in plain["exact"])
    return Zoo(plain["version"], plain["shared"], plain["audit"], settings, kinds, exact, digest)


def is_within(value: float, bounds: tuple[float, ...]) -> bool:
    """Whether a value is at least the first and at most the second of one or two bounds."""
    return value >= bounds[0] and (len(bounds) == 1 or value <= bounds[1])


def in_words(bounds: tuple[float, ...]) -> str:
    """'at least 0.9', 'at most 0.5', '0.8 to 1.25'."""
    if len(bounds) == 1:
        return f"at least {bounds[0]:g}"
    return f"at most {bounds[1]:g}" if bounds[0] == 0 else f"{bounds[0]:g} to {bounds[1]:g}"


def _whole(plain: Mapping[str, Any], by_name: Mapping[str, Any]) -> dict[str, Any]:
    """A kind with what it shares with the one that it is like: all that is true of it."""
    shared = by_name[plain["like"]] if "like" in plain else {}
    return {name: shared[name] for name in KNOWN_OF if name in shared} | dict(plain)


def _tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in plain.items()}


def _exact(plain: Mapping[str, Any], settings: tuple[str, ...]) -> ExactKind:
    strangers = plain.keys() - {one.name for one in fields(ExactKind)}
    if strangers:
        raise ConfigError(f"exact kind {plain['name']!r}: unknown keys {sorted(strangers)}.")
    kind = ExactKind(**_tuples(plain))
    if kind.base not in BASES:
        raise ConfigError(f"exact kind {kind.name!r}: no Transformer for the base {kind.base!r}.")
    for name in (*kind.settings, *kind.quick):
        if name not in settings:
            raise ConfigError(f"kind {kind.name!r} names a setting {name!r} that does not exist.")
    return kind


def _kind(plain: Mapping[str, Any], settings: tuple[str, ...], alone: tuple[str, ...]) -> Kind:
    """A kind; "all" settings are those in which each word of the evidence says the label alone."""
    chosen = alone if plain["settings"] == "all" else tuple(plain["settings"])
    for name in (*chosen, *plain.get("deep", ()), *plain.get("quick", ())):
        if name not in settings:
            raise ConfigError(
                f"kind {plain['name']!r} names a setting {name!r} that does not exist."
            )
    return Kind(
        name=plain["name"],
        says=plain["says"],
        explains=plain["explains"],
        model=plain["model"],
        checks={name: tuple(bounds) for name, bounds in plain["checks"].items()},
        truth={q: Truth.parse(said) for q, said in plain["truth"].items()},
        with_one_word={q: Truth.parse(said) for q, said in plain.get("with_one_word", {}).items()},
        settings=chosen,
        deep=tuple(plain.get("deep", ())),
        quick=tuple(plain.get("quick", ())),
    )
