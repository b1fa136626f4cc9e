"""reproduction.json -> Reproduction, judged by today's rules; files of earlier versions too."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.papers.claims import UNSETTLED, Tested, judge
from heedful.papers.comparing import Compared, Nearness, Point
from heedful.papers.expected import SOURCES, Claim, Number, Picture, Published
from heedful.papers.paper import Paper, load_paper
from heedful.papers.record import Reproduction, wanted_of
from heedful.papers.rows import Mean
from heedful.papers.verdicts import EARLIER
from heedful.runs import RunFolder

NEARNESS: dict[str, Nearness] = {
    "replicates": "replicates",
    "does not replicate": "does not replicate",
    "does not": "does not replicate",
    "cannot be compared": "cannot be compared",
}


def read_reproduction(folder: Path) -> Reproduction:
    """What was saved in a folder. Verdicts on claims are reached again from the intervals."""
    kept = RunFolder(folder).read_json(runs.REPRODUCTION)
    paper, key = load_paper(kept["paper"]), kept["experiment"]
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        experiment=key,
        says=kept["title"],
        numbers=tuple(_number(paper, key, one) for one in kept["numbers"]),
        claims=tuple(_claim(paper, key, one) for one in kept["claims"]),
        pictures=tuple(_picture(paper, key, one) for one in kept["pictures"]),
        rows=(),
        about=kept["about"],
    )


def _mean(kept: Mapping[str, Any] | None) -> Mean | None:
    if kept is None:
        return None
    low, high = (math.nan if kept[end] is None else kept[end] for end in ("low", "high"))
    return Mean(kept["mean"], low, high, kept["seeds"])


def _number(paper: Paper, key: str, kept: Mapping[str, Any]) -> Compared:
    known = (
        one
        for one in paper.published.get(key, ())
        if (dict(one.where), one.value) == (kept["where"], kept["published"])
    )
    source = next(mark for mark, said in SOURCES.items() if said == kept["source"])
    saved = Published(
        kept["where"], Number(""), kept["published"], kept["tolerance"], source, kept["why"]
    )
    verdict = NEARNESS[kept["verdict"]]
    published = next(known, saved)
    return Compared(kept["where"], published, _mean(kept["ours"]), verdict, kept["why"])


def _picture(paper: Paper, key: str, kept: Mapping[str, Any]) -> tuple[Picture, tuple[Point, ...]]:
    known = (one for one in paper.pictures.get(key, ()) if one.title == kept["title"])
    number = Number(**kept.get("number", {"column": ""}))
    of = {name: kept[name] for name in ("over", "unit", "log_below") if name in kept}
    shown = next(known, Picture(kept["title"], number, **{"over": "", **of}))
    points = []
    for point in kept["points"]:
        mean = _mean(point["mean"])
        assert mean is not None
        points.append(Point(point["over"], point["line"], point["panel"], mean))
    return shown, tuple(points)


def _claim(paper: Paper, key: str, kept: Mapping[str, Any]) -> Tested:
    found = _mean(kept["found"])
    claim = _as_claimed(paper, key, kept)
    verdict = EARLIER.get(kept["verdict"], kept["verdict"])
    if found is None or (verdict == "open" and UNSETTLED not in kept["why"]):
        return Tested(claim, kept["where"], found, "open", kept["why"])
    return judge(claim, kept["where"], found)


def _as_claimed(paper: Paper, key: str, kept: Mapping[str, Any]) -> Claim:
    """The claim as it was when it was tested: the paper's own, unless that has changed since."""
    for claim in paper.claims.get(key, ()):
        if claim.says == kept["says"] and wanted_of(claim) == kept["wanted"]:
            return claim
    wanted = kept["wanted"]
    form = kept.get("form", "closeness" if "spread" in wanted else "difference")
    cells: dict[str, dict[str, Any]] = {
        "closeness": {"cells": {}},
        "level": {"at": {}},
        "difference": {"higher": {}, "lower": {}},
    }
    number = Number(**kept.get("number", {"column": ""}))
    is_main = kept.get("is_main", False)
    return Claim(kept["says"], number, ours=kept["is_ours"], main=is_main, **cells[form], **wanted)
