"""`heedful explain`: one text, word by word."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import Device, Run


def explain(
    run: Run,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Importance measure, may be repeated; see `heedful list importances`."),
    ] = None,
    device: Device = "auto",
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the explanation as a page to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The explanation as JSON.")] = False,
) -> None:
    """Show a text in colour: attention beside other measures, and the prediction without top words.

    Orange speaks for the predicted label, blue against it; attention has no sign.
    """
    from heedful.cli import show
    from heedful.errors import UsageError
    from heedful.importance.explanation import USUAL_MEASURES, explain
    from heedful.training.trained import Trained

    if html is not None and not html.absolute().parent.is_dir():
        raise UsageError(f"no folder {html.parent} to write {html.name} into.")
    explanation = explain(Trained.load(run, device), text, measure or USUAL_MEASURES)
    if html is not None:
        from heedful.report import explanation_page
        from heedful.storage import write_atomically

        write_atomically(html, explanation_page(explanation).encode("utf-8", "backslashreplace"))
        show.note(f"written: {html}")
    if json:
        show.as_json(explanation.to_dict())
        return
    for line in show.explained(explanation):
        show.result(line)
