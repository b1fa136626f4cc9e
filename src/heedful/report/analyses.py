"""The result of an analysis -> one HTML file that needs no network, in the look of the report."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from heedful import plots
from heedful.analysis.result import Result
from heedful.analysis.tables import in_words
from heedful.plots import Figure
from heedful.report.figures import Drawn, panel, spoken
from heedful.report.html import flat, make_page
from heedful.storage import write_atomically
from heedful.visible import visible


def figures_of(result: Result) -> Iterator[Figure]:
    """The figures of an analysis; one whose table is empty is left out."""
    for figure in result.figures:
        plain = result.to_frame() if figure.table is None else _frame(result, figure.table)
        rows = plain.map(lambda value: visible(value) if isinstance(value, str) else value)
        if len(rows):
            draw = getattr(plots, figure.draw)
            yield draw(rows.rename(columns=figure.columns), **figure.options)


def analysis_page(result: Result) -> str:
    """The page: the table, the figures, what to keep in mind, and how it was made."""
    drawn = [
        Drawn(figure.title, figure.caption, (panel("", figure, f"analysis-{number}"),))
        for number, figure in enumerate(figures_of(result))
    ]
    return make_page(
        "analysis.html",
        title=f"{spoken(result.analysis)}: {result.about.get('looked_at', '')}",
        result=result,
        table=in_words(result.summary),
        figures=drawn,
        facts=list(flat(result.about)),
        charts={one.name: one.chart for figure in drawn for one in figure.panels},
    )


def write_analysis(path: str | Path, result: Result) -> None:
    """The page as a file."""
    write_atomically(Path(path), analysis_page(result).encode("utf-8", "backslashreplace"))


def _frame(result: Result, table: str) -> pd.DataFrame:
    return pd.DataFrame([dict(row) for row in result.tables.get(table, ())])
