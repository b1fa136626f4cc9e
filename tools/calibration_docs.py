"""A calibration -> the page about it in docs.

    python -m tools.calibration_docs DIR > docs/calibration.md

reads the calibration.json in DIR and writes the figures to docs/calibration.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import vl_convert

from heedful.calibration.record import Calibration
from heedful.report.calibration_figures import figures
from heedful.report.calibration_sections import (
    INTRODUCTION,
    TITLE,
    Drawing,
    Listed,
    Part,
    Table,
    Text,
    sections,
)
from heedful.storage import write_atomically

FIGURES = Path("docs") / "calibration"


def calibration_docs(calibration: Calibration) -> str:
    """The page, with links to figures in the folder beside it."""
    lines = [f"# {TITLE}", "", INTRODUCTION, ""]
    for section in sections(calibration):
        lines += [f"## {section.title}", ""]
        for part in section.parts:
            lines += _lines(part)
    return "\n".join(lines).rstrip() + "\n"


def _lines(part: Part) -> Iterator[str]:
    """A part as Markdown, with an empty line behind it."""
    match part:
        case Text(text):
            yield text
        case Listed(items):
            yield from (f"- {item}" for item in items)
        case Drawing(name, figure):
            yield f"**{figure.title}.** {figure.caption}"
            yield ""
            yield f"![{figure.title}]({FIGURES.name}/{name}.svg)"
        case Table(_, rows):
            if not rows:
                return
            yield f"| {' | '.join(rows[0])} |"
            yield f"|{'---|' * len(rows[0])}"
            yield from (f"| {' | '.join(map(_cell, row.values()))} |" for row in rows)
    yield ""


def _cell(text: str) -> str:
    """A text that ends neither its cell nor its row."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def write_figures(folder: Path, calibration: Calibration) -> None:
    """The figures as SVG on white, by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(calibration).items():
        chart = figure.chart.properties(background="white").to_dict(validate=False)
        picture = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
        write_atomically(folder / f"{name}.svg", picture.encode())


def main(folder: str) -> None:
    """Figures to docs, the page to standard output."""
    calibration = Calibration.load(folder)
    write_figures(FIGURES, calibration)
    sys.stdout.write(calibration_docs(calibration))


if __name__ == "__main__":
    main(sys.argv[1])
