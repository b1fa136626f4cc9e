"""The result of an analysis -> one HTML file that needs no network, in the look of the report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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

ROWS = ""  # the rows of the Parquet file, as a table


@dataclass(frozen=True)
class Drawing:
    """A figure of an analysis and the table it is drawn from."""

    analysis: str
    table: str
    draw: Callable[[pd.DataFrame], Figure]


def _scatter(where: str, title: str) -> Callable[[pd.DataFrame], Figure]:
    """The scatter of words by their local or their global scores."""

    def draw(words: pd.DataFrame) -> Figure:
        names = {f"{where}_attention_score": "attention_score", f"{where}_polarity": "polarity"}
        return replace(plots.word_scatter(words.rename(columns=names)), title=title)

    return draw


DRAWINGS = (
    Drawing("gradient-flow", "words", plots.flow_scores),
    Drawing("gradient-flow", "words", plots.flow_terms),
    Drawing("gradient-flow", "epochs", plots.flow_numbers),
    Drawing("gradient-flow", "dots", plots.dot_product_curves),
    Drawing("dot-products", "dots", plots.dot_products),
    Drawing("label-imbalance", "trainings", plots.label_imbalance),
    Drawing("word-scores", ROWS, _scatter("local", "Words in their texts")),
    Drawing("word-scores", ROWS, _scatter("global", "Words alone")),
    Drawing("word-scores", ROWS, plots.local_against_global),
    Drawing("word-scores", ROWS, plots.word_weights),
    Drawing("information", "information", plots.information),
    Drawing("sentence-vectors", "places", plots.sentence_vectors),
    Drawing("word-sentiment", "figures", plots.word_sentiment),
    Drawing("deletion", "curve", plots.deletion),
    Drawing("iterations", "ends", plots.iterations),
    Drawing("agreement", ROWS, plots.agreement_by_class),
)


def figures_of(result: Result) -> Iterator[Figure]:
    """The figures of an analysis; one whose table is empty is left out."""
    for drawing in DRAWINGS:
        if drawing.analysis == result.analysis:
            plain = result.to_frame() if drawing.table == ROWS else _frame(result, drawing.table)
            rows = plain.map(lambda value: visible(value) if isinstance(value, str) else value)
            if len(rows):
                yield drawing.draw(rows)


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
