"""A callback for the Hugging Face Trainer: does attention become an explanation during training?

After each epoch, two questions that need no retraining are tested on a few documents: *decisive*
(permutation) and *telling* (comprehensiveness). The numbers go into the Trainer's log, and to a
tracker if one is given. The model, its mode and the training's random numbers stay as they are.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import (
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
)

from heedful.api import audit
from heedful.errors import ConfigError
from heedful.estimator import Labels
from heedful.integrations.metrics import log_metrics, metrics_of
from heedful.text.documents import Documents
from heedful.text.saved_datasets import DatasetObject

ASKED = ("decisive", "telling")
LOGGED = ("decisive/permutation", "telling/comprehensiveness", "telling/true_pictures")
PREFIX = "heedful/"


class FaithfulnessCallback(TrainerCallback):
    """Logs permutation, comprehensiveness and the share of true pictures after each epoch.

    `documents` are texts with their `labels`, heedful `Documents` or a `Dataset`; `sample` of them
    are audited, the same ones each time. `readout` says how attention is read
    (`heedful list readouts`). `tracker` is `mlflow`, `wandb` or a `SummaryWriter`; without one the
    numbers are in `trainer.state.log_history` and in `history`.
    """

    def __init__(
        self,
        documents: Documents | DatasetObject | Sequence[str],
        *,
        labels: Labels | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
        sample: int = 50,
        readout: str = "last-cls",
        tracker: object = None,
    ) -> None:
        self.documents, self.labels, self.tokenizer = documents, labels, tokenizer
        self.sample, self.readout, self.tracker = sample, readout, tracker
        self.history: list[dict[str, float]] = []

    def on_epoch_end(
        self, args: object, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Audit the model as it is now, and log the numbers."""
        model = given["model"]
        tokenizer = self.tokenizer or given.get("processing_class")
        if tokenizer is None:
            raise ConfigError(
                "the Trainer has no processing_class, so words cannot be read. Give the callback "
                "the model's tokenizer."
            )
        is_training = model.training
        with torch.random.fork_rng(enabled=True):
            found = audit(
                model,
                self.documents,
                asked=ASKED,
                labels=self.labels,
                sample=self.sample,
                tokenizer=tokenizer,
                readout=self.readout,
            )
        model.train(is_training)
        numbers = metrics_of(found)
        logged = {f"{PREFIX}{name}": numbers[name] for name in LOGGED if name in numbers}
        step, epoch = int(state.global_step), float(state.epoch or 0.0)
        self.history.append({**logged, "epoch": epoch})
        state.log_history.append({**logged, "epoch": epoch, "step": step})
        if self.tracker is not None:
            log_metrics(self.tracker, logged, step)
