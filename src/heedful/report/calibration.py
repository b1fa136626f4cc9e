"""A calibration -> one HTML file that needs no network."""

import re
from pathlib import Path

from markupsafe import Markup, escape

from heedful.calibration.record import Calibration
from heedful.report.calibration_sections import INTRODUCTION, TITLE, Drawing, sections
from heedful.report.figures import Drawn, panel
from heedful.report.html import make_page
from heedful.storage import write_atomically


def calibration_page(calibration: Calibration) -> str:
    """The page."""
    found = sections(calibration)
    drawn = {
        part.name: Drawn(
            part.figure.title,
            part.figure.caption,
            (panel("", part.figure, f"calibration-{part.name}"),),
        )
        for section in found
        for part in section.parts
        if isinstance(part, Drawing)
    }
    return make_page(
        "calibration.html",
        title=TITLE,
        version=calibration.points.version,
        introduction=INTRODUCTION,
        sections=found,
        figures=drawn,
        marked=marked,
        charts={one.name: one.chart for figure in drawn.values() for one in figure.panels},
    )


def marked(text: str) -> Markup:
    """A text whose *emphasis* and `code` are elements."""
    said = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", str(escape(text)))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", said))


def write_calibration(path: str | Path, calibration: Calibration) -> None:
    """The page as a file."""
    page = calibration_page(calibration)
    write_atomically(Path(path), page.encode("utf-8", "backslashreplace"))
