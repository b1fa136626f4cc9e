"""A paper done again -> one HTML file that needs no network, and the same as Markdown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.papers.comparing import Compared, Mean, Tested
from heedful.papers.paper import Paper
from heedful.papers.reproduce import Reproduction
from heedful.plots.reproduction import beside_published
from heedful.report.drawn import Drawn, panel
from heedful.report.page import flat, make_page
from heedful.runs import write_atomically


def write_reproduction(path: Path, paper: Paper, found: Sequence[Reproduction]) -> None:
    """The page as a file."""
    drawn = {one.experiment: list(_drawn(one)) for one in found}
    page = make_page(
        "reproduction.html",
        title=paper.title,
        about=paper.about.partition("\n")[2].strip(),
        found=[(one, number_rows(one), claim_rows(one), drawn[one.experiment]) for one in found],
        facts=list(flat(found[0].about)) if found else [],
        charts={one.name: one.chart for some in drawn.values() for d in some for one in d.panels},
    )
    write_atomically(path, page.encode("utf-8", "backslashreplace"))


def as_markdown(paper: Paper, found: Sequence[Reproduction], command: str) -> str:
    """The same for a docs page."""
    lines = [f"# {paper.title}", "", f"`{command}`", ""]
    for one in found:
        seconds = one.about["seconds"]
        lines += [f"## {one.experiment}: {one.says}", "", f"{one.sentence} ({seconds:,.0f} s)", ""]
        if rows := number_rows(one):
            lines += _table(rows)
        if claims := claim_rows(one):
            lines += _table(claims)
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
        figure = beside_published(pd.DataFrame(rows), one.numbers[0].published.column)
        yield Drawn(figure.title, figure.caption, (panel("", figure, f"beside-{one.experiment}"),))


def _cell(where: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.rpartition('.')[2]} {value:g}" if isinstance(value, float) else str(value)
        for name, value in where.items()
    )


def _mean(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    if math.isnan(mean.low):
        return f"{mean.mean:.4g}"
    return f"{mean.mean:.4g} [{mean.low:.4g}, {mean.high:.4g}]"


def _wanted(tested: Tested) -> str:
    if tested.claim.cells is not None:
        return f"at most {tested.claim.spread:g} apart"
    return f"at least {tested.claim.by:g} higher"


def _verdict(one: Compared | Tested) -> str:
    return f"{one.verdict}: {one.why}" if one.why else one.verdict


def _table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    return [*lines, ""]
