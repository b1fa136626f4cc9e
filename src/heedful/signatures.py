"""Signatures by SSH keys: who vouches for a file. OpenSSH makes and checks them, nothing here does.

    sign    FILE, key                        -> FILE.sig   `ssh-keygen -Y sign`
    signer  FILE, FILE.sig, allowed signers  -> a name     `ssh-keygen -Y verify`

The namespace `heedful` keeps signatures of one purpose from being used for another. An allowed
signers file has a line for each person: `ann@example.org ssh-ed25519 AAAA…`.
"""

import os
import subprocess
from pathlib import Path

from heedful.errors import EnvironmentFailure, RunError, UsageError
from heedful.storage import write_atomically

PROGRAM = "ssh-keygen"
NAMESPACE = "heedful"
ENDING = ".sig"


def signature_of(path: Path) -> Path:
    """Where the signature of a file is."""
    return path.with_name(path.name + ENDING)


def sign(path: Path, key: Path) -> Path:
    """Sign a file with a private SSH key; OpenSSH asks for its passphrase, if it has one."""
    if not key.is_file():
        raise UsageError(f"no key at {key}. `{PROGRAM} -t ed25519 -f {key}` makes one.")
    done = _call(["sign", "-f", str(key.absolute()), "-n", NAMESPACE], path)
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise UsageError(f"{path} could not be signed with {key}: {_told(done)}.")
    place = signature_of(path)
    write_atomically(place, done.stdout)
    return place


def signer(path: Path, signers: Path) -> str:
    """Who signed a file, among the allowed signers; a `RunError` says why it is nobody."""
    if not signers.is_file():
        raise UsageError(
            f"no file at {signers}. Expected allowed signers, one in a line: "
            "ann@example.org ssh-ed25519 AAAA…"
        )
    signature = signature_of(path)
    if not signature.is_file():
        raise RunError(f"it is not signed: {signature.name} is missing")
    about = ["-f", str(signers.absolute()), "-s", str(signature.absolute())]
    found = _call(["find-principals", *about])
    names = found.stdout.decode("utf-8", "replace").splitlines()
    if found.returncode or not names:
        raise RunError(f"nobody in {signers} signed it ({_told(found)})")
    done = _call(["verify", "-n", NAMESPACE, "-I", names[0], *about], path)
    if done.returncode:
        raise RunError(f"its signature by {names[0]} is not valid ({_told(done)})")
    return names[0]


def _call(words: list[str], path: Path = Path(os.devnull)) -> "subprocess.CompletedProcess[bytes]":
    """Call the program; it reads the file itself, or a pipe that it closes early would end us."""
    try:
        with path.open("rb") as file:
            return subprocess.run(
                [PROGRAM, "-Y", *words], stdin=file, capture_output=True, check=False
            )
    except FileNotFoundError:
        raise EnvironmentFailure(
            f"signatures need the program {PROGRAM} of OpenSSH 8.2 or newer, which is not "
            "installed."
        ) from None


def _told(done: "subprocess.CompletedProcess[bytes]") -> str:
    """The last line that the program said."""
    said = done.stderr + b"\n" + done.stdout
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].rstrip(".\r") if lines else f"exit code {done.returncode}"
