"""A calibration -> the page about it in docs: first the truth, then what the tests made of it.

    python -m tools.calibration_docs DIR > docs/calibration.md

reads the calibration.json in DIR and writes the figures to docs/calibration.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import vl_convert

from heedful.calibration.operating_point_fit import USEFUL, Tested
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import QUANTITIES, read_zoo
from heedful.plots import Figure
from heedful.report import calibration_tables as tables
from heedful.report.calibration_errors import FEWEST_MODELS, Misled, misleading, scores_by_documents
from heedful.report.calibration_figures import (
    fewest_models,
    figures,
    paper_of,
    ranked,
    unranked_because,
)
from heedful.report.calibration_tables import listed, percent
from heedful.report.figures import spoken
from heedful.report.html import flat
from heedful.storage import write_atomically

FIGURES = Path("docs") / "calibration"

INTRODUCTION = """# Calibration: who audits the auditor?

An audit asks tests from the literature whether a model's attention may be read as an explanation. Whether such a test is right can only be seen on models whose answer is known. `heedful calibrate` trains a zoo of them, audits each, and counts. They are small models on planted evidence that clearly lie or clearly do not; what lies between was left out. What is counted here says how the tests behave there, not on your data. The same kinds stand in both halves of the settings, and models of a kind are alike, so intervals are narrower than they would be for new kinds of models. Kinds and settings whose models did not pass their checks were changed or dropped while the zoo was built, so the list of models left out flatters; and some rules (one judged test per question, the floor of random rankings over all words, what is called unknown) were settled after earlier runs of the zoo had been looked at, their held-out rates too. Models of other documents and other seeds, made after the points were shipped, are in [measured](measured.md#fresh-models).
"""  # noqa: E501
THE_ZOO = """Evidence is planted: in every document some words say the label, and all others say nothing. So it is known where an honest explanation must point. A kind of model is made so that the answer to some of the questions is known before any test is asked: by the way it is made (*construction*), or by a quantity that is checked on each model, on documents that no test sees. A model that does not pass the checks of its kind is left out, and listed below. Where a cell is empty, the truth is not known, and no test is scored there. A test that measures the very quantity by which a truth is known would be scored on itself: it *defines the truth*, and is not scored there either.
"""  # noqa: E501
THE_RANKING = """A test raises an alarm on a model if its score lies below a cut. *Power* is the share of the models that fail on the question on which it does, at the cut that raises alarms on at most 5% of the models that hold. Where a test has no score (its controls do not separate), it raises no alarm. Brackets are 95% intervals over models, in percent. *Held out* means: by a cut that was fitted on the other half of the settings, both ways round.
"""  # noqa: E501
BY_DOCUMENTS = """Mean scores of the models whose attention explains and on which the question holds (how many models), also of those that the test defines the truth of; a dash: fewer than three have a score. A test whose row falls when words say the same (redundancy: one more word is no loss, and weights that fall on another one change nothing) or when documents get longer (a long tail of words that do not matter) rates the same honesty lower for no fault of the model.
"""  # noqa: E501
THE_VERDICT = """The tests and cuts that the verdict goes by are chosen on one half of the settings and tried on the other, both ways round; tests that measure what a model was chosen by are left out for that model, which can then be refused but not pass. *needed* is a gain in accuracy with a rule of its own (0.5 points), and is not calibrated.
"""  # noqa: E501
AGAIN = """`heedful calibrate -o DIR` trains and audits every model, and writes `report.html`, `calibration.json` (every score of every test on every model; that of this page is [here](calibration/calibration.json)) and `operating_points.json`, which ships with the package and is what audits are judged by. `make calibration` does all that and makes this page.
"""  # noqa: E501


def calibration_docs(calibration: Calibration) -> str:
    """The page, with links to figures in the folder beside it."""
    zoo = read_zoo()
    kinds = tables.kinds_of(calibration, zoo)
    settings = tables.settings_of(calibration, zoo)
    drawn = figures(calibration)
    misled = misleading(calibration, kinds, settings)
    by_documents = scores_by_documents(calibration, kinds, settings)
    quantities = [f"- *{spoken(name)}*: {says}" for name, says in QUANTITIES.items()]
    lines = [
        INTRODUCTION,
        *("## What is true of the models", "", THE_ZOO),
        *_table(tables.truth_rows(calibration, kinds)),
        *("\\* where a single word decides.", "", "Quantities:", "", *quantities, ""),
        *_table(tables.kind_rows(calibration, kinds)),
        *("What the documents are like:", ""),
        *_table(tables.setting_rows(settings)),
        *("## Tests by their power", "", THE_RANKING, *_figure(drawn, "ranking")),
        *(*ranking_sentences(calibration), ""),
        *_table(tables.test_rows(calibration)),
        *_figure(drawn, "roc"),
        *("## Tests that mislead, and when", "", misleading_sentence(calibration, misled), ""),
        *_table(list(_misled_rows(misled))),
        *_figure(drawn, "fooled"),
        *("### What honest models score, by their documents", "", BY_DOCUMENTS),
        *_table([{**row, "test": spoken(row["test"])} for row in by_documents]),
        *("## The verdict on held-out settings", "", THE_VERDICT),
        *(tables.sentence(calibration), "", *_figure(drawn, "verdict")),
        *_table(tables.mistake_rows(calibration)),
        *("## Models left out", "", *_left_out(calibration)),
        *("## Where it comes from", "", AGAIN),
        *(f"- {name}: {value}" for name, value in flat(calibration.points.made)),
    ]
    return "\n".join(lines) + "\n"


def ranking_sentences(calibration: Calibration) -> list[str]:
    """What the ranking says, a line per question and one for all."""
    fewest = fewest_models(calibration)
    tests = ranked(calibration)
    placed = [one for one in tests if not unranked_because(one, fewest)]
    by_question: dict[str, list[Tested]] = {}
    for one in placed:
        by_question.setdefault(one.question, []).append(one)
    judged = sum(one.is_judged for one in tests)
    weak = [one for one in placed if _power(one) < USEFUL]
    rest = [one for one in tests if one not in placed]
    said = [f"Of {len(tests)} tests, {judged} are judged in audits; the others are reported."]
    if weak:
        said.append(f"Fewer than half of the models that fail are caught by {_names(weak)}.")
    if rest:
        said.append(
            "No place in the ranking, because they define the truth or were asked of fewer than "
            f"{fewest} models of either kind: {_names(rest)}."
        )
    best = [f"- **{question}**: {_best(some)}." for question, some in by_question.items()]
    return [" ".join(said), "", *best]


def misleading_sentence(calibration: Calibration, misled: Sequence[Misled]) -> str:
    """How many tests mislead, and which do not."""
    rated = [one for one in ranked(calibration) if one.separation is not None]
    named = {one.test for one in misled}
    good = [one for one in rated if one.test not in named]
    rule = f"at least half of at least {FEWEST_MODELS} models of a kind, or of a setting"
    if not named:
        return f"No test is wrong on {rule}."
    beside = f" Never so: {_names(good)}." if good else ""
    verb = "is" if len(named) == 1 else "are"
    return f"At their cuts, {len(named)} of {len(rated)} tests {verb} wrong on {rule}.{beside}"


def write_figures(folder: Path, calibration: Calibration) -> None:
    """The figures as SVG on white, by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(calibration).items():
        chart = figure.chart.properties(background="white").to_dict(validate=False)
        picture = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
        write_atomically(folder / f"{name}.svg", picture.encode())


def _best(some: Sequence[Tested]) -> str:
    """The most powerful tests of a question, and how far they get."""
    top = [one for one in some if _power(one) == _power(some[0])]
    if _power(some[0]) == 0:
        return f"no test catches any model: {_names(top)}"
    shares = [f"*{spoken(one.test)}* {_caught(one)}" for one in top]
    return f"of the models that fail, {listed(shares)}"


def _caught(one: Tested) -> str:
    return "" if one.separation is None else f"catches {percent(one.separation.power)}"


def _power(one: Tested) -> float:
    return 0.0 if one.separation is None else one.separation.power.value


def _names(some: Sequence[Tested]) -> str:
    return listed([f"*{spoken(one.test)}*" for one in some])


def _misled_rows(misled: Sequence[Misled]) -> Iterator[dict[str, str]]:
    """A row per test, the most misled first."""
    by_test: dict[str, list[Misled]] = {}
    for one in misled:
        by_test.setdefault(one.test, []).append(one)
    for test, some in by_test.items():
        yield {
            "test": spoken(test),
            "from": paper_of(test),
            "question": some[0].question,
            "misses": _where([one for one in some if one.misses]),
            "raises false alarms on": _where([one for one in some if not one.misses]),
        }


def _where(some: Sequence[Misled]) -> str:
    return "<br>".join(f"{one.models}: {one.wrong} of {one.of}" for one in some)


def _left_out(calibration: Calibration) -> list[str]:
    rows = tables.left_out_rows(calibration)
    return _table(rows) if rows else ["None.", ""]


def _figure(drawn: dict[str, Figure], name: str) -> list[str]:
    if name not in drawn:
        return []
    one = drawn[name]
    picture = f"![{one.title}]({FIGURES.name}/{name}.svg)"
    return [f"**{one.title}.** {one.caption}", "", picture, ""]


def _table(rows: Sequence[dict[str, str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
    lines += [f"| {' | '.join(map(_cell, row.values()))} |" for row in rows]
    return [*lines, ""]


def _cell(text: str) -> str:
    """A text that ends neither its cell nor its row."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def main(folder: str) -> None:
    """Figures to docs, the page to standard output."""
    calibration = Calibration.load(folder)
    write_figures(FIGURES, calibration)
    sys.stdout.write(calibration_docs(calibration))


if __name__ == "__main__":
    main(sys.argv[1])
