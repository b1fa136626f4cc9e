"""The page of claims in docs is made of the experiments that stand beside it."""

import json
from pathlib import Path

import pytest

from heedful.papers.saved import read_reproduction
from heedful.report.reproduction import notes_of
from tools.claims import claims_page, main_figure, read_all

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="docs are not part of an installed package")
def test_the_page_in_docs_says_what_the_experiments_found():
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == claims_page(DOCS / "reproduced")


def saved(folder: Path, paper: str, key: str, claims: list, **about) -> None:
    place = folder / "reproduced" / paper / key
    place.mkdir(parents=True)
    one = {"paper": paper, "experiment": key, "title": "T", "numbers": [], "pictures": []}
    (place / "reproduction.json").write_text(json.dumps({**one, "claims": claims, "about": about}))


def a_claim(where, mean, half, says="it is", seeds=3, **more):
    found = {"mean": mean, "low": mean - half, "high": mean + half, "seeds": seeds}
    facts = {"says": says, "is_ours": False, "wanted": {}, "why": "", "verdict": "holds"}
    return {**facts, "where": where, "found": found, **more}


def test_a_claim_is_one_row_with_all_its_results_and_what_its_seeds_could_see(tmp_path: Path):
    missing = {"found": None, "verdict": "open", "why": "it was not run here"}
    claims = [
        a_claim({"data": "x"}, 0.25, 0.05),
        a_claim({"data": "y"}, 0.0, 0.0, **missing),
        a_claim({"data": "z"}, 0.1, 0.2, verdict="open", why="3 seeds do not settle it"),
        a_claim({}, -0.25, 0.05, is_ours=True),
    ]
    saved(tmp_path, "meister", "table-1", claims)
    page = claims_page(tmp_path / "reproduced")
    # 0.05 is 4.303 standard errors; 3 seeds see 5.65 of them
    assert (
        "| it is | [meister, table-1](reproduced/meister/table-1/page.md) | "
        "x: 0.25 [0.2, 0.3]<br>y: –<br>z: 0.1 [-0.1, 0.3] | 0.0657<br>–<br>0.263 | "
        "3<br>–<br>3 of 8 | holds 1, open 2 |"
    ) in page
    assert "| it is (our test) |" in page
    assert "4 tests of 2 claims, 1 hold, 1 do not hold, 2 open" in page


def test_main_claims_come_first_and_the_test_of_more_seeds_counts(tmp_path: Path):
    says = "With a very small scale DP collapses"
    few = a_claim({"data": "x"}, 30.0, 40.0, says, wanted={"by": 10.0})
    saved(tmp_path, "sun-lu", "table-2", [few, a_claim({"data": "y"}, 0.5, 0.1)])
    more = a_claim({"data": "x"}, 30.0, 2.0, says, seeds=5, wanted={"by": 10.0})
    folder = tmp_path / "reproduced"
    saved(tmp_path, "sun-lu", "table-2-five", [])
    place = folder / "sun-lu" / "table-2-five" / "reproduction.json"
    kept = json.loads(place.read_text())
    place.write_text(json.dumps({**kept, "experiment": "table-2", "claims": [more]}))
    page = claims_page(folder)
    opening = page.partition("## Verdicts")[0]
    assert "2 tests of 2 claims, 2 hold." in opening  # not a third, of fewer seeds
    assert "x: 30 [-10, 70]" not in page
    assert (
        f"| {says} | [Sun & Lu 2020](reproduced/sun-lu/table-2-five/page.md) | holds |" in opening
    )
    assert "it is" not in opening.partition("## The claims")[2]
    everything = [one for some in read_all(folder).values() for one in some]
    figure = main_figure(everything)
    (rows,) = [rows for rows in figure.chart.to_dict()["datasets"].values() if "low" in rows[0]]
    assert [(row["test"], row["low"], row["bound"]) for row in rows] == [("x", 28.0, 10.0)]


def test_an_experiment_says_that_its_setup_has_changed_since_and_what_was_left_out(tmp_path: Path):
    saved(tmp_path, "zhou", "vat", [], earlier_setup="Made with other heads.", note="VAT only.")
    page = claims_page(tmp_path / "reproduced")
    assert "[zhou, vat](reproduced/zhou/vat/page.md): Made with other heads." in page
    assert "[zhou, vat](reproduced/zhou/vat/page.md): VAT only." in page


@pytest.mark.skipif(not DOCS.is_dir(), reason="docs are not part of an installed package")
def test_the_pages_in_docs_say_so_too():
    noted = 0
    for path in DOCS.glob("reproduced/*/*/reproduction.json"):
        for note in notes_of(read_reproduction(path.parent)):
            noted += 1
            assert note in (path.parent / "page.md").read_text(encoding="utf-8"), path
    assert noted


@pytest.mark.skipif(not DOCS.is_dir(), reason="docs are not part of an installed package")
def test_whatever_does_not_hold_was_run_with_a_setup_that_its_page_shows():
    failed = [
        saved
        for some in read_all(DOCS / "reproduced").values()
        for saved in some
        if any(tested.verdict == "does not hold" for tested in saved.one.claims)
    ]
    assert failed
    for saved in failed:
        assert saved.one.about.get("setup"), saved.link
        assert "### Setup" in (saved.folder / "page.md").read_text(encoding="utf-8"), saved.link
