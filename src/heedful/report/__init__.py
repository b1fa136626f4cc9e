"""Audit results -> one HTML file that needs no network."""

from collections.abc import Mapping
from pathlib import Path

from heedful.auditing.results import Audit, Table
from heedful.report.html import explanation_page, render
from heedful.storage import write_atomically

__all__ = ["explanation_page", "render", "write_report"]


def write_report(
    path: str | Path,
    audits: Mapping[str, Audit],
    differences: Table = (),
    *,
    title: str | None = None,
    together: tuple[str, str] | None = None,
) -> None:
    """The report of one audit, or of several side by side, as a file.

    `together` is the verdict on all of them, in a sentence and in a paragraph, if they are readings
    of one model.
    """
    page = render(audits, title=title, differences=differences, together=together)
    write_atomically(Path(path), page.encode("utf-8", "backslashreplace"))
