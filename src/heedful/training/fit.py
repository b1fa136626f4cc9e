"""The one training loop: phases in, a trained model and its history out.

Every random draw of an epoch follows from (seed, phase, epoch), so a training that was killed goes
on from its last saved epoch to exactly the weights it would have had.
"""

import copy
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from heedful.config import above, at_least, family, within
from heedful.errors import RunError
from heedful.model.classifier import Attends, TextClassifier
from heedful.model.precision import Precision
from heedful.model.pretrained import PretrainedEncoder
from heedful.text.batching import Batches
from heedful.training.averaging import WeightAverage
from heedful.training.evaluate import Scores, evaluate
from heedful.training.gpu_steps import EpochLoss, PretrainedSteps
from heedful.training.optimizers import OptimizerSettings, ParameterGroup, optimizers
from heedful.training.recipe import Material, Notes, Phase, Recipe
from heedful.training.recipes import recipes

SECONDS_BETWEEN_CHECKPOINTS = 5.0
READING = "reading the texts with the frozen encoder"  # what comes before the first epoch
COUNTED_TOO = "dev_accuracy_"  # among the notes of an epoch, then the name of what also chose it


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained."""

    recipe: Recipe = family(recipes, "standard")
    optimizer: OptimizerSettings = family(optimizers, "amsgrad")
    batch_size: int = 32
    patience: int | None = 3  # stop after this many epochs without a better dev score
    select_by: Literal["accuracy", "loss"] = "accuracy"  # dev score that selects the best epoch
    gradient_clip: float | None = 5.0  # maximum norm of all gradients together
    class_weights: Literal["none", "balanced"] = "none"
    averaging: float = 0.0  # epochs over which weights are averaged; 0: those of the last step
    precision: Precision = "auto"  # fp32, or auto: a GPU reads with a pretrained encoder in bf16
    seed: int = 1

    def __post_init__(self) -> None:
        at_least(1, batch_size=self.batch_size, patience=self.patience)
        at_least(0, averaging=self.averaging)
        above(0, gradient_clip=self.gradient_clip)
        within(0, 2**32, seed=self.seed)


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    phase: int
    epoch: int  # from 1
    train_loss: float
    dev: Scores | None
    is_best: bool
    seconds: float
    name: str = ""  # of the phase
    notes: Notes = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """One line of history.jsonl."""
        dev = {f"dev_{name}": value for name, value in asdict(self.dev).items()} if self.dev else {}
        facts = {name: value for name, value in asdict(self).items() if name != "dev"}
        said = {name: facts.pop(name) for name in ("name", "notes")}
        return {**facts, **dev, **{name: value for name, value in said.items() if value}}


class Watcher:
    """Told how a training goes; the default looks away."""

    def turn_to(self, what: str) -> None:
        """What is trained from here on: the run itself (nothing) or the base that it needs."""

    def begin_reading(self, documents: int) -> None:
        """All documents are read once before the first epoch, with what does not change."""

    def end_reading(self) -> None:
        """They have been read."""

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """An epoch begins; it is counted from 0."""

    def advance(self, documents: int) -> None:
        """So many more documents have been learnt from."""

    def end_epoch(self, epoch: Epoch, model: TextClassifier) -> None:
        """An epoch has ended; the model is as it stands then."""


@runtime_checkable
class Keeper(Protocol):
    """Where a training's state is kept, so that it can be resumed."""

    def read_checkpoint(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The saved state of that name, if any."""

    def write_checkpoint(
        self, name: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
    ) -> None:
        """Save a state."""


def fit(
    model: TextClassifier,
    settings: TrainingSettings,
    material: Material,
    dev: Batches | None,
    *,
    keeper: Keeper | None = None,
    watcher: Watcher | None = None,
) -> list[dict[str, Any]]:
    """Train `model` in place by the recipe of `settings`; the history, one row per epoch.

    Without `dev` there is nothing to choose an epoch by, so the last one stands.
    """
    history: list[dict[str, Any]] = []
    learnable = {parameter: parameter.requires_grad for parameter in model.parameters()}
    for number, phase in enumerate(settings.recipe.phases(model, material)):
        modules = _modules(model, phase)
        finished = keeper.read_checkpoint(f"phase-{number}") if keeper else None
        if finished is not None:
            tensors, facts = finished
            with damaged_checkpoints():
                modules.load_state_dict(tensors)
                history = facts["history"]
            continue
        stage = Stage(number, phase, modules, learnable, settings, history)
        stage.run(model, material.documents, dev, keeper, watcher or Watcher())
        history = stage.history
        if keeper:
            keeper.write_checkpoint(f"phase-{number}", modules.state_dict(), {"history": history})
    _set_learning(model, learnable)
    model.eval()
    return history


@dataclass
class Stage:
    """One phase under way: what changes from epoch to epoch, and how it is saved."""

    number: int
    phase: Phase
    modules: nn.ModuleList  # the model, then whatever else learns
    learnable: Mapping[nn.Parameter, bool]
    settings: TrainingSettings
    history: list[dict[str, Any]]
    epoch: int = 0
    stale: int = 0  # epochs since the best one
    best_score: tuple[float, float] = (-math.inf, -math.inf)
    best_state: dict[str, Tensor] = field(default_factory=dict)
    optimizer: torch.optim.Optimizer = field(init=False)
    rates: list[float] = field(init=False)  # learning rate of each group at the start of the phase
    average: WeightAverage | None = field(init=False)  # what is scored and kept, if any
    steps: PretrainedSteps = field(init=False)

    def run(
        self,
        model: TextClassifier,
        train: Batches,
        dev: Batches | None,
        keeper: Keeper | None,
        watcher: Watcher,
    ) -> None:
        """All epochs of the phase."""
        learns = _learning_parameters(self.phase, self.learnable)
        _set_learning(model, {parameter: parameter in learns for parameter in self.learnable})
        self.optimizer = self._build_optimizer(model, learns)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.average = self._build_average(train)
        self.steps = PretrainedSteps(self.modules, train.device, self.settings.precision)
        if keeper and (saved := keeper.read_checkpoint("epoch")):
            with damaged_checkpoints():
                self._restore(*saved)
        last_saved = time.monotonic()
        patience = self.phase.patience or self.settings.patience or math.inf
        while self.epoch < self.phase.epochs and self.stale < patience:
            watcher.begin_epoch(self.phase, self.epoch, len(train))
            row = self._one_epoch(model, train, dev, learns, watcher)
            self.history = [*self.history, row.plain()]
            self.epoch += 1
            watcher.end_epoch(row, model)
            if keeper and time.monotonic() - last_saved > SECONDS_BETWEEN_CHECKPOINTS:
                keeper.write_checkpoint("epoch", self._tensors(), self._facts())
                last_saved = time.monotonic()
        if self.phase.keep != "last" and self.best_state:
            self.modules.load_state_dict(self.best_state)
        elif self.average:
            self.average.adopt()

    def _one_epoch(
        self,
        model: TextClassifier,
        train: Batches,
        dev: Batches | None,
        learns: Mapping[nn.Parameter, None],
        watcher: Watcher,
    ) -> Epoch:
        started = time.monotonic()
        seed = _mix(self.settings.seed, self.number, self.epoch)
        rng = torch.Generator(device="cpu").manual_seed(seed)
        notes = dict(self.phase.before_epoch(rng))
        _set_training_mode(model, self.phase)
        losses = EpochLoss(self.epoch + 1, train.device)
        documents_seen = 0
        devices = [train.device] if train.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), self.steps.under_way():
            torch.manual_seed(seed)  # dropout draws from the global generator
            for batch in train.shuffled(rng):
                self.steps.begin_step()
                self._set_learning_rate(documents_seen / len(train))
                documents_seen += len(batch.indices)
                loss = self.phase.objective(model, batch, rng)
                losses.add(loss, len(batch.indices))
                self._step(loss, learns)
                del loss  # and with it how it came about: see `StepReader`
                watcher.advance(len(batch.indices))
        model.eval()
        mean_loss = losses.mean()
        with self.average.in_place() if self.average else nullcontext():
            scores = evaluate(self.phase.scored or model, dev) if dev else None
            others = {name: evaluate(m, dev) for name, m in self.phase.counted_too.items() if dev}
            notes |= {f"{COUNTED_TOO}{name}": found.accuracy for name, found in others.items()}
            notes |= self.phase.after_epoch()
            is_best = self._remember(mean_loss, [scores, *others.values()] if scores else [])
        seconds = round(time.monotonic() - started, 3)
        return Epoch(
            self.number, self.epoch + 1, mean_loss, scores, is_best, seconds, self.phase.name, notes
        )

    def _set_learning_rate(self, share_of_epoch: float) -> None:
        """Set the learning rate of the next step, given the share of this epoch that is done."""
        share_of_phase = (self.epoch + share_of_epoch) / self.phase.epochs
        rate_share = 1 - (1 - self.phase.final_rate_share) * share_of_phase
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * rate_share

    def _step(self, loss: Tensor, learns: Mapping[nn.Parameter, None]) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.settings.gradient_clip is not None:
            nn.utils.clip_grad_norm_(learns, self.settings.gradient_clip)
        self.optimizer.step()
        if self.average:
            self.average.update()

    def _remember(self, train_loss: float, dev: Sequence[Scores]) -> bool:
        """Keep this epoch's weights if it is the best so far, by the mean of the dev scores."""
        if self.phase.keep == "last":
            return False
        if self.phase.keep == "lowest-loss":
            score = (-train_loss, 0.0)
        elif not dev:
            return False
        else:
            accuracy = sum(found.accuracy for found in dev) / len(dev)
            loss = sum(found.loss for found in dev) / len(dev)
            by_loss = (self.phase.select_by or self.settings.select_by) == "loss"
            score = (-loss, accuracy) if by_loss else (accuracy, -loss)
        is_best = score > self.best_score
        self.stale = 0 if is_best else self.stale + 1
        if is_best:
            self.best_score = score
            self.best_state = copy.deepcopy(self.modules.state_dict())
        return is_best

    def _build_optimizer(
        self, model: TextClassifier, learns: Iterable[nn.Parameter]
    ) -> torch.optim.Optimizer:
        return self.settings.optimizer.build(parameter_groups(model, learns))

    def _build_average(self, train: Batches) -> WeightAverage | None:
        epochs = self.settings.averaging if self.phase.averaging is None else self.phase.averaging
        if not epochs:
            return None
        steps = math.ceil(len(train) / self.settings.batch_size)
        return WeightAverage(self.modules, epochs * steps)

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {f"now.{name}": value for name, value in self.modules.state_dict().items()}
        if self.average:
            tensors |= {f"average.{name}": value for name, value in self.average.average.items()}
        tensors |= {f"best.{name}": value for name, value in self.best_state.items()}
        for number, slots in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in slots.items()}
        return tensors

    def _facts(self) -> dict[str, Any]:
        return {
            "phase": self.number,
            "epoch": self.epoch,
            "stale": self.stale,
            "best_score": self.best_score,
            "history": self.history,
            "averaged_steps": self.average.taken if self.average else 0,
        }

    def _restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        if facts["phase"] != self.number:
            return
        self.epoch, self.stale = facts["epoch"], facts["stale"]
        self.history = facts["history"]
        self.best_score = tuple(facts["best_score"])
        self.modules.load_state_dict(_under("now.", tensors))
        self.best_state = _under("best.", tensors)
        if self.average:
            self.average.restore(_under("average.", tensors), facts["averaged_steps"])
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _under("optimizer.", tensors).items():
            number, _, slot = name.partition(".")
            state.setdefault(int(number), {})[slot] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})


def parameter_groups(
    model: TextClassifier, learns: Iterable[nn.Parameter]
) -> Iterator[ParameterGroup]:
    """What learns, by whether weights decay and how fast it goes, in a fixed order."""
    # Jain & Wallace: no weight decay on attention, or scores would be pulled together.
    attention = set(model.alignment.parameters()) if isinstance(model, Attends) else set()
    readers = [part for part in model.modules() if isinstance(part, PretrainedEncoder)]
    speed = readers[0].head_speed if readers else 1.0
    slow = set(chain(*(part.body for part in readers), model.embedding.parameters()))
    kinds: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for parameter in learns:
        pace = 1.0 if parameter in slow else speed
        kinds.setdefault((parameter not in attention, pace), []).append(parameter)
    for (is_decayed, pace), parameters in sorted(kinds.items(), key=lambda kind: kind[0])[::-1]:
        yield ParameterGroup(parameters, is_decayed, pace)


@contextmanager
def damaged_checkpoints() -> Iterator[None]:
    """Turn a saved state that does not fit into a sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise RunError(
            f"a checkpoint does not fit this training ({str(error).splitlines()[0]}). "
            "Delete the folder's checkpoint files to train from the start."
        ) from None


def _modules(model: TextClassifier, phase: Phase) -> nn.ModuleList:
    """The model and the modules that a recipe added to it, in one container."""
    inside = set(model.modules())
    return nn.ModuleList([model, *(m for m in phase.learns if m not in inside)])


def _learning_parameters(
    phase: Phase, learnable: Mapping[nn.Parameter, bool]
) -> dict[nn.Parameter, None]:
    """What the phase trains, each once, in a fixed order; what is frozen for good stays so."""
    found = (parameter for module in phase.learns for parameter in module.parameters())
    held = {parameter for module in phase.holds for parameter in module.parameters()}
    return {p: None for p in found if p not in held and learnable.get(p, p.requires_grad)}


def _set_learning(model: nn.Module, learns: Mapping[nn.Parameter, bool]) -> None:
    for parameter in model.parameters():
        parameter.requires_grad_(learns[parameter])


def _set_training_mode(model: nn.Module, phase: Phase) -> None:
    """Only what learns is in training mode, so that nothing frozen drops out or drifts."""
    model.eval()
    for module in phase.learns:
        module.train()
        for part in module.modules():
            if isinstance(part, nn.Dropout) and not phase.has_dropout:
                part.eval()
    for module in phase.holds:
        module.eval()


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _mix(seed: int, phase: int, epoch: int) -> int:
    """A seed of its own for each epoch (the constants are large odd primes)."""
    return (seed * 1_000_003 + phase * 15_485_863 + epoch * 32_452_843) % 2**63
