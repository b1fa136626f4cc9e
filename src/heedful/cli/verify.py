"""`heedful verify` and `heedful sign`: what was changed since it was written, and who vouches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heedful.verification import Verified


def verify(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|AUDIT…", help="Runs, audits, or folders that contain them."),
    ],
    signers: Annotated[
        Path | None,
        typer.Option(help="File of allowed signers (see ssh-keygen): also check who signed."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check whether files of runs and audits were changed since they were written.

    Every run and audit is sealed: it contains the checksums of all its files. Exits with code 1 if
    a file was changed or is missing, if there is no seal, or if there is no signature by one of
    --signers.
    """
    from heedful import verification
    from heedful.cli import show

    found = [one for folder in folders for one in verification.verify(folder, signers)]
    if json:
        show.as_json({"verified": [one.to_dict() for one in found]})
    else:
        for one in found:
            show.result(_sentence(one))
    if not all(one.is_trusted for one in found):
        raise typer.Exit(1)


def sign(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN|AUDIT…", help="Runs, audits, or folders that contain them."),
    ],
    key: Annotated[Path, typer.Option("--key", help="Private SSH key (see ssh-keygen).")],
) -> None:
    """Sign runs and audits with an SSH key, to hand them to others.

    The signature covers the seal and with it every sealed file. Runs and audits that were changed
    since they were written are not signed. `heedful verify --signers FILE` checks signatures.
    """
    from heedful import verification
    from heedful.cli import show

    for folder in folders:
        for found in verification.sign(folder, key):
            show.result(f"{found.path}: {found.kind}, signed in {found.record}.sig")


def _sentence(found: "Verified") -> str:
    """What became of a run or an audit."""
    from heedful.errors import counted

    vouched = f", signed by {found.signed_by}" if found.signed_by else ""
    vouched = f"; {found.unsigned}" if found.unsigned else vouched
    if found.problem:
        return f"{found.path}: {found.problem}"
    harm = [
        f"{', '.join(names)} {one if len(names) == 1 else several}"
        for names, one, several in (
            (found.changed, "has changed", "have changed"),
            (found.missing, "is missing", "are missing"),
        )
        if names
    ]
    beside = f" (not sealed: {', '.join(found.unsealed)})" if found.unsealed else ""
    if harm:
        said = f"{' and '.join(harm)} since it was written"
    else:
        said = f"{counted(found.files, 'file')} as written"
    return f"{found.path}: {found.kind}, {said}{vouched}{beside}"
