import numpy as np
import pytest

from heedful.auditing.audit import audit
from heedful.auditing.comparison import compare
from heedful.errors import DataError
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject

POINTS = {"great": 3.0, "awful": -3.0}
DOCUMENTS = Documents(
    Document(f"some {word} film{n} here", "good" if word == "great" else "bad")
    for n, word in enumerate(["great", "awful"] * 20)
)


@pytest.fixture(scope="module")
def audits():
    honest = a_subject(POINTS, lambda word: 5.0 if word in POINTS else 0.5)
    liar = a_subject(POINTS, lambda word: 5.0 if word == "some" else 0.5)
    return {"honest": audit(honest, DOCUMENTS), "liar": audit(liar, DOCUMENTS)}


def test_differences_are_paired_on_documents_and_say_whom_they_favour(audits):
    rows = {row["test"]: row for row in compare(audits).differences}
    assert rows["accuracy"]["difference"] == 0
    assert rows["accuracy"]["favours"] == ""
    told = [audits[name].columns["comprehensiveness_attention"] for name in ("honest", "liar")]
    assert rows["comprehensiveness"]["difference"] == pytest.approx(np.mean(told[0] - told[1]))
    assert rows["comprehensiveness"]["favours"] == "honest"
    assert rows["sufficiency"]["favours"] == "honest"  # where lower is better
    assert rows["sufficiency"]["difference"] < 0


def test_every_test_of_every_run_has_a_row(audits):
    scores = compare(audits).scores
    tests = sum(len(answer.tests) for a in audits.values() for answer in a.answers)
    assert len(scores) == tests
    assert {row["run"] for row in scores} == {"honest", "liar"}


def test_audits_on_different_documents_are_not_compared(audits):
    other = audit(a_subject(POINTS, len), DOCUMENTS[:20])
    with pytest.raises(DataError, match=r"different documents \(40 and 20\)"):
        compare({"honest": audits["honest"], "other": other})
    with pytest.raises(DataError, match="at least two audits"):
        compare({"honest": audits["honest"]})
