"""A calibration -> what is said of it, section by section: written once, for the page and the docs.

Texts mark *emphasis* and `code` as Markdown does; both renderings read that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from heedful.calibration.record import Calibration
from heedful.calibration.zoo import (
    FULLY_FROM,
    HONEST_AT_MOST,
    PARTLY_FROM,
    QUANTITIES,
    read_zoo,
)
from heedful.plots import Figure
from heedful.plots.calibration import SAID
from heedful.report import calibration_tables as tables
from heedful.report.calibration_figures import figures
from heedful.report.calibration_tables import Rows
from heedful.report.figures import spoken
from heedful.report.html import flat

TITLE = "Calibration: who audits the auditor?"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    form: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Listed:
    """Paragraphs with a bullet each."""

    form: ClassVar[str] = "list"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows of the same columns; nothing is shown of none."""

    form: ClassVar[str] = "table"
    label: str
    rows: Rows


@dataclass(frozen=True)
class Drawing:
    """A figure by its name."""

    form: ClassVar[str] = "figure"
    name: str
    figure: Figure


Part = Text | Listed | Table | Drawing


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    name: str  # in addresses
    title: str
    parts: tuple[Part, ...]


def sections(calibration: Calibration) -> list[Section]:
    """All that is said of a calibration, the verdict first."""
    zoo, drawn = read_zoo(), figures(calibration)
    left_out = tables.left_out_rows(calibration)
    drawings = {name: Drawing(name, figure) for name, figure in drawn.items()}
    ranking = drawings.pop("ranking")
    return [
        Section("verdict", "How often the verdict is right", (
            Text(tables.sentence(calibration)),
            Table("Rates of the verdict by kind of model", tables.rate_rows(calibration)),
            Text(THE_VERDICT),
        )),
        Section("doses", "The judged tests", (
            Text(THE_DOSES),
            *drawings.values(),
            Table("Cuts by test and kind of model", tables.cut_rows(calibration)),
        )),
        Section("wrong", "What the verdict still gets wrong", tuple(_wrong(calibration))),
        Section("models", "The models", (
            Text(THE_MODELS),
            Table("Kinds of models", tables.kind_rows(calibration, zoo)),
            Text("Quantities that are checked of trained models:"),
            Listed(tuple(f"*{spoken(name)}*: {says}" for name, says in QUANTITIES.items())),
            Text(LEFT_OUT if left_out else "No model was left out."),
            Table("Models left out", left_out),
            Text("What the documents are like:"),
            Table("Settings of the documents", tables.setting_rows(calibration, zoo)),
        )),
        Section("tests", "All tests, by their power", (
            Text(THE_TESTS),
            ranking,
            Table("All tests", tables.test_rows(calibration)),
        )),
        Section("origin", "Where it comes from", (
            Text(AGAIN),
            Listed(tuple(
                f"{name}: {value}"
                for name, value in chain(
                    flat(calibration.points.made),
                    flat({"every trained model": zoo.shared, "every audit": zoo.audit}),
                )
            )),
        )),
    ]  # fmt: skip


def _wrong(calibration: Calibration) -> list[Part]:
    mistakes = tables.mistake_rows(calibration)
    seeds = calibration.points.made.get("seeds", 1)
    said = NO_MISTAKE if not mistakes else SOME_MISTAKES.format(len(mistakes))
    trained = "one seed" if seeds == 1 else f"{seeds} seeds"
    limits = (*LIMITS, f"Every trained model was trained with {trained}.", _between(calibration))
    return [
        Text(said),
        Table("Models with a wrong verdict", mistakes),
        Text("Where the zoo does not reach:"),
        Listed(limits),
    ]


def _between(calibration: Calibration) -> str:
    given = [one.verdict for one in calibration.judged if one.lies == "between"]
    counts = tables.listed([f"{given.count(name)} {said}" for name, said in SAID.items()])
    return (
        "Near a tolerated dose the verdict is a matter of the tolerance, not of truth. "
        f"{len(given)} models are *between*, too false to be honest and not false enough to be "
        f"called liars; of their verdicts none is counted as wrong ({counts})."
    )


def _bounds(found: Mapping[str, float]) -> str:
    return tables.listed([f"{bound:.0%} {name.replace('-', ' ')}" for name, bound in found.items()])


INTRODUCTION = (
    "An audit decides by tests whether a model's attention may be shown as an explanation. Whether "
    "the tests are right can only be seen on models whose answer is known. `heedful calibrate` "
    "makes such models, audits each of them, and counts. Brackets are 95% intervals, in percent."
)
THE_VERDICT = (
    "Each kind that is listed below under *The models* was left out in turn: the cuts were fitted "
    "without it, and its models were judged by those cuts. A model *passes* if its attention may "
    "be shown, and is *refused* if it may not. Kinds of models: a *classifier* of this package, a "
    "PyTorch *module*, a *transformer* and a *function* that gives predictions and weights and "
    "cannot be given other weights. Intervals treat models as independent. Models of one kind are "
    "alike, so the true intervals are wider."
)
THE_DOSES = (
    "Four tests can be judged. Each measures a dose, which is a share: of documents with a false "
    "picture, of the decision that bypasses the attention weights, of documents whose top word is "
    "chosen to say the label. Its cut is the score at which the dose curve crosses the tolerated "
    "dose. Where the interval of a cut has no width, all models score what their doses predict. "
    "The tolerated doses are choices, not measurements. *Look away* is not judged for "
    "transformers, where the weights of one layer are one path of many, and cannot be asked of "
    "functions."
)
THE_MODELS = (
    "Evidence is planted: in every document some words say the label, and all others say nothing. "
    "There are two groups of kinds. *Trained* kinds are made so that their attention is known to "
    "explain or to lie, and each model is checked by quantities that are measured on documents "
    "that no test reads. *Exact* kinds are built by hand, or show pictures of known truth for a "
    "trained model; their doses are counted on the audited documents. An exact model is *honest* "
    f"with doses of at most {_bounds(HONEST_AT_MOST)}. It *lies in part* from "
    f"{_bounds(PARTLY_FROM)}, and *lies* from {FULLY_FROM:.0%} of any dose. What lies between is "
    "called *between*. What is known of each kind by question is in "
    "`src/heedful/calibration/zoo.toml`."
)
LEFT_OUT = "Models that are not what their kind says are left out:"
THE_TESTS = (
    "All other tests are reported as evidence and never judged: their scores are not shares that "
    "could be tolerated. Here all tests are rated alike. A model *fails* on a question or *holds*, "
    "and a test raises an alarm if its score lies below a cut. *Power* is the share of the models "
    "that fail on which it raises one, at the cut that raises alarms on at most 5% of the models "
    "that hold. *Held out* means: by a cut that was fitted on the other half of the settings. A "
    "test that measures the quantity by which a model was chosen *defines the truth* and is not "
    f"scored there. The last column names kinds of at least {tables.FEWEST_MODELS} models on at "
    "least half of which the test is wrong, or says why it has no rates."
)
NO_MISTAKE = (
    "No verdict on these models is wrong: every model that lies, fully or in part, may not be "
    "shown, and every honest model may be shown. This does not mean that the verdict is never "
    "wrong. It means that the mistakes of these tests are not among these models."
)
SOME_MISTAKES = (
    "{} verdicts are not what they should be. Models that lie, fully or in part, should be "
    "refused, and honest ones should pass."
)
LIMITS = (
    "The evidence is planted. It is words, few of them, and it decides alone. In real documents "
    "evidence can be spread over phrases, word order and tone.",
    "The models are small: one layer of attention, a BERT of two layers, MiniLM (six layers) in "
    "one setting. No large pretrained model has a known answer.",
    "For Transformers, the truth is known only of pictures that were assigned to them. Whether "
    "their own attention shows the truth is unknown.",
    "Kinds that are left out have relatives that are not, such as *false on some documents* and "
    "*false elsewhere*. The rates for a way of lying that is not in the zoo can be worse.",
    "The tests, the tolerated doses and the zoo were changed after earlier runs had been looked "
    "at, and kinds and settings whose models did not pass their checks were changed or dropped.",
)
AGAIN = (
    "`heedful calibrate -o DIR` trains, builds and audits every model and writes `report.html`, "
    "`calibration.json` (every score of every test on every model) and `operating_points.json`, "
    "which ships with the package and by which audits are judged. `make calibration` does this "
    "and makes `docs/calibration.md` and `docs/calibration/`."
)
