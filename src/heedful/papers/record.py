"""What came of an experiment that was done again: a record, nothing is run here."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import runs, storage
from heedful.auditing.results import plain
from heedful.errors import counted
from heedful.papers.claims import Tested
from heedful.papers.comparing import Compared, Point
from heedful.papers.expected import SOURCES, Picture
from heedful.papers.rows import Row, Verdict
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

    def count(self, verdict: Verdict) -> int:
        """How many numbers and claims came out so."""
        found: list[Compared | Tested] = [*self.numbers, *self.claims]
        return sum(one.verdict == verdict for one in found)

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        judged = [one for one in self.numbers if one.verdict != "cannot be compared"]
        near = sum(one.verdict == "replicates" for one in judged)
        parts = []
        if judged:
            parts.append(f"{near} of {len(judged)} published numbers replicate")
        for what, is_ours in (("claims", False), ("tests of ours", True)):
            tested = [one for one in self.claims if one.claim.ours == is_ours]
            tested = [one for one in tested if one.verdict != "cannot be compared"]
            if tested:
                held = sum(one.verdict == "replicates" for one in tested)
                parts.append(f"{held} of {len(tested)} {what} {'do' if parts else 'replicate'}")
        if failed := self.about["cells"].get("failed", 0):
            parts.append(f"{counted(failed, 'run')} failed")
        left = self.count("cannot be compared")
        parts += [f"{left} cannot be compared"] if left else []
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
    return {"title": picture.title, "points": [asdict(point) for point in points]}


def _claim(one: Tested) -> dict[str, Any]:
    claim = one.claim
    wanted: Mapping[str, Any] = {"by": claim.by, "spread": claim.spread, "most": claim.most}
    return {
        "says": claim.says,
        "is_ours": claim.ours,
        "where": dict(one.where),
        "wanted": {name: value for name, value in wanted.items() if value},
        "found": None if one.found is None else asdict(one.found),
        "verdict": one.verdict,
        "why": one.why,
    }
