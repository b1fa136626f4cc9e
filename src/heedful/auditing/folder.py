"""The folder of an audit, and how one tells how far it has come.

    request.json    what is asked of which model, written when the audit begins; it stays
    parts/          what has been measured; gone once the audit is saved
    shares/         which worker did what; likewise
    twins/          models trained for a deep audit
    audit.json      the audit

The folder for a Hugging Face model holds such a folder for each reading, and readings.json.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful import runs
from heedful.errors import RunError
from heedful.runs import RunFolder

NEAR = ("*", "../*", "../audits/*", "../../audits/*")  # where a run's audits are looked for


def audits_near(run: Path) -> Iterator[Path]:
    """Folders of finished audits in a run's folder, beside it, or in a folder named audits."""
    place = run.resolve()
    found = (path for pattern in NEAR for path in _folders(place, pattern))
    yield from dict.fromkeys(folder for folder in found if (folder / runs.AUDIT).is_file())


def _folders(place: Path, pattern: str) -> list[Path]:
    *above, last = pattern.split("/")
    return sorted((place.joinpath(*above)).resolve().glob(last))


@dataclass(frozen=True)
class AuditFolder:
    """A folder that an audit is to be written into, or was."""

    path: Path

    @property
    def is_done(self) -> bool:
        """Whether an audit was finished here: it is saved, and no parts are left."""
        is_saved = any((self.path / name).is_file() for name in (runs.AUDIT, runs.READINGS))
        return is_saved and not self._has(runs.PARTS)

    @property
    def is_begun(self) -> bool:
        """Whether an audit was begun here and not finished."""
        begun = (runs.PARTS, runs.REQUEST, runs.TWINS, runs.SHARES)
        return not self.is_done and any(map(self._has, begun))

    def _has(self, name: str) -> bool:
        """Whether there is such a file in the folder, or in that of a reading."""
        of_readings = self.path.glob(f"[0-9]*-*/{name}")  # as `folders_of` names their folders
        return (self.path / name).exists() or any(of_readings)

    def check(self, resume: bool) -> str:
        """Refuse a folder that holds anything but, to resume it, an audit; a note if it holds none.

        Whether it is an audit of the same request is for `PartsInFolder` to say.
        """
        if resume and (self.is_begun or self.is_done):
            return ""
        if self.is_begun:
            raise RunError(
                f"{self.path} holds an unfinished audit: resume it with --resume, or choose "
                "another folder."
            )
        RunFolder.new(self.path)
        if not resume:
            return ""
        return f"{self.path} holds no unfinished audit, so a new one is started"

    def check_known(self) -> None:
        """Refuse to take a finished audit for the one asked for if nothing says what it is of."""
        if not self._has(runs.REQUEST):
            raise RunError(
                f"{self.path} holds a finished audit without a record of its request "
                f"({runs.REQUEST} is missing). Choose another folder to audit again."
            )
