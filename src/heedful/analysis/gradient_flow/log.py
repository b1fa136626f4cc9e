"""What the gradient flow looks like after every epoch of a training, by kind of word."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.analysis.gradient_flow.of_model import Flow, flow_of
from heedful.analysis.word_classes import (
    label_margins,
    mean_by_kind,
    mean_dot_products,
    read_labels,
)
from heedful.model.classifier import TextClassifier
from heedful.text.batching import Batches
from heedful.training.fit import Epoch, Watcher
from heedful.training.recipe import Phase

Kinds = Mapping[str, Int[ndarray, " _"]]


class FlowLog(Watcher):
    """Collects, after each epoch, means over the words of each kind.

    `words` has a row per epoch and kind (each term, both scores), `epochs` a row per epoch (V · W,
    |W|², the average of beta, dev accuracy), `dots` one per epoch and pair of kinds. Whatever
    else should watch the training is passed on as `also`.
    """

    def __init__(
        self, batches: Batches, kinds: Kinds, also: Watcher, *, is_linearised: bool = True
    ) -> None:
        self.batches = batches
        self.kinds = dict(kinds)
        self.also = also
        self.is_linearised = is_linearised
        self.words: list[dict[str, Any]] = []
        self.epochs: list[dict[str, Any]] = []
        self.dots: list[dict[str, Any]] = []
        self.number = 0  # epochs so far, over all phases

    def turn_to(self, what: str) -> None:
        """Pass on."""
        self.also.turn_to(what)

    def begin_reading(self, documents: int) -> None:
        """Pass on."""
        self.also.begin_reading(documents)

    def end_reading(self) -> None:
        """Pass on."""
        self.also.end_reading()

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """Pass on."""
        self.also.begin_epoch(phase, epoch, documents)

    def advance(self, documents: int) -> None:
        """Pass on."""
        self.also.advance(documents)

    def end_epoch(self, epoch: Epoch, model: TextClassifier) -> None:
        """Look at the model as it stands."""
        self.number += 1
        self.look(model, epoch)
        self.also.end_epoch(epoch, model)

    def look(self, model: TextClassifier, epoch: Epoch | None = None) -> None:
        """Add the rows of one moment; without an epoch it is that before training."""
        flow = flow_of(model, self.batches, is_linearised=self.is_linearised)
        table = word_columns(flow, self.kinds)
        means = {name: mean_by_kind(values, self.kinds) for name, values in table.items()}
        for kind, words in self.kinds.items():
            row = {"epoch": self.number, "kind": kind, "words": len(words)}
            self.words.append(row | {name: mean[kind] for name, mean in means.items()})
        self.epochs.append(
            {
                "epoch": self.number,
                "query_times_output": float(flow.query_times_output.mean()),
                "output_squared": float(flow.output_squared.mean()),
                "average_beta": flow.average_beta,
                "train_loss": epoch.train_loss if epoch else float("nan"),
                "dev_accuracy": epoch.dev.accuracy if epoch and epoch.dev else float("nan"),
            }
        )
        vectors = _array(model.word_vectors.weight)
        self.dots += [
            {"epoch": self.number, **row} for row in mean_dot_products(vectors, self.kinds)
        ]


def word_columns(flow: Flow, kinds: Kinds) -> dict[str, Float[ndarray, " vocabulary"]]:
    """Both scores and every term as one number per word.

    Polarity is the margin of the label on which a word is read; A, B and C are what moves it.
    """
    polarity = label_margins(_array(flow.polarity))
    words, label = np.arange(len(polarity)), read_labels(polarity, kinds)
    columns = {"polarity": polarity[words, label]}
    columns["attention_score"] = _array(flow.attention_score)
    for name, values in flow.terms.polarity.items():
        columns[name] = label_margins(_array(values))[words, label]
    for name, of_word in flow.terms.attention.items():
        columns[name] = _array(of_word)
    return columns


def _array(values: Tensor) -> Float[ndarray, "..."]:
    return values.detach().double().cpu().numpy().astype(np.float64)
