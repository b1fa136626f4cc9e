"""Everything that was done again -> one page: each claim, its test, what came of it, a verdict.

    python -m tools.claims docs/reproduced > docs/claims.md

reads the reproduction.json of every experiment below the folder. What was tested elsewhere stands
in elsewhere.md there, and is added as it is.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.papers.paper import load_paper

INTRODUCTION = """# Claims

Every claim of the papers that can be tested with the corpora at hand: the claim, the test, what we found, and a verdict.
Results are means over seeds with 95% intervals (Student's t); the pages behind the links have the commands, the machines, figures and every number.
*Replicates*: a difference is as large as asked for and its interval excludes 0; where a number itself or closeness is asked for, the whole interval complies. *Does not*: the whole interval lies on the other
side. *Open*: the seeds do not settle it, or it cannot be compared, for the reason given on the page. *Our test* marks what a paper is about but does not itself say, as far as it is known here. No number is printed as published unless it was read in the paper, its supplement or the authors' result files.
"""  # noqa: E501
VERDICTS = {"replicates": "replicates", "does not": "does not", "cannot be compared": "open"}


def claims_page(folder: Path) -> str:
    """The page, made of all experiments below a folder."""
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path in sorted(folder.glob(f"*/*/{runs.REPRODUCTION}")):
        one = json.loads(path.read_text(encoding="utf-8"))
        link = path.parent.relative_to(folder.parent).as_posix()
        found.setdefault(one["paper"], []).append((link, one))
    parts = [INTRODUCTION]
    for paper, experiments in found.items():
        rows = [row for link, one in experiments for row in _rows(link, one)]
        notes = [f"[{_name(link)}]({link}/page.md): {note}\n" for link, note in _notes(experiments)]
        parts.append("\n".join([f"## {load_paper(paper).title}\n", *notes, _table(rows)]))
    elsewhere = folder / "elsewhere.md"
    if elsewhere.is_file():
        parts.append(elsewhere.read_text(encoding="utf-8"))
    return "\n".join(parts)


def _name(link: str) -> str:
    return link.removeprefix("reproduced/").replace("/", ", ")


def _notes(
    experiments: Sequence[tuple[str, Mapping[str, Any]]],
) -> Iterator[tuple[str, str]]:
    """What must be known of experiments that were run before the setup they have now."""
    for link, one in experiments:
        if note := one.get("about", {}).get("earlier_setup"):
            yield link, note


def _rows(link: str, one: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    test = f"[{_name(link)}]({link}/page.md)"
    if judged := [n for n in one["numbers"] if n["verdict"] != "cannot be compared"]:
        near = sum(number["verdict"] == "replicates" for number in judged)
        said = f"{near} of {len(judged)} within the tolerance"
        yield (f"Published numbers: {one['title']}", test, said, f"{near} of {len(judged)}")
    by_claim: dict[str, list[Mapping[str, Any]]] = {}
    for claim in one["claims"]:
        says = f"{claim['says']} (our test)" if claim["is_ours"] else claim["says"]
        by_claim.setdefault(says, []).append(claim)
    for says, tested in by_claim.items():
        results = "<br>".join(_result(claim) for claim in tested)
        counts = Counter(VERDICTS[claim["verdict"]] for claim in tested)
        is_one = len(counts) == 1
        verdict = ", ".join(
            name if is_one else f"{name} {counts[name]}"
            for name in VERDICTS.values()
            if name in counts
        )
        yield (says, test, results, verdict)


def _result(claim: Mapping[str, Any]) -> str:
    where = ", ".join(map(str, claim["where"].values()))
    found = claim["found"]
    if found is None:
        said = "–"
    elif found["low"] is None:
        said = _short(found["mean"])
    else:
        said = f"{_short(found['mean'])} [{_short(found['low'])}, {_short(found['high'])}]"
    return f"{where}: {said}" if where else said


def _short(number: float) -> str:
    return f"{round(number, 12) + 0.0:.3g}"  # a zero that was computed is a zero


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| claim | test | result | verdict |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(claims_page(Path(sys.argv[1])))
