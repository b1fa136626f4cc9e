"""Pages of analyses."""

import pytest

from heedful.analysis.instruments.base import OfHistory
from heedful.analysis.result import FigureSpec, Result
from heedful.report.analyses import analysis_page, figures_of


class MadeUp(OfHistory):
    """An analysis that nothing else in heedful has heard of."""

    name = "made-up"
    asks = "Does it take one file?"
    figures = (
        FigureSpec(
            "picture",
            "epochs",
            columns={"epoch": "over", "loss": "mean", "loss_low": "low", "loss_high": "high"},
            options={
                "title": "Loss by epoch",
                "over": "epoch",
                "unit": "nats",
                "caption": "Mean loss with its interval.",
            },
        ),
    )

    def analyse(self, history):
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(history),
            tables={"epochs": tuple(history)},
            figures=self.figures,
        )


@pytest.fixture(scope="module")
def found() -> Result:
    rows = [
        {"epoch": n, "loss": 1 / n, "loss_low": 0.9 / n, "loss_high": 1.1 / n} for n in (1, 2, 3)
    ]
    return MadeUp().analyse(rows)


def test_an_analysis_brings_its_figures_and_nothing_else_is_told_of_it(found):
    (figure,) = figures_of(found)
    assert figure.title == "Loss by epoch"
    drawn = [row for rows in figure.chart.to_dict()["datasets"].values() for row in rows]
    assert {(row["over"], row["mean"]) for row in drawn} == {(1, 1.0), (2, 0.5), (3, 0.3333)}
    page = analysis_page(found)
    assert "Loss by epoch" in page
    assert "Mean loss with its interval." in page


def test_a_figure_whose_table_is_empty_is_left_out(found):
    assert list(figures_of(MadeUp().analyse([]))) == []


def test_what_is_saved_does_not_speak_of_figures(found):
    assert "figures" not in found.to_dict()
