"""`heedful sign`: vouch for runs and audits with an SSH key."""

from pathlib import Path
from typing import Annotated

import typer


def sign(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|AUDIT…", help="Runs, audits, or folders that hold some."),
    ],
    key: Annotated[Path, typer.Option("--key", help="Private SSH key, as ssh-keygen makes it.")],
) -> None:
    """Sign runs and audits with an SSH key, to hand them to others.

    The signature is of the file with the seal, so it covers every sealed file. What was changed
    since it was written is not signed. `heedful verify --signers FILE` checks signatures.
    """
    from heedful import verification
    from heedful.cli import show

    for folder in folders:
        for found in verification.sign(folder, key):
            show.result(f"{found.path}: {found.kind}, signed in {found.record}.sig")
