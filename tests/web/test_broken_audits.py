"""An audit.json with a value of another type: refused with its place, and the others are served."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heedful import runs
from heedful.auditing.comparison import compare
from heedful.auditing.results import Audit
from heedful.cli import show
from heedful.errors import RunError
from heedful.runs import RunFolder
from heedful.web.server import Server
from heedful.web.store import Store

OTHERS = ["no number", 7, None]  # test_mutated_audits.py has more kinds, at random places
Path_ = tuple[str | int, ...]


def parts(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The place of everything in it, and of the first item of every list."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from parts(item, (*path, name))
    elif isinstance(value, list) and value:
        yield from parts(value[0], (*path, 0))


def replaced(stored: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    changed = inside = copy.deepcopy(stored)
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return changed


def shortened(value: Any) -> Any:
    """The same with at most two items in every list."""
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    return [shortened(item) for item in value[:2]] if isinstance(value, list) else value


def write(folder: Path, stored: dict[str, Any]) -> None:
    """As a program would that seals what it writes."""
    RunFolder(folder).write_sealed(runs.AUDIT, stored, [runs.PER_EXAMPLE])


def loads(folder: Path, stored: dict[str, Any]) -> bool:
    write(folder, stored)
    try:
        Audit.load(folder)
    except RunError:
        return False
    return True


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_whatever_is_changed_the_audit_is_refused_or_can_be_shown(own_folder, serve, other):
    folder = own_folder / "audits" / "words"
    stored = json.loads((folder / runs.AUDIT).read_text())
    shown = shortened(stored)
    for path in reversed(list(parts(shown))):  # what is inside before what it is inside of
        changed = replaced(shown, path, other)
        shown = changed if loads(folder, changed) else shown
    write(folder, shown)
    audit = Audit.load(folder)
    assert list(show.audited(audit))
    assert list(show.compared(compare({"a": audit, "b": audit})))
    audit.to_html(own_folder / "report.html")
    with serve(own_folder) as client:
        for place in ("served", "audits/words", "audits/words/figures", "audits/words/documents"):
            answer = client.get(f"/api/{place}")
            assert answer.status_code == 200, answer.text


@pytest.fixture
def broken(own_folder) -> Path:
    folder = own_folder / "audits" / "broken"
    shutil.copytree(own_folder / "audits" / "words", folder)
    stored = json.loads((folder / runs.AUDIT).read_text())
    write(folder, replaced(stored, ("answers", 0, "tests", 0, "score", "value"), "high"))
    return folder


PLACE = r"answers\[0\].tests\[0\].score.value should be a finite number or none, not 'high'"


def test_a_broken_audit_is_named_and_the_others_are_served(own_folder, broken, serve):
    given = [own_folder / "words", own_folder / "audits" / "words", broken]
    server = Server.at(given, device="cpu", cores=1)
    server.socket.close()
    (problem,) = server.problems
    assert problem.startswith("broken cannot be read, the others are served: ")
    assert "answers[0].tests[0].score.value should be" in problem
    with serve(*given) as client:
        answer = client.get("/api/served")
        assert answer.status_code == 200
        problems = {one["name"]: one["problem"] for one in answer.json()["audits"]}
        assert problems["words"] == ""
        assert "answers[0].tests[0].score.value" in problems["broken"]
        assert client.get("/api/audits/words").status_code == 200
        assert client.get("/api/audits/broken").status_code < 500


def test_a_broken_audit_alone_is_refused(broken):
    with pytest.raises(RunError, match=PLACE):
        Store.open([broken])
