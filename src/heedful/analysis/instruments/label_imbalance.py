"""V · W when one label is commoner than the other (Sun & Lu 2020, supplement)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heedful.analysis.gradient_flow.of_model import flow_of, needs_closed_form
from heedful.analysis.instruments.base import OfTraining, analyses
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.analysis.word_classes import NEUTRAL, mean_by_kind
from heedful.auditing.bootstrap import estimate
from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.build import build_model
from heedful.text.datasets.planted import LABELS, Planted
from heedful.text.documents import Corpus
from heedful.training.fit import Watcher
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train

NEGATIVE, POSITIVE = LABELS[:2]


@analyses.register("label-imbalance")
@dataclass(frozen=True)
class LabelImbalance(OfTraining):
    """V · W on made-up corpora whose labels are not equally common (Sun & Lu).

    Ratios are of negative to positive documents. Each is trained with `seeds` initialisations; the
    corpus of a ratio is the same for all of them.
    """

    name = "label-imbalance"
    asks = "Does attention favour one label where the labels are not equally common?"
    profile = "sun-lu-planted"
    needs_data = False
    figures = (FigureSpec("label_imbalance", "trainings"),)

    ratios: tuple[str, ...] = ("1to1", "1to2", "1to5", "2to1", "2to5")
    seeds: int = 4
    documents: int = 12_000

    def __post_init__(self) -> None:
        at_least(1, seeds=self.seeds)
        at_least(100, documents=self.documents)
        for ratio in self.ratios:
            _shares(ratio)

    def analyse(
        self, corpus: Corpus | None, settings: Settings, device: str, watcher: Watcher
    ) -> Result:
        """Train every ratio with every seed; one row per training."""
        # Refused before the first training, not after it.
        needs_closed_form(build_model(settings.model, vocabulary=4, classes=2, seed=0))
        rows = [
            self._train(ratio, settings.with_(seed=settings.training.seed + n), device, watcher)
            for ratio in self.ratios
            for n in range(self.seeds)
        ]
        rng = np.random.default_rng(settings.training.seed)
        summary = [_summarise(ratio, rows, rng) for ratio in self.ratios]
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables={"trainings": tuple(rows), "ratios": tuple(summary)},
            rows={name: [row[name] for row in rows] for name in rows[0]},
            notes=(
                "Ratios are negative to positive training documents; the dev and test parts "
                "have the same mix.",
                f"Means and intervals are over {self.seeds} initialisations: with so few, an "
                "interval is a rough guide.",
            ),
            about={
                "documents": self.documents,
                "seeds": [settings.training.seed + n for n in range(self.seeds)],
                "settings": settings.flat(),
            },
            figures=self.figures,
        )

    def _train(
        self, ratio: str, settings: Settings, device: str, watcher: Watcher
    ) -> dict[str, Any]:
        corpus = Planted(ratio=_shares(ratio), documents=self.documents)()
        task = Task.from_corpus(replace(corpus, name=f"planted {_written(ratio)}"), {})
        seed = settings.training.seed
        watcher.turn_to(f"{_written(ratio)}, seed {seed}")
        trained = train(task, settings.with_(split=corpus.split), device=device, watcher=watcher)
        batches = trained.batches(task.train.texts)
        batches.labels = task.train.labels
        flow = flow_of(trained.model, batches)
        # By what was planted, not by counts: where labels are not balanced, every word leans.
        words = trained.tokenizer.words
        kinds = {
            kind: np.array([n for n, word in enumerate(words) if word.startswith(kind)])
            for kind in (NEGATIVE, POSITIVE, NEUTRAL)
        }
        scores = mean_by_kind(flow.attention_score.cpu().numpy(), kinds)
        return {
            "ratio": _written(ratio),
            "seed": seed,
            "query_times_output": float(flow.query_times_output[0]),
            **{f"attention_score_{kind}": score for kind, score in scores.items()},
            "test_accuracy": trained.metrics["test"]["accuracy"],
        }


def _summarise(ratio: str, rows: Sequence[dict[str, Any]], rng: np.random.Generator) -> Any:
    """Means over the trainings of one ratio."""
    of_ratio = [row for row in rows if row["ratio"] == _written(ratio)]

    def mean(name: str) -> dict[str, float]:
        return with_interval(name, estimate(np.array([row[name] for row in of_ratio]), rng))

    scores = [f"attention_score_{kind}" for kind in (NEGATIVE, POSITIVE, NEUTRAL)]
    return {
        "negative_to_positive": _written(ratio),
        **mean("query_times_output"),
        **{name: float(np.mean([row[name] for row in of_ratio])) for name in scores},
        "test_accuracy": float(np.mean([row["test_accuracy"] for row in of_ratio])),
        "seeds": len(of_ratio),
    }


def _shares(ratio: str) -> tuple[float, float]:
    """'2to5' -> (2.0, 5.0)."""
    first, to, second = ratio.partition("to")
    is_ratio = to and first.isdigit() and second.isdigit() and int(first) and int(second)
    if not is_ratio:
        raise ConfigError(
            f"label-imbalance: a ratio is written like 1to5 (negative to positive), not {ratio!r}."
        )
    return float(first), float(second)


def _written(ratio: str) -> str:
    return ratio.replace("to", ":")
