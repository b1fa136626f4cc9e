"""Check what `python -m build` made, and use it as somebody who installs it would.

    python -m tools.package dist

The wheel must hold every file of src/heedful. It is then installed into an environment of its own,
whose dependencies are those of the environment that runs this (nothing is downloaded), where it
trains, audits, writes a report and a model card.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
NOT_SHIPPED = ("__pycache__", ".egg-info")
DATA = "planted:documents=300"
TRAIN = ("train", DATA, "--encoder", "embedding", "--recipe", "standard:epochs=3", "-o", "run")
AUDIT = ("audit", "run", DATA, "--documents", "30", "-o", "audited", "--quiet")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("list", "projections"),
    TRAIN,
    AUDIT,
    ("card", "audited", "-o", "README.md"),
)
MADE = ("run/config.json", "audited/audit.json", "audited/report.html", "README.md")


def wanted_files(source: Path = SOURCE) -> set[str]:
    """Every file of the package, as a wheel names it."""
    found = (path for path in (source / "heedful").rglob("*") if path.is_file())
    names = (path.relative_to(source).as_posix() for path in found)
    return {name for name in names if not any(part in name for part in NOT_SHIPPED)}


def missing_files(wheel: Path, wanted: Iterable[str]) -> list[str]:
    """Files of the package that a wheel does not hold."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    return sorted(set(wanted) - held)


def use(wheel: Path, commands: Sequence[tuple[str, ...]] = COMMANDS) -> None:
    """Install a wheel into an environment of its own, and run the commands there."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        venv.create(home / "clean", with_pip=False)
        python = home / "clean/bin/python"
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True, env=alone)
        # Packages of this environment are found, but not heedful itself: it is installed here in
        # place, by a .pth file, and such files are not read from PYTHONPATH.
        packages = sysconfig.get_paths()["purelib"]
        environment = {**alone, "PYTHONPATH": packages}
        for command in commands:
            print("heedful", *command)
            program = [str(home / "clean/bin/heedful"), *command]
            subprocess.run(program, check=True, cwd=home, env=environment)
        where = [str(python), "-c", "import heedful; print(heedful.__file__)"]
        found = subprocess.run(where, check=True, env=environment, capture_output=True, text=True)
        if str(home) not in found.stdout:
            sys.exit(f"the wheel was not what ran, but {found.stdout.strip()}")
        if absent := [name for name in MADE if not (home / name).is_file()]:
            sys.exit(f"the installed package did not make {', '.join(absent)}")


def main(folder: Path) -> None:
    """Check the one wheel in a folder."""
    wheels = sorted(folder.resolve().glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"expected one wheel in {folder}, found {len(wheels)}: run python -m build first")
    if missing := missing_files(wheels[0], wanted_files()):
        sys.exit(f"{wheels[0].name} lacks {len(missing)} files: {', '.join(missing[:8])}")
    print(f"{wheels[0].name} holds all {len(wanted_files())} files of the package")
    use(wheels[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
