"""What came of an experiment that was done again: a record, nothing is run here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import runs, storage
from heedful.auditing.results import plain
from heedful.errors import counted
from heedful.papers.claims import Tested
from heedful.papers.comparing import Compared, Point
from heedful.papers.expected import SOURCES, Claim, Picture
from heedful.papers.rows import Row
from heedful.papers.verdicts import in_words, smallest_that_matters
from heedful.runs import RunFolder


@dataclass(frozen=True)
class Reproduction:
    """One experiment of a paper, done again."""

    paper: str
    title: str
    experiment: str
    says: str  # the experiment's title
    numbers: tuple[Compared, ...]
    claims: tuple[Tested, ...]
    pictures: tuple[tuple[Picture, tuple[Point, ...]], ...]
    rows: tuple[Row, ...]  # what was measured, run by run
    about: dict[str, Any]

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        judged = [one for one in self.numbers if one.verdict != "cannot be compared"]
        near = sum(one.verdict == "replicates" for one in judged)
        parts = []
        if judged:
            parts.append(f"{near} of {len(judged)} published numbers replicate")
        if left := len(self.numbers) - len(judged):
            what = f"{left}" if judged else counted(left, "published number")
            parts.append(f"{what} cannot be compared")
        tests = (
            ("test of a claim", "tests of claims", False),
            ("test of ours", "tests of ours", True),
        )
        for what, several, is_ours in tests:
            tested = [one.verdict for one in self.claims if one.claim.ours == is_ours]
            if tested:
                parts.append(f"{counted(len(tested), what, several)}: {in_words(tested)}")
        if failed := self.about["cells"].get("failed", 0):
            parts.append(f"{counted(failed, 'run')} failed")
        others = self.about["left_out"]
        parts += [f"{others} others were not asked for"] if others else []
        return f"{self.experiment}: {'; '.join(parts) or 'nothing could be compared'}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "paper": self.paper,
            "experiment": self.experiment,
            "title": self.says,
            "sentence": self.sentence,
            "numbers": [_number(one) for one in self.numbers],
            "claims": [_claim(one) for one in self.claims],
            "pictures": [_picture(*one) for one in self.pictures],
            "about": self.about,
        }

    def save(self, folder: Path) -> None:
        """Write reproduction.json."""
        with storage.held(folder):
            RunFolder(folder).write_json(runs.REPRODUCTION, plain(self.to_dict()))


def _number(one: Compared) -> dict[str, Any]:
    return {
        "where": dict(one.where),
        "published": one.published.value,
        "source": SOURCES[one.published.source],
        "tolerance": one.published.tolerance,
        "ours": None if one.ours is None else asdict(one.ours),
        "difference": one.difference,
        "verdict": one.verdict,
        "why": one.why,
    }


def _picture(picture: Picture, points: Sequence[Point]) -> dict[str, Any]:
    return {
        "title": picture.title,
        "over": picture.over,
        "number": asdict(picture.number),
        "unit": picture.unit,
        "log_below": picture.log_below,
        "points": [asdict(point) for point in points],
    }


def form_of(claim: Claim) -> str:
    """What a claim compares: two cells or columns, a number with a bound, or many cells."""
    if claim.cells is not None:
        return "closeness"
    return "level" if claim.at is not None and not claim.than else "difference"


def wanted_of(claim: Claim) -> dict[str, float]:
    """The sizes that a claim states."""
    wanted = {"by": claim.by, "spread": claim.spread, "most": claim.most}
    return {name: value for name, value in wanted.items() if value}


def _claim(one: Tested) -> dict[str, Any]:
    claim = one.claim
    return {
        "says": claim.says,
        "is_ours": claim.ours,
        "is_main": claim.main,
        "where": dict(one.where),
        "form": form_of(claim),
        "number": asdict(claim.number),
        "wanted": wanted_of(claim),
        "smallest_that_matters": smallest_that_matters(claim),
        "found": None if one.found is None else asdict(one.found),
        "smallest_visible": one.visible,
        "verdict": one.verdict,
        "why": one.why,
        "seeds_needed": one.seeds_needed,
    }
