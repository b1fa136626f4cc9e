"""Where tests are wrong: on which kinds of models, and in which settings.

A group of models is listed if the test answers at least half of at least three of them wrongly;
where it has no score it says nothing, and misleads nobody. A
setting, or what its documents are like, is listed only if the test is wrong there at least twice as
often as elsewhere, so that it says something; a test that is wrong on every model that fails (or
holds) is listed once.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from heedful.calibration.ground_truth import Known
from heedful.calibration.operating_point_fit import by_test
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import Kind, Setting
from heedful.report.calibration_figures import is_right

FEWEST_MODELS = 3
WRONG_SHARE = 0.5
TIMES = 2  # as often as elsewhere
SPARSE = ("sparsemax", "sparsegen", "entmax")
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True)
class Misled:
    """A test that is wrong on at least half of some models."""

    question: str
    test: str
    misses: bool  # raises no alarm on models that fail; otherwise: alarms on models that hold
    models: str  # which
    wrong: int
    of: int

    @property
    def how(self) -> str:
        """What it does there."""
        return "misses" if self.misses else "false alarm"


def misleading(
    calibration: Calibration, kinds: Mapping[str, Kind], settings: Mapping[str, Setting]
) -> list[Misled]:
    """Every such group of every test that has a cut, the largest share first."""
    cuts = {one.test: one.separation.cut for one in calibration.tests if one.separation is not None}
    found = [
        group
        for test, some in by_test(calibration.known).items()
        if test in cuts
        for fails in (True, False)
        for group in _groups(
            [one for one in some if one.is_scored and one.fails == fails and one.has_score],
            cuts[test],
            kinds,
            settings,
        )
    ]
    return sorted(found, key=lambda one: (-one.wrong / one.of, -one.of))


def traits(setting: Setting) -> list[str]:
    """What documents of a setting are like, in words, a phrase each."""
    evidence = NUMBERS.get(setting.evidence, str(setting.evidence))
    words = "word" if setting.evidence == 1 else "words"
    said = [f"documents of {setting.words} words", f"{evidence} {words} of evidence"]
    if setting.repeats > 1:
        said.append(f"evidence that stands there {setting.repeats} times")
    if setting.noise:
        said.append("noisy labels")
    if setting.classes > 2:
        said.append(f"{NUMBERS.get(setting.classes, setting.classes)} classes")
    return [*said, f"{setting.language} language"]


def _groups(
    some: Sequence[Known], cut: float, kinds: Mapping[str, Kind], settings: Mapping[str, Setting]
) -> Iterator[Misled]:
    if len(some) < FEWEST_MODELS:
        return
    wrong = {one.member for one in some if not is_right(one, cut)}
    if len(wrong) == len(some):
        name = "all; no cut catches any" if math.isnan(cut) else "all"
        yield _misled(some, some, wrong, name)
        return
    seen: set[frozenset[str]] = set()
    for name, members in _named(some, kinds, settings):
        group = [one for one in some if one.member in members]
        others = [one for one in some if one.member not in members]
        is_trait = name not in kinds
        if members in seen or not _is_misled(group, wrong):
            continue
        if is_trait and (not others or TIMES * _share(others, wrong) > _share(group, wrong)):
            continue
        seen.add(members)
        yield _misled(some, group, wrong, name)


def _named(
    some: Sequence[Known], kinds: Mapping[str, Kind], settings: Mapping[str, Setting]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Groups of models by name: kinds, then what they share, then settings."""
    found: dict[str, set[str]] = {}
    for one in some:
        found.setdefault(one.kind, set()).add(one.member)
    for one in some:
        projection = str(kinds[one.kind].model.get("projection", ""))
        said = traits(settings[one.setting])
        for trait in [*said, *(["sparse attention"] if projection.startswith(SPARSE) else [])]:
            found.setdefault(trait, set()).add(one.member)
    for one in some:
        found.setdefault(f"setting {one.setting}", set()).add(one.member)
    for name, members in found.items():
        yield name, frozenset(members)


def _is_misled(group: Sequence[Known], wrong: set[str]) -> bool:
    return len(group) >= FEWEST_MODELS and _share(group, wrong) >= WRONG_SHARE


def _share(group: Sequence[Known], wrong: set[str]) -> float:
    return sum(one.member in wrong for one in group) / len(group)


def _misled(some: Sequence[Known], group: Sequence[Known], wrong: set[str], name: str) -> Misled:
    first = some[0]
    count = sum(one.member in wrong for one in group)
    return Misled(first.question, first.test, first.fails, name, count, len(group))


def scores_by_documents(
    calibration: Calibration, kinds: Mapping[str, Kind], settings: Mapping[str, Setting]
) -> list[dict[str, str]]:
    """What honest models score on each test, by what their documents are like: mean scores.

    Where a row falls from left to right, the same honesty is rated lower for no fault of its own.
    """
    rows = []
    for test, some in by_test(calibration.known).items():
        honest = [one for one in some if kinds[one.kind].explains and one.truth == "holds"]
        holding = [one for one in honest if one.has_score]
        if len(holding) < FEWEST_MODELS:
            continue
        row = {"test": test}
        for name, is_like in DOCUMENTS.items():
            scores = [one.score for one in holding if is_like(settings[one.setting])]
            known = len(scores) >= FEWEST_MODELS
            row[name] = f"{sum(scores) / len(scores):.2f} ({len(scores)})" if known else "–"
        rows.append(row)
    return rows


DOCUMENTS: dict[str, Callable[[Setting], bool]] = {
    "one word decides": lambda setting: setting.has_one_word,
    "two say the same": lambda setting: setting.evidence == 2,
    "five say the same": lambda setting: setting.evidence == 5,
    "one word, three times": lambda setting: setting.repeats > 1,
    "12 words": lambda setting: setting.words == 12,
    "60 words": lambda setting: setting.words == 60,
    "200 words": lambda setting: setting.words == 200,
    "noisy labels": lambda setting: setting.noise > 0,
    "real language": lambda setting: setting.language == "real",
}
