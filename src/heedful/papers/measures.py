"""What papers report beside trainings: measurements of documents, each a table of plain rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from heedful.analysis.instruments.gradient_flow import GradientFlow
from heedful.analysis.instruments.shortcuts import Shortcuts, probe_shortcuts
from heedful.config import from_plain, to_plain
from heedful.papers.setup import ALL_RUNS, Setup, joined, without_seeds
from heedful.registry import Registry
from heedful.text.datasets import load
from heedful.text.statistics import corpus_statistics
from heedful.text.token_classes import classify_tokens, label_counts
from heedful.text.tokenize import TextSettings, Tokenizer
from heedful.training.fit import Watcher
from heedful.training.settings import profiles
from heedful.training.task import Task

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """What a measurement found, and the settings of its trainings where it has any."""

    rows: Rows
    setup: Setup = field(default_factory=dict)


Measure = Callable[[Mapping[str, Any]], Measured]

measures: Registry[Measure] = Registry("measurement")


@measures.register("token-classes")
def token_classes(options: Mapping[str, Any]) -> Measured:
    """How many words lean to a label, and how many to none, in the training part (Sun & Lu)."""
    rows = []
    for name in options["data"]:
        corpus = load(name)
        task = Task.from_corpus(corpus, {})
        settings = TextSettings(
            split=corpus.split, min_documents=1, max_vocabulary=10**6, max_words=10**6
        )
        tokenizer = Tokenizer.learn(task.train.texts, settings)
        words, classes = len(tokenizer.words), len(task.classes)
        counts = label_counts(tokenizer.encode(task.train.texts), task.train.labels, classes, words)
        found = classify_tokens(counts).counts
        kinds = dict(zip([*map(str, task.classes), "neutral"], found, strict=True))
        rows += [{"data": name, "class": kind, "count": count} for kind, count in kinds.items()]
    return Measured(rows)


@measures.register("statistics")
def statistics(options: Mapping[str, Any]) -> Measured:
    """Documents of each part, mean length and vocabulary of corpora (all papers)."""
    rows: Rows = []
    for name in options["data"]:
        parts = {one.part: one for one in corpus_statistics(load(name))}
        numbers: dict[str, float] = {
            f"documents, {part}": one.documents for part, one in parts.items()
        }
        everything = parts["all"]
        numbers |= {"mean words": everything.mean_words, "vocabulary": everything.vocabulary}
        rows += [{"data": name, "of": of, "number": value} for of, value in numbers.items()]
    return Measured(rows)


@measures.register("shortcuts")
def shortcuts(options: Mapping[str, Any]) -> Measured:
    """Accuracy of every arm of the default-token experiment, seed by seed (Bai et al.)."""
    rows: Rows = []
    given = {name: value for name, value in options.items() if name != "data"}
    settings = from_plain(Shortcuts, given)
    for name in options["data"]:
        corpus = load(name)
        found = probe_shortcuts(Task.from_corpus(corpus, {}), settings, split=corpus.split)
        for arm, finding in found.arms.items():
            rows += [
                {"data": name, "arm": arm, "seed": one.seed, "accuracy": one.accuracy}
                for one in finding.seeds
            ]
        rows += [
            {"data": name, "arm": "commonest label", "seed": seed}
            | {"accuracy": found.majority_accuracy}
            for seed in settings.seeds
        ]
    return Measured(rows, {ALL_RUNS: without_seeds(to_plain(settings))})


@measures.register("gradient-flow")
def gradient_flow(options: Mapping[str, Any]) -> Measured:
    """The terms of gradient flow by kind of word, of the model that was kept (Sun & Lu).

    With the sizes that the paper's sentences compare: |A| / |B|, |D| / |E + F|, and D times the
    sign of V · W. `scales` are those of the dot product; without, the profile's own.
    """
    rows: Rows = []
    setups = []
    profile = profiles[options.get("profile", "sun-lu")]()
    for name, scale, seed in product(
        options["data"], options.get("scales", [None]), options["seeds"]
    ):
        corpus = load(name)
        chosen = {} if scale is None else {"alignment": f"dot:scale={scale}"}
        if "epochs" in options:
            chosen["recipe"] = f"standard:epochs={options['epochs']}"
        settings = profile.with_(split=corpus.split, seed=seed, **chosen)
        setups.append(without_seeds(settings.flat()))
        found = GradientFlow().analyse(corpus, settings, "cpu", Watcher())
        sign = math.copysign(1.0, found.about["query_times_output"])
        where = {"data": name, "seed": seed} | ({} if scale is None else {"scale": scale})
        rows += [where | _sizes(row, sign) for row in found.summary]
    return Measured(rows, {ALL_RUNS: joined(setups)})


def _sizes(row: Mapping[str, Any], sign: float) -> dict[str, Any]:
    """The terms of a kind of word, with those that are compared by size."""
    raises = abs(row["E"] + row["F"])
    return {
        **row,
        "A_over_B": abs(row["A"]) / abs(row["B"]) if row["B"] else None,
        "D_over_EF": abs(row["D"]) / raises if raises else None,
        "D_by_sign": sign * row["D"],
    }
