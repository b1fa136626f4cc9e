"""Everything that was done again -> one page: each claim, its test, what came of it, a verdict.

    python -m tools.claims docs/reproduced             writes docs/claims.md and its forest plot
    python -m tools.claims docs/reproduced --pages     and every experiment's page.md with figures

reads the reproduction.json of every experiment below the folder; nothing is trained. What was
tested elsewhere stands in elsewhere.md there, and is added as it is.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import vl_convert

from heedful import runs
from heedful.papers.claims import Tested
from heedful.papers.paper import load_paper
from heedful.papers.record import Reproduction
from heedful.papers.saved import read_reproduction
from heedful.papers.smallest_effects import KINDS, TREND, kind_of
from heedful.papers.verdicts import MEANINGS, Verdict, in_words, smallest_that_matters
from heedful.plots import Figure
from heedful.plots.papers import forest
from heedful.report.reproduction import mean_in_words, notes_of, visible_in_words, write_page
from heedful.storage import write_atomically

FIGURE = "images/claims.svg"
SEVERAL: dict[Verdict, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
    "too small to matter": "too small to matter",
    "open": "open",
}
INTRODUCTION = """# Claims

Which claims about attention as explanation hold when they are tested again: {count} tests of {claims} claims, {verdicts}.
A test that was run twice counts once, with the more seeds. Results are means over seeds with 95% intervals (Student's t). Below the plot: [what the verdicts mean](#verdicts) and [every claim](#all-claims), with its numbers and the smallest difference that its seeds could detect.

## The claims that matter most
"""  # noqa: E501
ALL = """## All claims

The pages behind the links have the commands, the machines, figures and every number. *Visible* is the smallest difference that as many seeds would have found in four of five repetitions, at the spread seen here. For an open claim, *seeds* is how many would settle it in four of
five repetitions if mean and spread stay as they are. *Our test* marks what a paper is about but does not itself say, as far as it is known here. No number is printed as published unless it was read in the paper, its supplement or the authors' result files.
"""  # noqa: E501


@dataclass(frozen=True)
class Saved:
    """An experiment that was done again, and where its page is."""

    folder: Path
    link: str  # from the folder of docs
    one: Reproduction

    @property
    def page(self) -> str:
        """A link to its page."""
        return f"[{self.link.removeprefix('reproduced/').replace('/', ', ')}]({self.link}/page.md)"


def read_all(folder: Path) -> dict[str, list[Saved]]:
    """All experiments below a folder, by paper."""
    found: dict[str, list[Saved]] = {}
    for path in sorted(folder.glob(f"*/*/{runs.REPRODUCTION}")):
        link = path.parent.relative_to(folder.parent).as_posix()
        one = read_reproduction(path.parent)
        found.setdefault(one.paper, []).append(Saved(path.parent, link, one))
    return found


def each_once(everything: Sequence[Saved]) -> list[Saved]:
    """Every test once: of two of the same experiment, claim and cells the one of more seeds."""
    best: dict[tuple[str, str, str, str], Tested] = {}
    for saved in everything:
        for tested in saved.one.claims:
            before = best.setdefault(_identity(saved, tested), tested)
            if _count(before) < _count(tested):
                best[_identity(saved, tested)] = tested
    return [
        replace(saved, one=replace(saved.one, claims=tuple(
            tested for tested in saved.one.claims if best[_identity(saved, tested)] is tested
        )))
        for saved in everything
    ]  # fmt: skip


def _identity(saved: Saved, tested: Tested) -> tuple[str, str, str, str]:
    where = sorted((name, str(value)) for name, value in tested.where.items())
    return saved.one.paper, saved.one.experiment, _says(tested), str(where)


def claims_page(folder: Path) -> str:
    """The page, made of all experiments below a folder."""
    found = {paper: each_once(some) for paper, some in read_all(folder).items()}
    everything = [saved for some in found.values() for saved in some]
    tests = [tested for saved in everything for tested in saved.one.claims]
    counts = Counter(tested.verdict for tested in tests)
    parts = [
        INTRODUCTION.format(
            count=len(tests),
            claims=len({_identity(of, one)[:3] for of in everything for one in of.one.claims}),
            verdicts=", ".join(
                f"{counts[name]} {several}" for name, several in SEVERAL.items() if counts[name]
            ),
        ),
        _table(("claim", "paper", "verdict"), _main_rows(everything)),
    ]
    if (drawn := main_figure(everything)) is not None:
        parts.append(f"![{drawn.title}]({FIGURE})\n\n{drawn.caption}\n")
    parts += [_verdicts(), ALL]
    for paper, experiments in found.items():
        rows = [row for saved in experiments for row in _rows(saved)]
        notes = [f"{saved.page}: {note}\n" for saved in experiments for note in notes_of(saved.one)]
        table = _table(("claim", "test", "result", "visible", "seeds", "verdict"), rows)
        parts.append("\n".join([f"### {load_paper(paper).title}\n", *notes, table]))
    elsewhere = folder / "elsewhere.md"
    if elsewhere.is_file():
        parts.append(elsewhere.read_text(encoding="utf-8"))
    return "\n".join(parts)


def main_claims(everything: Sequence[Saved]) -> dict[tuple[str, str], list[tuple[Saved, Tested]]]:
    """The tests of the main claims, each once, by paper and claim."""
    found: dict[tuple[str, str], list[tuple[Saved, Tested]]] = {}
    for saved in each_once(everything):
        for tested in saved.one.claims:
            if tested.claim.main:
                found.setdefault((saved.one.paper, tested.claim.says), []).append((saved, tested))
    return found


def _count(tested: Tested) -> int:
    return 0 if tested.found is None else tested.found.seeds


def main_figure(everything: Sequence[Saved]) -> Figure | None:
    """The forest plot of the main claims; None where none was tested."""
    rows = []
    for tests in main_claims(everything).values():
        for _, tested in tests:
            kind = kind_of(tested.claim.number)
            if tested.found is not None and kind is not None:
                found, claim = tested.found, tested.claim
                bound = claim.spread or claim.most or claim.by
                rows.append(
                    {"claim": claim.says, "test": _where(tested), "kind": kind.name}
                    | {"mean": found.mean, "low": found.low, "high": found.high}
                    | {"verdict": tested.verdict, "bound": bound or math.nan}
                    | {"smallest": smallest_that_matters(claim) or math.nan}
                )
    return forest(pd.DataFrame(rows)) if rows else None


def _main_rows(everything: Sequence[Saved]) -> Iterator[Sequence[str]]:
    for (paper, says), tests in main_claims(everything).items():
        name = load_paper(paper).title.partition(",")[0]
        link = tests[0][0].link
        yield says, f"[{name}]({link}/page.md)", in_words(tested.verdict for _, tested in tests)


def _by_claim(one: Reproduction) -> Mapping[str, list[Tested]]:
    by_claim: dict[str, list[Tested]] = {}
    for tested in one.claims:
        by_claim.setdefault(_says(tested), []).append(tested)
    return by_claim


def _says(tested: Tested) -> str:
    return f"{tested.claim.says} (our test)" if tested.claim.ours else tested.claim.says


def _rows(saved: Saved) -> Iterator[Sequence[str]]:
    one = saved.one
    if judged := [number for number in one.numbers if number.verdict != "cannot be compared"]:
        near = sum(number.verdict == "replicates" for number in judged)
        said = f"{near} of {len(judged)} within the tolerance"
        yield f"Published numbers: {one.says}", saved.page, said, "–", "–", said
    for says, tested in _by_claim(one).items():
        yield (
            says,
            saved.page,
            "<br>".join(_result(test) for test in tested),
            "<br>".join(visible_in_words(test) for test in tested),
            "<br>".join(_seeds(test) for test in tested),
            in_words(test.verdict for test in tested),
        )


def _result(tested: Tested) -> str:
    where, said = _where(tested), mean_in_words(tested.found)
    return f"{where}: {said}" if where else said


def _where(tested: Tested) -> str:
    return ", ".join(map(str, tested.where.values()))


def _seeds(tested: Tested) -> str:
    """How many there were, and for an open claim how many would settle it."""
    if tested.found is None:
        return "–"
    return f"{tested.found.seeds}" + (f" of {tested.seeds_needed}" if tested.seeds_needed else "")


def _verdicts() -> str:
    lines = ["## Verdicts\n", *(f"- *{name}*: {what}." for name, what in MEANINGS.items())]
    kinds = [
        (kind.name, "–" if kind.smallest is None else f"{kind.smallest:g}", kind.why)
        for kind in (*KINDS, TREND)
    ]
    lines += ["\nThe smallest effect that matters, by kind of measure:\n"]
    return "\n".join([*lines, _table(("measure", "smallest effect", "reason"), kinds)])


def _table(names: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main(folder: Path, has_pages: bool) -> None:
    """Write the page and its plot; with `has_pages` those of all experiments too."""
    everything = [saved for some in read_all(folder).values() for saved in some]
    write_atomically(folder.parent / "claims.md", claims_page(folder).encode())
    if (figure := main_figure(everything)) is not None:
        chart = figure.chart.properties(background="white").to_dict(validate=False)
        picture = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
        write_atomically(folder.parent / FIGURE, picture.encode())
    for saved in everything if has_pages else []:
        command = "heedful " + saved.one.about["command"].partition(" ")[2]
        write_page(saved.folder, load_paper(saved.one.paper), saved.one, command)


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--pages" in sys.argv[2:])
