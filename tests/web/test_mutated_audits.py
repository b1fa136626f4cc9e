"""Whatever a saved file holds, it is refused in a sentence or all that is in it can be shown."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heedful import runs, seals
from heedful.auditing.comparison import compare
from heedful.auditing.document_filter import Selection
from heedful.auditing.results import Audit, StoredAudit
from heedful.cli import show
from heedful.errors import HeedfulError, RunError
from heedful.runs import RunFolder
from heedful.training.trained import Trained
from heedful.web.audits import AuditViews
from heedful.web.store import Store
from tests.web.test_broken_audits import shortened
from tools.harden.mutations import mutated, mutated_bytes, places

MUTATIONS = 500
PER_VIEW = 50  # of the audits that load, one in this many is shown in every way


def show_everything(folder: Path, audit: Audit) -> None:
    assert list(show.audited(audit))
    assert list(show.compared(compare({"a": audit, "b": audit})))
    views, name = AuditViews(Store.open([folder])), folder.name
    for found in (
        views.line(name),
        views.sheet(name),
        views.figures(name),
        views.documents(name, Selection(), [], 0, 50),
        views.document(name, 0),
    ):
        assert found.model_dump_json()


def is_refused(load: Callable[[], object]) -> bool:
    """Whether it is refused in a sentence; any other failure is one of the test."""
    try:
        load()
    except HeedfulError:
        return True
    return False


def test_of_500_audits_with_another_type_somewhere_all_are_refused_or_can_be_shown(own_folder):
    rng = np.random.default_rng(0)
    folder = RunFolder(own_folder / "audits" / "words")
    stored = shortened(folder.read_json(runs.AUDIT))  # which is read faster
    among, read = list(places(stored)), 0
    for _ in range(MUTATIONS):
        changed = seals.sealed(folder.path, mutated(stored, rng, among), [runs.PER_EXAMPLE])
        (folder.path / runs.AUDIT).write_text(json.dumps(changed))
        if is_refused(lambda: StoredAudit.read(folder)):
            continue
        read += 1
        if read % PER_VIEW == 0:
            show_everything(folder.path, Audit.load(folder.path))
    assert read < MUTATIONS * 3 / 4  # these changed what nobody reads, or to what it may be


def rows_of(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / runs.PER_EXAMPLE)


HARMS = {
    "no rows": lambda rows: rows[:0],
    "fewer rows": lambda rows: rows[:30],
    "more rows": lambda rows: pd.concat([rows, rows]),
    "no text": lambda rows: rows.drop(columns="text"),
    "texts that are numbers": lambda rows: rows.assign(text=1),
    "labels that are numbers": lambda rows: rows.assign(label=1),
    "no predictions": lambda rows: rows.assign(prediction=None),
    "a column of words": lambda rows: rows.assign(probability="x"),
    "a column of dates": lambda rows: rows.assign(probability=pd.Timestamp("2020-01-01")),
    "a column of nothing": lambda rows: rows.assign(probability=None),
    "a column of lists": lambda rows: rows.assign(probability=[[1, 2]] * len(rows)),
}


@pytest.mark.parametrize("harm", HARMS)
def test_rows_that_do_not_fit_are_refused_in_a_sentence(own_folder, harm):
    folder = own_folder / "audits" / "words"
    HARMS[harm](rows_of(folder)).to_parquet(folder / runs.PER_EXAMPLE)
    stored = json.loads((folder / runs.AUDIT).read_text())
    RunFolder(folder).write_sealed(runs.AUDIT, stored, [runs.PER_EXAMPLE])
    with pytest.raises(RunError, match=r"do not fit together .*audit again\."):
        Audit.load(folder)


def test_rows_with_other_bytes_are_refused_or_can_be_shown(own_folder):
    folder, rng = RunFolder(own_folder / "audits" / "words"), np.random.default_rng(0)
    whole, stored = folder.read_bytes(runs.PER_EXAMPLE), folder.read_json(runs.AUDIT)
    for _ in range(30):
        (folder.path / runs.PER_EXAMPLE).write_bytes(mutated_bytes(whole, rng))
        folder.write_sealed(runs.AUDIT, stored, [runs.PER_EXAMPLE])
        is_refused(lambda: list(show.audited(Audit.load(folder.path))))


@pytest.mark.parametrize("name", [runs.CONFIG, runs.METRICS, runs.PROVENANCE])
def test_runs_with_another_type_somewhere_are_refused_or_used(own_folder, name):
    folder, rng = RunFolder(own_folder / "words"), np.random.default_rng(0)
    whole = {one: folder.read_json(one) for one in (name, runs.PROVENANCE)}
    files, among = list(whole[runs.PROVENANCE]["sha256"]), list(places(whole[name]))
    for _ in range(60):
        changed = mutated(whole[name], rng, among)
        folder.write_json(name, changed)
        provenance = changed if name == runs.PROVENANCE else whole[runs.PROVENANCE]
        folder.write_sealed(runs.PROVENANCE, provenance, files)
        if not is_refused(lambda: Trained.load(folder.path)):
            trained = Trained.load(folder.path)
            assert show.score_line(trained)
            assert trained.describe()
