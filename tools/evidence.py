"""What `faithful` costs and brings, beside the recipes of the papers: a record, then a page.

    python -m tools.evidence smaller imdb_jw evidence/imdb_5000
    python -m tools.evidence set-aside sst2_jw evidence/runs
    python -m tools.evidence set-aside-ranges imdb_jw evidence/runs
    heedful sweep evidence/bilstm.toml -o evidence/runs/bilstm          (and the other grids)
    python -m tools.evidence record evidence/runs/bilstm … > docs/evidence.json
    python -m tools.evidence page docs/evidence.json > docs/evidence.md

A variant of these grids is called "ENCODER RECIPE", as in "bilstm faithful". Records are joined:
what a record file that is named among the folders holds is taken as it is. The page ends with
evidence/notes.md. Settings are chosen on quarters of the training documents that are set aside:
each quarter is the test part of a corpus of its own, and counts as a seed in the record. IMDB's
own test part has no film in common with its training part: see `set-aside-ranges`.
"""

import base64
import gzip
import json
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from heedful import runs
from heedful.analysis.result import Result
from heedful.auditing.bootstrap import DEFAULT_BOOTSTRAP, estimate
from heedful.auditing.results import StoredAudit
from heedful.errors import counted
from heedful.papers.rows import Mean
from heedful.runs import RunFolder
from heedful.training.task import find_corpus
from heedful.training.trained import Trained

Row = Mapping[str, Any]
Seeds = Mapping[int, Row]  # the cells of a recipe
People = dict[str, list[float]]  # by measure, of attention and of random words
Recipes = dict[str, dict[int, Row]]
STANDARD, FAITHFUL = "standard", "faithful"
NOTES = Path("evidence/notes.md")  # how the cells were made, and what they say
ASIDE = "-quarter-"  # between the name of a corpus and the quarter of it that was set aside
SAMPLE = {"train": 5000, "dev": 500, "test": 1000}  # documents of a smaller corpus
WORDS = {"may": "may", "may-not": "may not", "not-safe": "not safe"}
TESTS = ("true pictures", "true pictures, words replaced", "look away", "word choice")
MARKED = {"auprc": "marked words: AUPRC"}
ENCODERS = {"bilstm": "BiLSTM", "cnn": "CNN", "minilm": "MiniLM", "votes": "votes"}
AT_A_GLANCE = [
    "corpus", "encoder", "standard: accuracy (seeds)", "may be shown",
    "`faithful`: accuracy (seeds)", "difference to standard", "may be shown",
]  # fmt: skip
HEAD = [
    "corpus", "recipe", "test accuracy (seeds)", "difference to standard",
    "may attention be shown?", *TESTS,
]  # fmt: skip
WHERE_PEOPLE_POINT = [
    "corpus", "encoder", "measure", "random", "standard (seeds)", "`faithful` (seeds)",
    "difference of the same seeds",
]  # fmt: skip
INTRODUCTION = """# What faithful attention costs, and what it brings

Made by `make evidence-page` from `docs/evidence.json`, which holds the cells of the grids in `evidence/` (`make evidence` trains and audits them again).
Accuracies are means over seeds (how many, in brackets). The *difference to standard* is in points of test accuracy, paired by document, with a 95% interval (documents drawn again, seeds averaged).
Intervals of the measures of *where people point* are over seeds (Student's t). Scores of the audit's
judged tests are given seed by seed. `faithful` trains with its defaults on every corpus, unless a setting is named; they were chosen on training documents set aside ([how](measured.md#how-the-weights-of-faithful-were-chosen)).
"""  # noqa: E501


def record(sources: Sequence[Path], device: str = "cpu") -> list[Row]:
    """Every finished cell of some sweeps, with which test documents it got right."""
    rows: list[Row] = []
    for source in sources:
        if source.is_file():
            rows += json.loads(source.read_text(encoding="utf-8"))
        else:
            rows += _cells(source, device)
    return rows


def _cells(folder: Path, device: str) -> Iterator[Row]:
    for place in sorted(path.parent for path in folder.glob(f"*/{runs.CELL}")):
        run = RunFolder(place)
        if not run.is_finished:
            continue
        cell = run.read_json(runs.CELL)
        data, seed = _corpus_and_seed(Path(cell["data"]).name, cell["seed"])
        trained = Trained.load(place, device)
        test = find_corpus(cell["data"]).test
        said = trained.probabilities(test.texts).argmax(axis=1).tolist()
        is_right = np.array(
            [trained.classes[n] == label for n, label in zip(said, test.labels, strict=True)]
        )
        yield {
            "data": data, "variant": cell["variant"], "seed": seed,
            "documents": len(test), "right": packed(is_right),
            **_audited(place), "people": {**_marked(place), **_rated(place)},
        }  # fmt: skip


def _corpus_and_seed(name: str, seed: int) -> tuple[str, int]:
    """The quarter that was set aside counts as the seed: a quarter is trained with one seed."""
    corpus, _, quarter = name.partition(ASIDE)
    return (f"{corpus}, quarters set aside", int(quarter)) if quarter else (name, seed)


def _audited(place: Path) -> Row:
    audit = _last_audit(place)
    if audit is None:
        return {}
    tests = {
        test.name: [round(float(n), 4) for n in (test.score.score, *test.score.interval)]
        for answer in audit.answers
        for test in answer.tests
    }
    if TESTS[0] not in tests:  # nothing was asked that a verdict rests on
        return {}
    return {"verdict": audit.verdict, "audited": audit.documents, "tests": tests}


def _last_audit(place: Path) -> StoredAudit | None:
    audits = sorted(place.glob(f"audit-*/{runs.AUDIT}"))
    return StoredAudit.read(RunFolder(audits[-1].parent)) if audits else None


def _marked(place: Path) -> People:
    """How well attention finds the words that people marked, where an audit has asked."""
    audit = _last_audit(place)
    tests = [test for answer in audit.answers for test in answer.tests] if audit else []
    return {
        MARKED[test.name]: [float(test.score.value), float(test.score.floor)]
        for test in tests
        if test.name in MARKED
    }


def _rated(place: Path) -> People:
    """How well its top words are those that people rated, where that was analysed."""
    found = sorted(place.glob(f"analysis-word-sentiment-*/{runs.ANALYSIS}"))
    summary = Result.read(RunFolder(found[-1].parent)).summary if found else ()
    return {
        f"{row['documents_are']} words: F1 of {counted(row['k'], 'word')}": [
            row["f1"], row["random_f1"],
        ]
        for row in summary
    }  # fmt: skip


def packed(is_right: Bool[ndarray, " documents"]) -> str:
    """A bit for each document, as text."""
    return base64.b64encode(np.packbits(is_right).tobytes()).decode()


def unpacked(text: str, documents: int) -> Bool[ndarray, " documents"]:
    """The inverse of `packed`."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=documents)
    return bits.astype(bool)


def smaller(name: str, folder: Path) -> None:
    """Write a sample of a named corpus as a folder of its own: always the same documents."""
    rng = random.Random(0)
    for part, count in SAMPLE.items():
        documents = _lines_of(name, part)
        chosen = sorted(rng.sample(range(len(documents)), count))
        _write_part(folder, part, [documents[place] for place in chosen])


def set_aside(name: str, folder: Path) -> None:
    """Write a corpus four times: a quarter of the training documents is its test part.

    The dev part is that of the corpus, and its own test part is not touched.
    """
    documents, dev = _lines_of(name, "train"), _lines_of(name, "dev")
    random.Random(0).shuffle(documents)
    for quarter in range(4):
        train = [line for place, line in enumerate(documents) if place % 4 != quarter]
        _write_quarter(folder / name, quarter, train, dev, documents[quarter::4])


def set_aside_ranges(name: str, folder: Path) -> None:
    """The same for film reviews whose numbers ("train/pos/5747_8") are in the order of films.

    A quarter is a range of numbers. Positive and negative reviews are numbered separately, so a
    film may have its positive reviews in one quarter and its negative ones in another.
    """
    train, dev = _lines_of(name, "train"), _lines_of(name, "dev")
    size = max(map(_number_of, train + dev)) // 4 + 1
    for quarter in range(4):
        aside, train_rest, dev_rest = (
            [line for line in part if (_number_of(line) // size == quarter) == is_aside]
            for part, is_aside in ((train, True), (train, False), (dev, False))
        )
        _write_quarter(folder / f"{name}-ranges", quarter, train_rest, dev_rest, aside)


def _number_of(line: str) -> int:
    return int(json.loads(line)["id"].split("/")[-1].split("_")[0])


def _write_quarter(
    corpus: Path, quarter: int, train: Sequence[str], dev: Sequence[str], aside: Sequence[str]
) -> None:
    folder = corpus.with_name(f"{corpus.name}{ASIDE}{quarter + 1}")
    for part, lines in (("train", train), ("dev", dev), ("test", aside)):
        _write_part(folder, part, lines)


def _lines_of(name: str, part: str) -> list[str]:
    source = Path(os.environ["HEEDFUL_DATA"]) / name / f"{part}.jsonl.gz"
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        return list(lines)


def _write_part(folder: Path, part: str, lines: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{part}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(lines)


def page(rows: Sequence[Row]) -> str:
    """The page: the standard recipe beside `faithful`, then every recipe of each encoder."""
    cells: dict[tuple[str, str], Recipes] = {}
    for row in rows:
        encoder, _, recipe = row["variant"].partition(" ")
        of_recipe = cells.setdefault((encoder, row["data"]), {})
        of_recipe.setdefault(recipe, {})[row["seed"]] = row
    glance = [
        _at_a_glance(encoder, data, recipes)
        for (encoder, data), recipes in sorted(cells.items())
        if {STANDARD, FAITHFUL} <= recipes.keys()
    ]
    pointing = [
        line
        for (encoder, data), recipes in sorted(cells.items())
        for line in _where_people_point(encoder, data, recipes)
    ]
    sections = [
        _section("At a glance", AT_A_GLANCE, glance),
        _section("Where people point", WHERE_PEOPLE_POINT, pointing),
    ]
    for encoder in sorted({encoder for encoder, _ in cells}):
        lines = [
            _line(data, recipe, seeds, recipes.get(STANDARD, {}))
            for (of, data), recipes in sorted(cells.items())
            for recipe, seeds in sorted(recipes.items(), key=lambda item: item[0] != STANDARD)
            if of == encoder
        ]
        sections.append(_section(f"{ENCODERS.get(encoder, encoder)}, every recipe", HEAD, lines))
    return "\n".join([INTRODUCTION, *sections])


def _section(title: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    table = [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines]]
    return "\n".join([f"## {title}", "", *table, ""])


def _at_a_glance(encoder: str, data: str, recipes: Recipes) -> list[str]:
    standard, faithful = recipes[STANDARD], recipes[FAITHFUL]
    return [
        data, ENCODERS.get(encoder, encoder), _accuracy(standard), _shown(standard),
        _accuracy(faithful), _difference(faithful, standard), _shown(faithful),
    ]  # fmt: skip


def _where_people_point(encoder: str, data: str, recipes: Recipes) -> Iterator[list[str]]:
    both = [recipes.get(name, {}) for name in (STANDARD, FAITHFUL)]
    found = [{seed: row["people"] for seed, row in of.items() if row.get("people")} for of in both]
    for measure in next(iter(found[1].values()), {}):
        standard, faithful = ({seed: of[measure][0] for seed, of in one.items()} for one in found)
        paired = sorted(standard.keys() & faithful.keys())
        if not paired:
            continue
        floor = np.mean([of[measure][1] for of in found[1].values()])
        by_seed = Mean.of([faithful[seed] - standard[seed] for seed in paired])
        yield [
            data, ENCODERS.get(encoder, encoder), measure, f"{floor:.3f}",
            *(f"{np.mean([*one.values()]):.3f} ({len(one)})" for one in (standard, faithful)),
            _signed(by_seed.mean, by_seed.low, by_seed.high, ".3f"),
        ]  # fmt: skip


def _signed(mean: float, low: float, high: float, form: str) -> str:
    """'+0.9 [+0.6, +1.1]'; an interval stays on one line, and one seed has none."""
    interval = "" if math.isnan(low) else f" [{low:+{form}},\N{NO-BREAK SPACE}{high:+{form}}]"
    return f"{mean:+{form}}{interval}".replace("-", "\N{MINUS SIGN}")


def _line(data: str, recipe: str, seeds: Seeds, standard: Seeds) -> list[str]:
    verdicts = Counter(WORDS[row["verdict"]] for row in seeds.values() if "verdict" in row)
    return [
        data, recipe, _accuracy(seeds), "" if recipe == STANDARD else _difference(seeds, standard),
        ", ".join(f"{count} × {word}" for word, count in verdicts.most_common()),
        *(_over_seeds(seeds.values(), test) for test in TESTS),
    ]  # fmt: skip


def _accuracy(seeds: Seeds) -> str:
    accuracy = np.mean([unpacked(row["right"], row["documents"]).mean() for row in seeds.values()])
    return f"{accuracy:.1%} ({len(seeds)})"


def _shown(seeds: Seeds) -> str:
    """How many of the audited runs may be shown."""
    verdicts = [row["verdict"] for row in seeds.values() if "verdict" in row]
    return f"{verdicts.count('may')} of {len(verdicts)}" if verdicts else "–"


def _difference(seeds: Seeds, standard: Seeds) -> str:
    """Points of accuracy with a 95% interval: documents drawn again, their seeds averaged."""
    pairs = [(seeds[seed], standard[seed]) for seed in sorted(seeds.keys() & standard.keys())]
    if not pairs:
        return ""
    by_document = np.mean(
        [np.subtract(*(unpacked(r["right"], r["documents"]) * 100.0 for r in p)) for p in pairs],
        axis=0,
    )
    found = estimate(by_document, np.random.default_rng(0), DEFAULT_BOOTSTRAP)
    return _signed(found.mean, *found.interval, ".1f")


def _over_seeds(rows: Iterable[Row], test: str) -> str:
    scores = [row["tests"][test][0] for row in rows if test in row.get("tests", {})]
    return " ".join(f"{score:.2f}" for score in scores) or "–"


def main(what: str, *sources: str) -> None:
    """Print a record of sweeps (`cuda` first: on a GPU) or its page, or make a small corpus."""
    writers = {"smaller": smaller, "set-aside": set_aside, "set-aside-ranges": set_aside_ranges}
    if what in writers:
        return writers[what](sources[0], Path(sources[1]))
    is_cuda = "cuda" in sources[:1]
    paths = [Path(source) for source in sources[is_cuda:]]
    rows = record(paths, "cuda" if is_cuda else "cpu")
    if what == "page":
        print(page(rows), NOTES.read_text(encoding="utf-8"), sep="\n", end="")
    else:
        print("[", ",\n".join(json.dumps(row) for row in rows), "]", sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
