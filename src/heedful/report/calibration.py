"""A calibration -> one HTML file that needs no network: first the truth, then the results."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path

from heedful.calibration.record import Calibration
from heedful.calibration.zoo import QUANTITIES, read_zoo
from heedful.report import calibration_tables as tables
from heedful.report.calibration_errors import misleading, scores_by_documents
from heedful.report.calibration_figures import figures, paper_of
from heedful.report.figures import Drawn, panel, spoken
from heedful.report.html import flat, make_page
from heedful.storage import write_atomically


def calibration_page(calibration: Calibration) -> str:
    """The page."""
    zoo = read_zoo()
    kinds = tables.kinds_of(calibration, zoo)
    settings = tables.settings_of(calibration, zoo)
    drawn = {
        name: Drawn(figure.title, figure.caption, (panel("", figure, f"calibration-{name}"),))
        for name, figure in figures(calibration).items()
    }
    return make_page(
        "calibration.html",
        title=f"Calibration: {calibration.points.version}",
        sentence=tables.sentence(calibration),
        kinds=tables.kind_rows(calibration, kinds),
        truths=tables.truth_rows(calibration, kinds),
        quantities={spoken(name): says for name, says in QUANTITIES.items()},
        settings=tables.setting_rows(settings),
        tests={
            question: list(rows)
            for question, rows in groupby(tables.test_rows(calibration), itemgetter("question"))
        },
        numbers=tables.NUMBERS,
        figures=drawn,
        misleading=[
            {
                "test": spoken(one.test),
                "from": paper_of(one.test),
                "question": one.question,
                "does": one.how,
                "on": one.models,
                "wrong": f"{one.wrong} of {one.of}",
            }
            for one in misleading(calibration, kinds, settings)
        ],
        by_documents=[
            {**row, "test": spoken(row["test"])}
            for row in scores_by_documents(calibration, kinds, settings)
        ],
        mistakes=tables.mistake_rows(calibration),
        left_out=tables.left_out_rows(calibration),
        models=tables.quantity_rows(calibration),
        made=list(flat(calibration.points.made)),
        design=list(flat({"every model": zoo.shared, "every audit": zoo.audit})),
        charts={one.name: one.chart for figure in drawn.values() for one in figure.panels},
    )


def write_calibration(path: str | Path, calibration: Calibration) -> None:
    """The page as a file."""
    page = calibration_page(calibration)
    write_atomically(Path(path), page.encode("utf-8", "backslashreplace"))
