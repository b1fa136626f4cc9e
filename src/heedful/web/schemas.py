"""The types of requests and answers: OpenAPI and every check are generated from them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from heedful.counterfactual.base import counterfactuals
from heedful.errors import UnknownName
from heedful.importance.base import importances
from heedful.registry import Registry
from heedful.web.limits import MEASURES, RUNS_COMPARED, TEXT_CHARACTERS

Text = Annotated[
    str, Field(max_length=TEXT_CHARACTERS, description="The text, as the user wrote it.")
]


@dataclass(frozen=True, eq=False)  # a registry has no hash
class _NamesOf:
    """The names of a family on the day they are described: members may be added until then."""

    registry: Registry[Any]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list(self.registry)}


def _name_in(registry: Registry[Any]) -> Any:
    """A name of a family, without options: those could ask for more work than is served."""

    def check(name: str) -> str:
        try:
            registry[name]
        except UnknownName as error:
            raise PydanticCustomError("unknown_name", "{said}", {"said": str(error)}) from None
        return name

    return (AfterValidator(check), _NamesOf(registry))


MeasureName = Annotated[str, *_name_in(importances)]
CounterfactualName = Annotated[str, *_name_in(counterfactuals)]
Place = Annotated[int, Field(ge=0, lt=TEXT_CHARACTERS)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Number = float | None
"""A number, or null if there is none."""


class Form(BaseModel):
    """A request: unknown fields are refused, so that a misspelt name is noticed."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Sheet(BaseModel):
    """An answer."""

    model_config = ConfigDict(protected_namespaces=())


class ExplainForm(Form):
    """A text to explain by some measures."""

    text: Text
    measures: Annotated[
        Annotated[list[MeasureName], Field(min_length=1, max_length=MEASURES)] | None,
        Field(description="Names from /api/served; if empty, the run's usual measures."),
    ] = None


class CompareForm(ExplainForm):
    """A text to explain with several runs."""

    runs: Annotated[list[str], Field(min_length=1, max_length=RUNS_COMPARED)]


class AttendForm(Form):
    """A text, the words to delete from it, and the weights of the remaining words."""

    text: Text
    deleted: Annotated[
        list[Place],
        Field(max_length=TEXT_CHARACTERS, description="Positions of words, numbered from 0."),
    ] = []
    weights: Annotated[
        list[Share] | None,
        Field(
            max_length=TEXT_CHARACTERS,
            description="A share of attention for each remaining word; if empty, the model's own.",
        ),
    ] = None


class ReplaceForm(Form):
    """A text whose attention is replaced by a counterfactual one."""

    text: Text
    deleted: Annotated[list[Place], Field(max_length=TEXT_CHARACTERS)] = []
    by: CounterfactualName
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class Problem(Sheet):
    """What went wrong, in a sentence."""

    message: str
    kind: Literal["request", "refused", "unknown", "gone", "busy", "bug"]


class Probability(Sheet):
    """A class and its probability."""

    label: str
    probability: float


class Word(Sheet):
    """A word and its position in the text."""

    start: int
    end: int


class Read(Sheet):
    """How a text was read."""

    run: str
    text: str
    words: list[Word]
    is_cut: bool  # whether the model reads only its beginning
    longest: str  # where it cuts, in words for a person


class Agreement(Sheet):
    """How similarly two measures, or two runs, rank the words."""

    first: str
    second: str
    kendall_tau: Number
    top_overlap: Number


class DeletionSheet(Sheet):
    """The prediction without the words that a measure puts first."""

    measure: str
    words: list[str]
    probability: float


class Explained(Read):
    """A text explained."""

    prediction: str
    probabilities: list[Probability]
    withheld: str = ""  # why the scores are withheld, in a sentence; empty if they are not
    scores: dict[str, list[Number]]
    unsigned: list[str]  # measures that do not say which side a word is on
    agreements: list[Agreement]
    deletions: list[DeletionSheet]
    shown: bool | None  # whether the heat map of attention may be shown; none: no audit of the run
    why: str


class Distance(Sheet):
    """How far the attentions of two runs are from each other, in nats."""

    first: str
    second: str
    jsd: float


class Compared(Sheet):
    """A text explained by several runs; runs with the same words are also compared."""

    runs: list[Explained]
    agreements: list[Agreement]
    distances: list[Distance]


class Attended(Read):
    """The prediction under given weights and under the model's own weights."""

    deleted: list[int]
    weights: list[float]
    own: list[float]
    prediction: str
    probabilities: list[Probability]
    own_prediction: str
    own_probabilities: list[Probability]
    decided: list[Probability]  # by the model that decides, where a run was healed
    withheld: str = ""  # why the weights should not be shown, in a sentence
    jsd: float
    tvd: float
    largest_jsd: float
    same_within: float


class RunSheet(Sheet):
    """A served run, or one reading of a Hugging Face model."""

    name: str
    problem: str = ""
    classes: list[str] = []
    about: dict[str, Any] = {}
    has_attention: bool = False
    why_fixed: str = ""  # why other weights cannot be tried on it, in a clause; empty if they can
    measures: list[str] = []  # that it has
    usual_measures: list[str] = []
    counterfactuals: list[str] = []
    audits: list[str] = []


class AuditLine(Sheet):
    """A served audit, in short."""

    name: str
    problem: str
    run: str | None
    sentence: str
    verdict: str
    documents: int


class MemberSheet(Sheet):
    """A member of a family."""

    name: str
    summary: str


class Served(Sheet):
    """Everything that is served."""

    version: str
    started: str
    runs: list[RunSheet]
    audits: list[AuditLine]
    measures: list[MemberSheet]
    usual_measures: list[str]
    counterfactuals: list[MemberSheet]
    limits: dict[str, float]


class Status(Sheet):
    """How busy the server is."""

    started: str
    waiting: int
    working: int
    at_once: int


class FigureSheet(Sheet):
    """A chart as Vega-Lite draws it; a mark leads to the documents that its `behind` selects."""

    place: str
    title: str
    caption: str
    chart: dict[str, Any]
    leads_to_documents: bool


class ShownSheet(Sheet):
    """A document that the audit selected, and why."""

    why: str
    place: int
    text: str


class AuditSheet(AuditLine):
    """An audit with its answers."""

    in_plain_words: str  # the verdict for somebody who has read no paper
    terms: dict[str, str]  # what the words of an audit mean
    why: str
    tally: str
    scope: str  # what the verdict claims and where it stops
    single_texts: str  # which single texts to show the picture of
    instead: str
    lead: str  # to the next steps
    next_steps: list[str]  # commands to run after a verdict that is not a yes
    caveat: str
    record: str
    about: list[tuple[str, str]]
    questions: list[dict[str, Any]]
    shown: list[ShownSheet]


class Figures(Sheet):
    """The figures of an audit; the `place` of each is the question that it belongs to."""

    audit: str
    figures: list[FigureSheet]


class Document(Sheet):
    """A document of an audit with its numbers."""

    place: int
    text: str
    is_whole: bool
    label: str | None
    prediction: str
    is_right: bool | None
    numbers: dict[str, Number]


class Documents(Sheet):
    """Some of the selected documents of an audit, in their order."""

    audit: str
    total: int
    chosen: int
    offset: int
    columns: list[str]
    shown: list[str]
    labels: list[str]
    predictions: list[str]
    rows: list[Document]
