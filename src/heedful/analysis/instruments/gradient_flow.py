"""Train as Sun & Lu did and watch the terms behind the scores, epoch by epoch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.analysis.gradient_flow.log import FlowLog, word_columns
from heedful.analysis.gradient_flow.of_model import Flow, flow_of, needs_closed_form
from heedful.analysis.instruments.base import OfTraining, analyses
from heedful.analysis.result import FigureSpec, Result
from heedful.analysis.word_classes import NO_KIND, kind_of_words, mean_by_kind, words_by_kind
from heedful.errors import ConfigError, DataError
from heedful.model.build import build_model
from heedful.model.classifier import TextClassifier
from heedful.text.batching import Batches
from heedful.text.documents import Corpus
from heedful.text.token_classes import classify_tokens, label_counts
from heedful.text.tokenize import Tokenizer
from heedful.training.fit import Watcher
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import choose_device

LINEARISED = (
    "Additive attention: the terms replace tanh(x) by x, as Sun & Lu do, and are approximate; "
    "D + E + F is off by {off:.0%} (length of the difference, over all words). "
    "gradient-flow:linearised=false uses the slope of tanh instead and is exact."
)
ONLY_THE_LOSS = (
    "The terms describe plain gradient flow on the cross-entropy over all documents. Training used "
    "batches, dropout and another optimiser, so it follows their signs at best."
)


@analyses.register("gradient-flow")
@dataclass(frozen=True)
class GradientFlow(OfTraining):
    """The terms that move polarity and attention scores, by kind of word and epoch (Sun & Lu)."""

    name = "gradient-flow"
    asks = "Which terms make the attention scores of polar words grow?"
    profile = "sun-lu"
    figures = (
        FigureSpec("flow_scores", "words"),
        FigureSpec("flow_terms", "words"),
        FigureSpec("flow_numbers", "epochs"),
        FigureSpec("dot_product_curves", "dots"),
    )

    linearised: bool = True  # additive attention: tanh(x) taken for x, as in the paper

    def analyse(
        self, corpus: Corpus | None, settings: Settings, device: str, watcher: Watcher
    ) -> Result:
        """Train on the corpus; look before the first epoch and after each."""
        if corpus is None:
            raise DataError("gradient-flow trains on a corpus, and none was given.")
        if settings.model.freeze_vectors:
            raise ConfigError("gradient-flow needs trainable embeddings: drop freeze_vectors.")
        task = Task.from_corpus(corpus, {})
        tokenizer = Tokenizer.learn(task.train.texts, settings.text)
        words, documents = tokenizer.words, tokenizer.encode(task.train.texts)
        counts = label_counts(documents, task.train.labels, len(task.classes), len(words))
        kinds = words_by_kind(task.classes, classify_tokens(counts))
        target = choose_device(device)
        before = build_model(
            settings.model, len(words), len(task.classes), seed=settings.training.seed
        ).to(target)
        needs_closed_form(before)
        batches = Batches(documents, task.train.labels, device=target)
        log = FlowLog(batches, kinds, watcher, is_linearised=self.linearised)
        if settings.model.vectors is None:  # else the words start from a file
            log.look(before)
        trained = train(task, settings, device=device, watcher=log)
        flow = flow_of(trained.model, batches, is_linearised=self.linearised)
        columns = word_columns(flow, kinds)
        kind = kind_of_words(kinds, len(words))
        is_kept = np.array([of != NO_KIND for of in kind])
        means = {name: mean_by_kind(values, kinds) for name, values in columns.items()}
        accuracy = trained.metrics.get("test", {}).get("accuracy", float("nan"))
        notes = [
            f"The selected model: epoch {_kept(trained.history)} of {log.number}, test "
            f"accuracy {accuracy:.1%}; V · W {float(flow.query_times_output.mean()):.2f}, |W|² "
            f"{float(flow.output_squared.mean()):.1f}, average β {flow.average_beta:.3f}.",
            ONLY_THE_LOSS,
        ]
        if not flow.is_exact:
            notes.append(LINEARISED.format(off=_off(flow, trained.model, batches)))
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(
                {"kind": kind, "words": len(members)}
                | {name: mean[kind] for name, mean in means.items()}
                for kind, members in kinds.items()
            ),
            tables={
                "words": tuple(log.words),
                "epochs": tuple(log.epochs),
                "dots": tuple(log.dots),
            },
            rows={
                "word": [word for word, kept in zip(words, is_kept, strict=True) if kept],
                "kind": [of for of in kind if of != NO_KIND],
                "occurrences": counts.sum(axis=0)[is_kept].tolist(),
            }
            | {name: values[is_kept].tolist() for name, values in columns.items()},
            notes=tuple(notes),
            about={
                "data": corpus.name,
                "epochs": log.number,
                "kept_epoch": _kept(trained.history),
                "seed": settings.training.seed,
                "test_accuracy": accuracy,
                "query_times_output": float(flow.query_times_output.mean()),
                "words": {kind: len(members) for kind, members in kinds.items()},
                "settings": settings.flat(),
            },
            figures=self.figures,
        )


def _kept(history: list[dict[str, Any]]) -> int:
    """Which epoch's weights the training ended with, counted over all phases."""
    best = [number for number, row in enumerate(history, start=1) if row["is_best"]]
    return best[-1] if best else len(history)


def _off(flow: Flow, model: TextClassifier, batches: Batches) -> float:
    """How far the linearised change of attention scores is from the true one, as a share of it."""
    exact = flow_of(model, batches, is_linearised=False).terms.attention_change
    return float((flow.terms.attention_change - exact).norm() / exact.norm().clamp(min=1e-300))
