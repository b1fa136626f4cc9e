"""What a paper printed and says, and what we draw beside it: the contents of expected.toml."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from heedful.errors import ConfigError

Where = Mapping[str, Any]
"""Which cells of an experiment: columns of its table and their values."""

Source = Literal["S", "A", "P"]
SOURCES: dict[Source, str] = {
    "S": "read in the paper's text",
    "A": "read in its supplement or the authors' code",
    "P": "read in the authors' result files or a published preprint",
}


@dataclass(frozen=True)
class Number:
    """Which number of our tables is meant, apart from the cells it stands in."""

    column: str
    of: str = ""  # the table: word-scores.kinds, audit.frontier; nothing: a row per run
    times: float = 1.0  # to be comparable
    rises_with: str = ""  # not the column itself but its tau-b with this one, over the cells


@dataclass(frozen=True)
class Published:
    """One number that a paper printed."""

    where: Where
    number: Number
    value: float
    tolerance: float
    source: Source
    why_not: str = ""  # why it cannot be compared; nothing if it can


@dataclass(frozen=True)
class Claim:
    """Something a paper says that an experiment can test, in one of three forms.

    higher, lower  the first cells exceed the second, `by` at least, or by `most` at most
    at             the number there is at least `by` (above 0 if that is 0), or `most` at most;
                   with `than`, what it has more than another column has
    cells          all lie within `spread` of each other

    `where` says which cells count at all; `each` names columns: the claim is tested for each of
    their values. A claim of `ours` tests what the paper is about, but it does not say it. A reader
    of the field looks for the `main` claims first.
    """

    says: str
    number: Number
    higher: Where | None = None
    lower: Where | None = None
    at: Where | None = None
    than: str = ""
    by: float = 0.0
    most: float | None = None
    cells: Where | None = None
    spread: float = 0.0
    where: Where = field(default_factory=dict)
    each: tuple[str, ...] = ()
    ours: bool = False
    main: bool = False
    why_not: str = ""

    def __post_init__(self) -> None:
        forms = [form for form in (self.higher, self.at, self.cells) if form is not None]
        if len(forms) != 1 or (self.higher is None) != (self.lower is None):
            raise ConfigError(
                f"{self.says!r} should have either higher and lower, or at, or cells."
            )


@dataclass(frozen=True)
class Picture:
    """A figure of our own numbers: a mean over seeds for every value of some columns."""

    title: str
    number: Number
    over: str  # the column whose values stand side by side
    lines: str = ""  # a colour for each of its values
    panels: str = ""  # a panel for each of its values
    where: Where = field(default_factory=dict)
    unit: str = ""  # what the number is; its column's name if nothing is said
    log_below: float | None = None  # `over` by how far it lies below this, on a logarithmic axis


def read_published(given: Mapping[str, Any]) -> Iterator[Published]:
    """Blocks of numbers, a row per value of `row` and a column per value of `column_of`."""
    for block in given.get("blocks", []):
        about = {**_usual(given), **block}
        if about["source"] not in get_args(Source):
            raise ConfigError(
                f"a published number should be marked S, A or P, not {about['source']!r}."
            )
        for first, *values in block["values"]:
            for second, value in zip(block["columns"], values, strict=True):
                where = {**block.get("where", {}), about["row"]: first, about["column_of"]: second}
                yield Published(
                    where=where,
                    number=_number(about),
                    value=float(value),
                    tolerance=float(about["tolerance"]),
                    source=about["source"],
                    why_not=_why_not(where, given.get("incomparable", [])),
                )


def _usual(given: Mapping[str, Any]) -> dict[str, Any]:
    """What all blocks and claims of an experiment share."""
    return {name: value for name, value in given.items() if not isinstance(value, list)}


def _number(about: Mapping[str, Any]) -> Number:
    return Number(
        column=about["column"],
        of=about.get("of", ""),
        times=float(about.get("times", 1.0)),
        rises_with=about.get("rises_with", ""),
    )


def _why_not(where: Where, reasons: list[Mapping[str, Any]]) -> str:
    for reason in reasons:
        if all(where.get(name) == value for name, value in reason["where"].items()):
            return str(reason["why"])
    return ""


def read_claims(given: Mapping[str, Any]) -> Iterator[Claim]:
    """The claims of an experiment."""
    for claim in given.get("claims", []):
        known = _own(Claim, claim, claim["says"])
        known |= {k: float(known[k]) for k in ("by", "spread", "most") if k in known}
        known["each"] = tuple(claim.get("each", ()))
        yield Claim(**known, number=_number({**_usual(given), **claim}))


def _own(kind: type[Claim] | type[Picture], given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The fields of a claim or a picture, apart from its number."""
    own = {one.name for one in fields(kind)} - {"number"}
    if strange := set(given) - own - {one.name for one in fields(Number)}:
        raise ConfigError(f"{what!r} has unknown keys: {', '.join(sorted(strange))}.")
    return {name: value for name, value in given.items() if name in own}


def read_pictures(given: Mapping[str, Any]) -> Iterator[Picture]:
    """The pictures of an experiment."""
    for picture in given.get("pictures", []):
        known = _own(Picture, picture, picture["title"])
        yield Picture(**known, number=_number({**_usual(given), **picture}))
