"""The page of claims in docs is made of the experiments that stand beside it."""

import json
from pathlib import Path

import pytest

from tools.claims import claims_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="docs are not part of an installed package")
def test_the_page_in_docs_says_what_the_experiments_found():
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == claims_page(DOCS / "reproduced")


def test_a_claim_is_one_row_with_all_its_results(tmp_path: Path):
    place = tmp_path / "reproduced" / "meister" / "table-1"
    place.mkdir(parents=True)
    found = {"mean": 0.25, "low": 0.2, "high": 0.3, "seeds": 3}
    says = {"says": "it is", "is_ours": False}
    claims = [
        {**says, "where": {"data": "x"}, "found": found, "verdict": "replicates"},
        {**says, "where": {"data": "y"}, "found": None, "verdict": "cannot be compared"},
        {**says, "is_ours": True, "where": {}, "found": found, "verdict": "does not"},
    ]
    one = {"paper": "meister", "title": "T", "numbers": [], "claims": claims}
    (place / "reproduction.json").write_text(json.dumps(one))
    page = claims_page(tmp_path / "reproduced")
    assert (
        "| it is | [meister, table-1](reproduced/meister/table-1/page.md) | "
        "x: 0.25 [0.2, 0.3]<br>y: – | replicates 1, open 1 |"
    ) in page
    assert "| it is (our test) |" in page


def test_an_experiment_that_was_run_before_its_setup_changed_says_so(tmp_path: Path):
    place = tmp_path / "reproduced" / "zhou" / "vat"
    place.mkdir(parents=True)
    about = {"earlier_setup": "Made with other heads."}
    one = {"paper": "zhou", "title": "T", "numbers": [], "claims": [], "about": about}
    (place / "reproduction.json").write_text(json.dumps(one))
    page = claims_page(tmp_path / "reproduced")
    assert "[zhou, vat](reproduced/zhou/vat/page.md): Made with other heads." in page


@pytest.mark.skipif(not DOCS.is_dir(), reason="docs are not part of an installed package")
def test_the_pages_in_docs_say_so_too():
    noted = 0
    for path in DOCS.glob("reproduced/*/*/reproduction.json"):
        note = json.loads(path.read_text(encoding="utf-8"))["about"].get("earlier_setup")
        if note:
            noted += 1
            assert note in (path.parent / "page.md").read_text(encoding="utf-8"), path
    assert noted
