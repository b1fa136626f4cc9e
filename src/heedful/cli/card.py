"""`heedful card`: an audit as a model card for the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer


def card(
    audit: Annotated[Path, typer.Argument(help="The folder of an audit.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write. Default: print the card."),
    ] = None,
    model_id: Annotated[
        str, typer.Option("--model-id", help="Name of the model on the Hub. Default: its own.")
    ] = "",
) -> None:
    """Write a model card (README.md with a model-index) that says what an audit found.

    The card has the verdict in plain words, what may be shown instead, every answer, and the scores
    of the judged tests with their cuts, in the form in which the Hugging Face Hub reads them.
    """
    from heedful import runs
    from heedful.auditing.results import Audit
    from heedful.cli import show
    from heedful.errors import UsageError
    from heedful.storage import write_atomically

    if output is not None and output.exists():
        raise UsageError(f"{output} exists. Give the name of a new file, or move it away first.")
    if (audit / runs.READINGS).is_file() and not (audit / runs.AUDIT).is_file():
        raise UsageError(
            f"{audit} holds audits of several readings. Give the folder of one of them, such as "
            f"{min(path.parent for path in audit.glob(f'*/{runs.AUDIT}'))}."
        )
    text = str(Audit.load(audit).to_card(model_id))
    if output is None:
        for line in text.splitlines():
            show.result(line)
        return
    write_atomically(output, text.encode("utf-8"))
    show.note(f"the card is in {output}")
