"""Captum's methods that take features away, asked of words: the text is read with some of them.

    which words are kept, 0 or 1 each -> the text with only these -> probability of the target

Every model that can delete words has these measures.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import ConfigError
from heedful.importance.base import Importance, seed_of
from heedful.importance.captum_methods import attribute_of, made_of, takes, usual_name
from heedful.importance.seen import Need, Seen, TokenScores

Presence = Float[Tensor, "variants words"]
AT_ONCE = 256  # variants of a text that a method asks for together


@dataclass(frozen=True)
class CaptumByDeletion(Importance):
    """A method of Captum that takes features away, as a measure that deletes words.

    importance_t = what the method attributes to word t, of the probability of the target

    A text of one word has all of the difference between the text and none.
    """

    needs = frozenset({Need.DELETIONS})
    method: Callable[..., Any]
    name: str
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        scores = seen.probability.new_zeros(seen.is_token.shape)
        for row, identifier in enumerate(seen.identifiers):
            words = int(seen.is_token[row].sum())
            forward = _Forward(seen, row, self.name)
            present = torch.ones(1, words, device=scores.device)
            if words > 1:
                with _drawn_from(seed_of(self.seed, identifier)):
                    scores[row, :words] = self._attributed(forward, present).to(scores)
            elif words:
                scores[row, :1] = -forward(torch.zeros_like(present))
        return scores.detach()

    def _attributed(self, forward: "_Forward", present: Presence) -> Float[Tensor, " words"]:
        attribute = attribute_of(self.method(forward), self.name)
        known = takes(attribute, self.options, self.name)
        usual = {"perturbations_per_eval": AT_ONCE, "sliding_window_shapes": (1,)}
        usual = {option: value for option, value in usual.items() if option in known}
        found = attribute(present, **usual | self.options)
        if isinstance(found, Tensor) and found.shape == present.shape:
            return found[0]
        came = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ConfigError(
            f"{self.name} should attribute to each of {present.shape[1]} words; it returned "
            f"{came}. Request only the attributions."
        )


@dataclass(frozen=True)
class _Forward:
    """A document with some of its words -> the target's probability, less that of all words.

    Methods compute in single precision, in which 0.99999 and 0.99998 are hardly apart; their
    differences from the whole text are. A constant belongs to no word.
    """

    seen: Seen
    row: int
    name: str

    def __call__(self, presence: Presence) -> Float[Tensor, " variants"]:
        if presence.requires_grad:
            raise ConfigError(
                f"{self.name} takes gradients, and deleted words have none. Use a method that "
                "takes features away, such as KernelShap, Lime or ShapleyValueSampling."
            )
        is_token = self.seen.is_token
        is_kept = is_token.new_zeros(len(presence), is_token.shape[1])
        is_kept[:, : presence.shape[1]] = presence > 0.5
        document = torch.full((len(presence),), self.row, device=is_token.device)
        return self.seen.of_kept(document, is_kept) - self.seen.probability[self.row]


@contextmanager
def _drawn_from(seed: int) -> Iterator[None]:
    """Methods draw from PyTorch's own generator, which is then as it was."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        yield


def from_captum_by_deletion(
    method: object, *, name: str | None = None, seed: int = 0, **options: object
) -> CaptumByDeletion:
    """A method of Captum that takes features away, as a measure that deletes words of any model.

    Words are deleted and the text is read again, as for leave-one-out; `options` go to `attribute`.

    from_captum_by_deletion(captum.attr.ShapleyValueSampling, n_samples=10)
    """
    return CaptumByDeletion(
        made_of(method, options), name or f"captum-{usual_name(method)}-by-deletion", options, seed
    )
