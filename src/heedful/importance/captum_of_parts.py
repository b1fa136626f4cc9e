"""Captum's gradient methods, asked of the embeddings of a part: of a Transformer's pieces of words.

A part is read from given embeddings, and gradients lead back to them. Which modules do this is not
shown, so methods that hook modules have nothing to hook.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.importance.captum_methods import WORDS_AS_WHOLES, attribute_of, takes
from heedful.importance.seen import Of, Part, Pass, PositionScores, Vectors


class _Logits(torch.autograd.Function):
    """Embeddings -> logits of a part, and the gradient back."""

    @staticmethod
    def forward(ctx: Any, embedded: Vectors, part: Part) -> Tensor:
        """A pass, kept for the way back."""
        ctx.done = part.run(lambda own: embedded.detach())
        return ctx.done.logits.detach()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        """Through the pass."""
        done: Pass = ctx.done
        (found,) = torch.autograd.grad(done.logits, done.embedded, slopes[0], retain_graph=True)
        return found, None


class _FromPart(nn.Module):
    """The forward pass that a method sees; `row` says which document each row of embeddings is."""

    def __init__(self, part: Part, output: Of) -> None:
        super().__init__()
        self.part, self.output = part, output

    def forward(
        self, embedded: Vectors, row: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch classes"]:
        """All documents, as many times as they are asked for, in any order."""
        documents = len(self.part.target)
        before = (row[:, None] == row[None]).tril(-1).sum(dim=1)
        place = before * documents + row
        times = int(before.max()) + 1
        ordered = embedded.new_zeros(times * documents, *embedded.shape[1:])
        ordered = ordered.index_copy(0, place, embedded)
        logits = _Logits.apply(ordered, self.part.repeated(times))  # type: ignore[no-untyped-call]
        logits = logits[place]
        return logits if self.output == "logits" else logits.softmax(dim=-1)


def attributed(
    part: Part, method: Callable[..., Any], name: str, output: Of, options: dict[str, Any]
) -> PositionScores:
    """What a method attributes to each position, summed over its vector.

    Positions that belong to no word keep their embeddings in the baseline, as everywhere.
    """
    made = method(_FromPart(part, output))
    attribute = attribute_of(made, name)
    known = takes(attribute, options, name)
    if not known.keys().isdisjoint(WORDS_AS_WHOLES):
        raise ConfigError(
            f"{name} takes features away: give it through "
            "heedful.importance.from_captum_by_deletion, which deletes whole words."
        )
    if hasattr(made, "model") or hasattr(made, "layer"):
        raise ConfigError(
            f"{name} hooks modules or looks at a layer, which needs a heedful classifier. Use a "
            "method of gradients alone, such as IntegratedGradients, InputXGradient or Saliency."
        )
    own = part.run().own.detach()
    nothing = torch.where(part.is_word.unsqueeze(-1), torch.zeros_like(own), own)
    if "baselines" in known and known["baselines"].default is inspect.Parameter.empty:
        nothing = torch.zeros_like(own[:1])  # it draws from baselines for all documents
    usual = {
        "baselines": nothing,
        "internal_batch_size": part.copies * len(own),
    }
    usual = {option: value for option, value in usual.items() if option in known}
    rows = torch.arange(len(own), device=own.device)
    found = attribute(
        own.requires_grad_(),
        target=part.target,
        additional_forward_args=(rows,),
        **usual | options,
    )
    if isinstance(found, Tensor) and found.shape == own.shape:
        return found.detach().sum(dim=-1).to(own.dtype)
    came = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
    raise ConfigError(
        f"{name} should attribute to the vector of each position, {tuple(own.shape)}; it returned "
        f"{came}. Request only the attributions."
    )
