"""What an importance measure is, and the family of all of them.

A measure that says what it needs takes `Seen` and serves every kind of model that gives this; one
that does not say takes (model, batch, target) and looks inside a heedful classifier. One that needs
`Need.CLASSIFIER` is given `Inside`, where what was computed before is found again.
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import ConfigError, missing_packages_named
from heedful.importance.inside import Inside
from heedful.importance.seen import Need, Seen, Target, TokenScores
from heedful.model.classifier import AttentionClassifier
from heedful.registry import AuditedRegistry, Registered
from heedful.text.batching import Batch

OfClassifier = Callable[[AttentionClassifier, Batch, Target], TokenScores]
OfSeen = Callable[[Seen], TokenScores]


class Importance(ABC):
    """A measure of importance: one signed score per word, zero on padding."""

    needs: frozenset[Need]
    is_signed: bool = True  # whether it says which side a word is on
    notes: Sequence[str] = ()  # what a reader of its numbers should know, in sentences
    digest: str = ""  # changes with its numbers, where they are given and not computed
    package: str = ""  # of an extra that it needs; imported when it is used

    @abstractmethod
    def of(self, seen: Seen) -> TokenScores:
        """The scores of documents, however they are read."""

    def __call__(self, model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
        """The scores of a batch that a heedful classifier reads."""
        return self.of(Inside(model, batch, target))


class Complete(Importance):
    """A measure whose scores of a document sum to something that is known."""

    @abstractmethod
    def expected_sum(self, seen: Seen) -> Float[Tensor, " batch"]:
        """What the scores of each document should sum to."""


@dataclass(frozen=True)
class FunctionMeasure(Importance):
    """A measure that is a function of what it sees, or of a heedful classifier's inside."""

    function: Callable[..., TokenScores]
    needs: frozenset[Need] = frozenset({Need.CLASSIFIER})
    is_signed: bool = True
    is_of_inside: bool = False  # of a classifier it takes what was computed, not (model, batch, …)

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", inspect.getdoc(self.function))

    def of(self, seen: Seen) -> TokenScores:
        """What the function gives."""
        if self.is_of_inside or Need.CLASSIFIER not in self.needs:
            return self.function(seen)
        assert isinstance(seen, Inside)  # nothing else gives this need
        return self.function(seen.model, seen.batch, seen.target)


class Importances(AuditedRegistry[Importance]):
    """Measures of importance; a slow one may stay out of audits that do not name it."""

    def register(
        self,
        name: str,
        *,
        is_audited: bool = True,
        needs: Iterable[Need] | None = None,
        is_signed: bool = True,
    ) -> Callable[[Registered], Registered]:
        """Decorator: enter a measure, a function or a class of `Importance`.

        A function with `needs` takes `Seen`, one without (model, batch, target) of a heedful
        classifier. Without `is_audited`, audits rank it only if asked to. One that is not
        `is_signed` does not say which side a word is on; a class says so itself.
        """
        enter = super().register(name, is_audited=is_audited)

        def made(member: Registered) -> Registered:
            if inspect.isclass(member) and not issubclass(member, Importance):
                raise ValueError(f"{name!r}: a class of measures derives from Importance.")
            if inspect.isclass(member):
                enter(member)
            elif needs is None:
                enter(FunctionMeasure(cast(OfClassifier, member), is_signed=is_signed))
            else:
                wanted = frozenset(needs)
                function, is_of_inside = cast(OfSeen, member), Need.CLASSIFIER in wanted
                enter(FunctionMeasure(function, wanted, is_signed, is_of_inside))
            return member

        return made

    def has(self, measure: object) -> bool:
        """Whether a ready measure is one of these: its name then says all about it."""
        return any(measure is member or type(measure) is member for member in self.values())


importances = Importances("importance measure")

Measure = str | Importance | OfClassifier
"""A measure by its name, with options or without, or a function (model, batch, target)."""


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
        if measure.package:  # said before anything is measured
            with missing_packages_named(name):
                import_module(measure.package)
        if name in found:
            raise ConfigError(f"two measures are called {name!r}: give one of them another name.")
        found[name] = measure
    return found


def _checked(given: object) -> Importance:
    if isinstance(given, type) or not callable(given):
        raise ConfigError(
            f"{given!r:.80} is not an importance measure. Give a name, a function (model, batch, "
            "target) -> scores, or a Captum method through heedful.importance.from_captum."
        )
    if isinstance(given, Importance):
        return given
    functions = (m for m in importances.values() if isinstance(m, FunctionMeasure))
    return next((m for m in functions if m.function is given), FunctionMeasure(given))


def _name_of(given: Importance) -> str:
    """What a measure is registered as, its own name, or that of the function."""
    if importances.has(given):
        return importances.spec(given)
    measure = given.function if isinstance(given, FunctionMeasure) else given
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


def seed_of(seed: int, identifier: int) -> int:
    """The seed of a document's own draws: its neighbours change nothing."""
    return (seed * 1_000_003 + identifier) % 2**63
