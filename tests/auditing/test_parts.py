import gc
import weakref

import numpy as np
import pytest

from heedful.auditing.audit import Request, audit
from heedful.auditing.parts import PartsInFolder
from heedful.auditing.questions import AuditSettings
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import RunError
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject

QUICK = AuditSettings(search=Adversarial(steps=20, learning_rate=0.1))
POINTS = {"good": 2.0, "bad": -2.0, "fine": 1.0}
DOCUMENTS = Documents(
    Document(f"{first} word{n} {second}", "good" if first != "bad" else "bad")
    for n in range(120)
    for first, second in (("good", "fine"), ("bad", "plain"))
)


class Killed(Exception):
    """Stands for kill -9."""


def run(parts=None, stop_after=None, **options):
    done = 0

    def advance(count):
        nonlocal done
        done += count
        if stop_after is not None and done >= stop_after:
            raise Killed

    request = Request(parts=parts, advance=advance, **options)
    return audit(a_subject(POINTS, len), DOCUMENTS, QUICK, request=request)


def test_a_killed_audit_goes_on_to_the_same_result_without_asking_again(tmp_path):
    whole = run()
    with pytest.raises(Killed):
        run(PartsInFolder(tmp_path, {"model": "m"}), stop_after=128)
    kept = PartsInFolder(tmp_path, {"model": "m"})
    assert kept.get(0) is not None
    assert kept.get(2) is None
    resumed = run(kept)
    assert resumed.answers == whole.answers
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(column, resumed.columns[name])


def test_another_audit_may_not_go_on_with_it(tmp_path):
    PartsInFolder(tmp_path, {"model": "m", "seed": 1}).put(0, {})
    with pytest.raises(RunError, match="begun with seed = 1, not 2"):
        PartsInFolder(tmp_path, {"model": "m", "seed": 2})


def test_parts_are_gone_once_the_audit_is_saved(tmp_path):
    parts = PartsInFolder(tmp_path, {})
    run(parts)
    parts.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["request.json"]


def test_a_part_of_another_request_is_never_taken(tmp_path):
    PartsInFolder(tmp_path, {"seed": 0}).put(0, {})
    (tmp_path / "request.json").unlink()  # as if a kill had come between
    other = PartsInFolder(tmp_path, {"seed": 1})
    assert other.get(0) is None
    other.put(0, {})
    assert other.get(0) == {}
    assert PartsInFolder(tmp_path, {"seed": 1}).get(0) == {}


def test_when_time_runs_out_a_fair_sample_has_been_audited():
    found = run(seconds=1e-9)
    assert found.documents == 8
    assert found.available == 240
    assert found.texts != tuple(DOCUMENTS.texts[:8])
    assert run(documents=30).documents == 30


def test_a_sample_keeps_the_order_of_the_documents():
    found = run(documents=30)
    places = [DOCUMENTS.texts.index(text) for text in found.texts]
    assert places == sorted(places)


def test_a_damaged_part_is_measured_again(tmp_path):
    whole = run(PartsInFolder(tmp_path, {}))
    part = tmp_path / "parts" / "000000.safetensors"
    part.write_bytes(part.read_bytes()[:100])
    assert PartsInFolder(tmp_path, {}).get(0) is None
    again = run(PartsInFolder(tmp_path, {}))
    assert again.answers == whole.answers


def test_parts_kept_in_a_folder_are_not_held_in_memory_too(tmp_path):
    written, held = [], []

    class Counted(PartsInFolder):
        def put(self, group, part):
            super().put(group, part)
            written.append([weakref.ref(measured) for measured in part.values()])

        def get(self, group):
            part = super().get(group)
            if part is not None:  # all are measured, and a question is concluded
                gc.collect()
                held.append(sum(any(one() for one in each) for each in written))
            return part

    run(Counted(tmp_path, {}))
    assert len(written) > 3
    assert max(held) <= 1  # the last group's
