"""Test accuracy beside the published numbers: Sun & Lu's DP and a BiLSTM with additive attention.

    python benchmarks/published_accuracy.py [--seeds 1 2 3] [--only NAME]

The epoch is chosen on dev; test is looked at once per run. Needs $HEEDFUL_DATA, and
$HEEDFUL_VECTORS (a GloVe file) for the rows with pretrained vectors. Prints a Markdown table.
"""

import argparse
import os
import time
from dataclasses import dataclass, field
from typing import Any

import machine
import numpy as np
import torch

import heedful
from heedful.training.settings import profiles


@dataclass(frozen=True)
class Row:
    """One configuration, what was published for it and what we ask of it."""

    name: str
    corpus: str
    profile: str
    published: str
    goal: str
    changes: dict[str, Any] = field(default_factory=dict)
    needs_vectors: bool = False


ROWS = [
    Row("DP, scale 10", "sst2_jw", "sun-lu", "82.2", "82.2 ± 1.5"),
    Row(
        "DP, scale 0.001", "sst2_jw", "sun-lu", "55.3", "12 below scale 10",
        {"alignment": "dot:scale=0.001"},
    ),
    Row("DP, scale 10", "20news_sports", "sun-lu", "92.8", "≥ 91"),
    Row("DP, scale 10", "20news_3class", "sun-lu", "93.4 (another split)", "≥ 90"),
    Row(
        "BiLSTM(128) + additive, random 300-d", "sst2_jw", "jain-wallace",
        "80.8 (J&W, other vectors)", "≥ 79", {"dropout": 0.5},
    ),
    Row(
        "BiLSTM(128) + additive, GloVe 100-d", "sst2_jw", "jain-wallace",
        "80.8 (J&W, other vectors)", "≥ 82", {"dropout": 0.5}, needs_vectors=True,
    ),
    Row("DP, scale 10", "imdb_jw", "sun-lu", "89.2", "89.2 ± 1.5"),
]  # fmt: skip


def accuracy(row: Row, seed: int) -> float:
    """Test accuracy in percent of one training."""
    corpus = heedful.load(row.corpus)
    vectors = {"vectors": os.environ["HEEDFUL_VECTORS"]} if row.needs_vectors else {}
    settings = profiles[row.profile]().with_(
        split=corpus.split, seed=seed, **row.changes, **vectors
    )
    classifier = heedful.Classifier(**settings.flat())
    classifier.fit(
        corpus.train.texts, corpus.train.labels, dev=(corpus.dev.texts, corpus.dev.labels)
    )
    return 100 * classifier.score(corpus.test.texts, corpus.test.labels)


def main() -> None:
    """Print one table row per configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", default="", help="run only rows whose corpus or name holds this")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe() + "\n")
    print("| model | corpus | published | goal | ours: mean | each seed | minutes |")
    print("|---|---|---|---|---|---|---|")
    for row in ROWS:
        if arguments.only not in row.name + " " + row.corpus:
            continue
        started = time.monotonic()
        scores = [accuracy(row, seed) for seed in arguments.seeds]
        minutes = (time.monotonic() - started) / 60
        each = ", ".join(f"{score:.1f}" for score in scores)
        print(
            f"| {row.name} | `{row.corpus}` | {row.published} | {row.goal} | "
            f"**{np.mean(scores):.1f}** | {each} | {minutes:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
