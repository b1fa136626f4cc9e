"""The steps of a training on a GPU: nothing in them waits for it.

A GPU that is asked for a number finishes all its work first and then waits for the next. So losses
are read some steps later, and what is known of sizes on this side is not asked for.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from heedful.errors import TrainingDiverged
from heedful.model.precision import Precision
from heedful.model.pretrained import PretrainedEncoder
from heedful.model.step_graphs import StepReader

STEPS_BETWEEN_LOOKS = 100  # at the losses of a training on a GPU


class EpochLoss:
    """The losses of an epoch; one that is no number ends the training, on a GPU some steps later.

    mean = sum of loss * documents / sum of documents
    """

    def __init__(self, epoch: int, device: torch.device) -> None:
        self.epoch = epoch
        self.most_unread = 1 if device.type == "cpu" else STEPS_BETWEEN_LOOKS
        self._total, self._documents = 0.0, 0
        self._unread: list[tuple[Tensor, int]] = []

    def add(self, loss: Tensor, documents: int) -> None:
        """The loss of a batch."""
        self._unread.append((loss.detach(), documents))
        if len(self._unread) >= self.most_unread:
            self._look()

    def mean(self) -> float:
        """For each document."""
        self._look()
        return self._total / self._documents

    def _look(self) -> None:
        if not self._unread:
            return
        losses = [loss for loss, _ in self._unread]
        values = torch.stack(losses).tolist() if len(losses) > 1 else [float(losses[0])]
        for value, (_, documents) in zip(values, self._unread, strict=True):
            if not math.isfinite(value):
                raise TrainingDiverged(
                    f"the loss became {value} in epoch {self.epoch}. "
                    "A lower learning rate or gradient_clip usually helps."
                )
            self._total += value * documents
            self._documents += documents
        self._unread.clear()


class PretrainedSteps:
    """Lets the pretrained encoders of some modules read for steps on a GPU; elsewhere nothing."""

    def __init__(self, modules: nn.Module, device: torch.device, precision: Precision) -> None:
        self.readers: dict[PretrainedEncoder, StepReader] = {}
        if device.type != "cuda":
            return
        is_rounded = precision == "auto" and torch.cuda.is_bf16_supported(including_emulation=False)
        for part in modules.modules():
            if isinstance(part, PretrainedEncoder):
                kind = part.inner.config.model_type
                self.readers[part] = StepReader(part.inner, part.layers, kind, is_rounded)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """The encoders read so while this is open."""
        try:
            for encoder, reader in self.readers.items():
                encoder.step_reader = reader
            yield
        finally:
            for encoder in self.readers:
                encoder.step_reader = None

    def begin_step(self) -> None:
        """The last step is over."""
        for reader in self.readers.values():
            reader.begin_step()
