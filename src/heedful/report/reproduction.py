"""A paper done again -> one HTML file that needs no network, and the same as Markdown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import vl_convert

from heedful.papers.claims import Tested
from heedful.papers.comparing import Compared
from heedful.papers.expected import Number
from heedful.papers.paper import Paper
from heedful.papers.record import Reproduction
from heedful.papers.rows import Mean
from heedful.plots import Figure
from heedful.plots.papers import beside_published
from heedful.plots.style import picture
from heedful.report.figures import Drawn, panel, spoken
from heedful.report.html import flat, make_page
from heedful.storage import write_atomically

VISIBLE = (
    "*Visible* is the smallest difference that as many seeds would have found in four of five "
    "repetitions, at the spread seen here."
)
NOTES = ("earlier_setup", "note")  # of what a reproduction says about itself
SETUP = "Every setting of the runs, seeds aside."
SPEAK_FOR_THEMSELVES = ("data", "variant", "arm", "of")  # columns whose values need no name


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
        visible=VISIBLE.replace("*", ""),
        facts=list(flat(one.about)),
        charts={panel.name: panel.chart for figure in figures for panel in figure.panels},
    )
    write_atomically(path, page.encode("utf-8", "backslashreplace"))


def write_page(folder: Path, paper: Paper, one: Reproduction, command: str) -> None:
    """The same for people who read Markdown: page.md, and its figures as PNG."""
    pictures = {}
    for number, figure in enumerate(_figures(one), start=1):
        name = f"figure-{number}.png"
        chart = figure.chart.properties(background="white").to_dict(validate=False)
        picture = vl_convert.vegalite_to_png(chart, scale=1.5, allowed_base_urls=[])
        write_atomically(folder / name, picture)
        pictures[name] = figure
    page = as_markdown(paper, one, command, pictures)
    write_atomically(folder / "page.md", page.encode())


def as_markdown(
    paper: Paper, one: Reproduction, command: str, pictures: Mapping[str, Figure]
) -> str:
    """The page as Markdown; pictures by the names of their files."""
    lines = [f"# {paper.title}", "", f"## {one.experiment}: {one.says}", ""]
    lines += [one.sentence, "", f"`{command}`", ""]
    for note in notes_of(one):
        lines += [note, ""]
    lines += _about_the_work(one.about)
    for name, figure in pictures.items():
        lines += [f"**{figure.title}.** {figure.caption}", "", f"![{figure.title}]({name})", ""]
    if one.claims:
        lines += [VISIBLE, "", *_table(claim_rows(one))]
    if one.numbers:
        lines += _table(number_rows(one))
    if setup := setup_rows(one):
        said = " ".join(filter(None, [SETUP, one.about.get("setup_note")]))
        lines += ["### Setup", "", said, "", *_table(setup)]
    return "\n".join(lines) + "\n"


def notes_of(one: Reproduction) -> list[str]:
    """What a reader must know of the runs: a setup that has changed since, cells left out."""
    return [one.about[name] for name in NOTES if name in one.about]


def _about_the_work(about: Mapping[str, Any]) -> list[str]:
    """Where the runs come from and what they cost."""
    where = [f"{count} on {machine}" for machine, count in about["trained_on"].items()]
    spent = about["seconds_of_all_work"] / 60
    if not where:
        return [f"Measured in {about['seconds']:,.0f} seconds.", ""]
    return [
        f"Runs: {'; '.join(where)}. One after the other they would have taken {spent:,.0f} "
        "minutes. Brackets are 95% intervals of the mean over seeds (Student's t).",
        "",
    ]


def number_rows(one: Reproduction) -> list[dict[str, str]]:
    """A row per published number, in words."""
    return [
        {
            "cell": _cell(number.where),
            "published": f"{number.published.value:g}",
            "ours": mean_in_words(number.ours),
            "difference": "–" if number.ours is None else f"{number.difference:+.3g}",
            "verdict": _verdict(number),
        }
        for number in one.numbers
    ]


def claim_rows(one: Reproduction) -> list[dict[str, str]]:
    """A row per claim, in words."""
    return [
        {
            "claim": f"{tested.claim.says} (our test)" if tested.claim.ours else tested.claim.says,
            "for": _cell(tested.where) or "all",
            "wanted": _wanted(tested),
            "found": mean_in_words(tested.found),
            "visible": visible_in_words(tested),
            "verdict": _verdict(tested),
        }
        for tested in one.claims
    ]


def setup_rows(one: Reproduction) -> list[dict[str, str]]:
    """A row per setting of the runs, and per variant where they differ."""
    return [
        {"runs": variant, "setting": name, "value": value}
        for variant, settings in one.about.get("setup", {}).items()
        for name, value in settings.items()
    ]


def _drawn(one: Reproduction) -> Iterator[Drawn]:
    for number, figure in enumerate(_figures(one)):
        drawn = panel("", figure, f"{one.experiment}-{number}")
        yield Drawn(figure.title, figure.caption, (drawn,))


def _figures(one: Reproduction) -> Iterator[Figure]:
    """Published numbers beside ours, by what was measured; then the pictures of the experiment."""
    by_unit: dict[str, list[Compared]] = {}
    for number in one.numbers:
        if number.ours is not None:
            by_unit.setdefault(_unit(number.published.number), []).append(number)
    for unit, numbers in by_unit.items():
        if len(numbers) > 2:
            yield beside_published(pd.DataFrame([_beside(number) for number in numbers]), unit)
    for shown, points in one.pictures:
        rows = [
            {"over": point.over, "line": point.line, "panel": point.panel, **asdict(point.mean)}
            for point in points
        ]
        over = spoken(shown.over.rpartition(".")[2])
        unit = shown.unit or _unit(shown.number)
        yield picture(pd.DataFrame(rows), shown.title, over, unit, log_below=shown.log_below)


def _beside(number: Compared) -> dict[str, Any]:
    assert number.ours is not None
    return {
        "cell": _cell(number.where),
        "published": number.published.value,
        "ours": number.ours.mean,
        "low": number.ours.low,
        "high": number.ours.high,
        "verdict": number.verdict,
    }


def _unit(number: Number) -> str:
    """What a number is, in words."""
    name = number.column.removesuffix(".mean").removesuffix(".value")
    words = spoken(name.rpartition(".")[2])
    if number.rises_with:
        return f"tau of {words} with {spoken(number.rises_with.rpartition('.')[2])}"
    return f"{words}, percent" if number.times == 100 else words


def _cell(where: Mapping[str, Any]) -> str:
    words = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in where.items()
    }
    return ", ".join(
        word if name in SPEAK_FOR_THEMSELVES else f"{name.rpartition('.')[2]} {word}"
        for name, word in words.items()
    )


def mean_in_words(mean: Mean | None) -> str:
    """A mean over seeds and its interval, where it has one."""
    if mean is None:
        return "–"
    middle, low, high = map(_digits, (mean.mean, mean.low, mean.high))
    return middle if math.isnan(mean.low) else f"{middle} [{low}, {high}]"


def visible_in_words(tested: Tested) -> str:
    """The smallest difference that the seeds could have seen."""
    return "–" if math.isnan(tested.visible) else _digits(tested.visible)


def _digits(number: float) -> str:
    """Three digits that count, and all of a count of thousands."""
    if abs(number) >= 1000:
        return f"{number:.0f}"
    return f"{round(number, 12) + 0.0:.3g}"


def _wanted(tested: Tested) -> str:
    claim = tested.claim
    if claim.cells is not None:
        return f"at most {claim.spread:g} apart"
    if claim.most is not None:
        return f"at most {claim.most:g}" + (" higher" if claim.lower is not None else "")
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
