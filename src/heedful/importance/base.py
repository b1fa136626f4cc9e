"""What an importance measure is, and what all of them need."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.model.classifier import AttentionClassifier
from heedful.registry import Registered, Registry
from heedful.text.batching import Batch

Target = Int[Tensor, " batch"]
TokenScores = Float[Tensor, "batch tokens"]
Importance = Callable[[AttentionClassifier, Batch, Target], TokenScores]


class Importances(Registry[Importance]):
    """Measures of importance; a slow one may stay out of audits that do not name it."""

    def __init__(self) -> None:
        super().__init__("importance measure")
        self._not_audited: set[str] = set()

    def register(self, name: str, *, is_audited: bool = True) -> Callable[[Registered], Registered]:
        """Decorator: enter a measure; without `is_audited`, audits rank it only if asked to."""
        if not is_audited:
            self._not_audited.add(name)
        return super().register(name)

    @property
    def audited(self) -> list[str]:
        """The measures that every audit of a classifier ranks."""
        return [name for name in self if name not in self._not_audited]


importances = Importances()

Measure = str | Importance
"""A measure by its name, with options or without, or anything of the same signature."""


@runtime_checkable
class Named(Protocol):
    """A measure that says what results should call it."""

    @property
    def name(self) -> str:
        """As results call it."""


def ready(measures: Iterable[object]) -> dict[str, Importance]:
    """Measures by the names that results carry; what is none is refused."""
    found: dict[str, Importance] = {}
    for given in measures:
        measure = importances.make(given) if isinstance(given, str) else _checked(given)
        name = given if isinstance(given, str) else _name_of(measure)
        if name in found:
            raise ConfigError(f"two measures are called {name!r}: give one of them another name.")
        found[name] = measure
    return found


def _checked(given: object) -> Importance:
    if isinstance(given, type) or not callable(given):
        raise ConfigError(
            f"{given!r:.80} is no measure of importance. Give a name, a function (model, batch, "
            "target) -> scores, or what heedful.importance.from_captum makes of a Captum method."
        )
    return given


def _name_of(measure: Importance) -> str:
    """What a measure is registered as, its own name, or that of the function."""
    if any(measure is member or type(measure) is member for member in importances.values()):
        return importances.spec(measure)
    if isinstance(measure, Named):
        return measure.name
    return kebab(measure.__name__ if inspect.isroutine(measure) else type(measure).__name__)


def kebab(name: str) -> str:
    """'IntegratedGradients' and 'integrated_gradients' as 'integrated-gradients'."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", "-", name).lower()


def predicted(model: AttentionClassifier, batch: Batch) -> Target:
    """The class that the model gives each document: the usual target of an explanation."""
    with torch.no_grad():
        return model(batch).logits.argmax(dim=-1)


def of_target(rows: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Each document's value for its own target class."""
    index = target.view(-1, *[1] * (rows.dim() - 1)).expand(*rows.shape[:-1], 1)
    return rows.gather(-1, index).squeeze(-1)


def target_probability(logits: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Probability of the target class, in double precision.

    A sure model's probabilities differ in digits that fp32 has not: 0.99999 and 0.99998 are 168
    steps apart.
    """
    return of_target(logits.double().softmax(dim=-1), target)


@contextmanager
def gradients_in_eval(model: nn.Module) -> Iterator[None]:
    """Gradients of a model as it predicts: dropout off, parameters left alone."""
    was_training = model.training
    model.eval()
    try:
        # cuDNN cannot backpropagate through an LSTM in eval mode, so gradients run without it here.
        with torch.backends.cudnn.flags(enabled=False), torch.enable_grad():
            yield
    finally:
        model.train(was_training)
