"""A paper done again -> one HTML file that needs no network, and the same as Markdown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.papers.comparing import Compared, Mean, Tested
from heedful.papers.paper import Paper
from heedful.papers.record import Reproduction
from heedful.plots.reproduction import beside_published
from heedful.report.drawn import Drawn, panel
from heedful.report.page import flat, make_page
from heedful.runs import write_atomically

SPEAK_FOR_THEMSELVES = ("data", "variant", "arm")  # columns whose values need no name


def write_reproduction(path: Path, paper: Paper, one: Reproduction) -> None:
    """The page as a file."""
    figures = list(_drawn(one))
    page = make_page(
        "reproduction.html",
        title=paper.title,
        about=paper.about.partition("\n")[2].replace("`", "").strip(),
        one=one,
        numbers=number_rows(one),
        claims=claim_rows(one),
        figures=figures,
        facts=list(flat(one.about)),
        charts={panel.name: panel.chart for figure in figures for panel in figure.panels},
    )
    write_atomically(path, page.encode("utf-8", "backslashreplace"))


def as_markdown(paper: Paper, one: Reproduction, command: str) -> str:
    """The same for a docs page."""
    seconds = one.about["seconds"]
    lines = [f"# {paper.title}", "", f"## {one.experiment}: {one.says}", ""]
    lines += [f"`{command}`", "", f"{one.sentence} ({seconds:,.0f} s)", ""]
    for rows in (claim_rows(one), number_rows(one)):
        lines += _table(rows) if rows else []
    return "\n".join(lines) + "\n"


def number_rows(one: Reproduction) -> list[dict[str, str]]:
    """A row per published number, in words."""
    return [
        {
            "cell": _cell(number.where),
            "published": f"{number.published.value:g}",
            "ours": _mean(number.ours),
            "difference": "–" if number.ours is None else f"{number.difference:+.3g}",
            "verdict": _verdict(number),
        }
        for number in one.numbers
    ]


def claim_rows(one: Reproduction) -> list[dict[str, str]]:
    """A row per claim, in words."""
    return [
        {
            "claim": tested.claim.says,
            "for": _cell(tested.where) or "all",
            "wanted": _wanted(tested),
            "found": _mean(tested.found),
            "verdict": _verdict(tested),
        }
        for tested in one.claims
    ]


def _drawn(one: Reproduction) -> Iterator[Drawn]:
    rows = [
        {
            "cell": _cell(number.where),
            "published": number.published.value,
            "ours": number.ours.mean,
            "low": number.ours.low,
            "high": number.ours.high,
            "verdict": number.verdict,
        }
        for number in one.numbers
        if number.ours is not None
    ]
    if len(rows) > 2:
        figure = beside_published(pd.DataFrame(rows), one.numbers[0].published.number.column)
        yield Drawn(figure.title, figure.caption, (panel("", figure, f"beside-{one.experiment}"),))


def _cell(where: Mapping[str, Any]) -> str:
    words = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in where.items()
    }
    return ", ".join(
        word if name in SPEAK_FOR_THEMSELVES else f"{name.rpartition('.')[2]} {word}"
        for name, word in words.items()
    )


def _mean(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    if math.isnan(mean.low):
        return f"{mean.mean:.4g}"
    return f"{mean.mean:.4g} [{mean.low:.4g}, {mean.high:.4g}]"


def _wanted(tested: Tested) -> str:
    claim = tested.claim
    if claim.cells is not None:
        return f"at most {claim.spread:g} apart"
    if claim.most is not None:
        return f"at most {claim.most:g}"
    if claim.lower is None and not claim.than:
        return f"at least {claim.by:g}" if claim.by else "above 0"
    return f"at least {claim.by:g} higher" if claim.by else "higher"


def _verdict(one: Compared | Tested) -> str:
    return f"{one.verdict}: {one.why}" if one.why else one.verdict


def _table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    return [*lines, ""]
