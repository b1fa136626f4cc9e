"""Methods of Captum as measures: whatever attributes a prediction to its inputs can be audited.

heedful never imports Captum. A method is whatever makes an object with `attribute` of a forward
function: a class of `captum.attr`, a function that calls one, or an object made of any model,
which is then copied and given ours. It attributes to embeddings or, if it is a method for layers,
to what a layer makes of them.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.importance.base import Importance
from heedful.importance.captum_methods import (
    WORDS_AS_WHOLES,
    attribute_of,
    made_of,
    takes,
    usual_name,
)
from heedful.importance.captum_of_parts import attributed
from heedful.importance.inside import Inside
from heedful.importance.seen import (
    Need,
    Of,
    Part,
    PositionScores,
    Seen,
    Target,
    TokenScores,
    gradients_in_eval,
)
from heedful.model.classifier import AttentionClassifier
from heedful.text.batching import Batch


class FromEmbedded(nn.Module):
    """The forward pass that a method sees: embeddings in, logits or probabilities out."""

    def __init__(self, model: AttentionClassifier, output: Of) -> None:
        super().__init__()
        self.model = model
        self.output = output

    def forward(
        self, embedded: Float[Tensor, "batch tokens size"], is_token: Bool[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch classes"]:
        """Everything after the embedding."""
        logits = self.model.read(embedded, is_token).logits
        return logits if self.output == "logits" else logits.softmax(dim=-1)


@dataclass(frozen=True)
class CaptumMeasure(Importance):
    """A method of Captum with its options, as a measure of importance.

    importance_t = sum over the vector at t of what the method attributes to its components

    Methods that take features away (ablation, Shapley values, LIME) take words as wholes: the value
    of a word is then its own, not a sum. Of a Transformer it is gradients alone: a word's score is
    the sum over its pieces.
    """

    needs = frozenset({Need.EMBEDDINGS, Need.OTHER_EMBEDDINGS})
    method: Callable[..., Any]
    name: str
    output: Of = "logits"
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        if isinstance(seen, Inside):
            return self._of_classifier(seen.model, seen.batch, seen.target)
        return seen.by_parts(self._of_part)

    def _of_part(self, part: Part) -> PositionScores:
        place = part.is_word.device
        with torch.random.fork_rng([place] if place.type == "cuda" else []):
            torch.manual_seed(self.seed)
            return attributed(part, self.method, self.name, self.output, self.options)

    def _of_classifier(
        self, model: AttentionClassifier, batch: Batch, target: Target
    ) -> TokenScores:
        place = batch.is_token.device
        others = [place] if place.type == "cuda" else []
        # Methods that draw take PyTorch's own generator: the same draws every time, and nobody
        # else's are touched.
        with gradients_in_eval(model), torch.random.fork_rng(others):
            torch.manual_seed(self.seed)
            embedded = model.embed(batch).detach().requires_grad_()
            attribute = self._attribute(FromEmbedded(model, self.output))
            options = self._filled_in(attribute, embedded)
            found = attribute(
                embedded, target=target, additional_forward_args=(batch.is_token,), **options
            )
        vectors = self._checked(found, batch)
        is_whole = not options.keys().isdisjoint(WORDS_AS_WHOLES)
        scores = vectors.mean(dim=-1) if is_whole else vectors.sum(dim=-1)
        return (scores.to(embedded.dtype) * batch.is_token).detach()

    def _attribute(self, forward: FromEmbedded) -> Callable[..., Any]:
        made = self.method(forward)
        if getattr(made, "layer", None) is forward.model.embedding:
            raise ConfigError(
                f"{self.name} attributes to the embedding layer, but heedful passes embeddings. "
                "Use the same method without a layer, such as IntegratedGradients."
            )
        return attribute_of(made, self.name)

    def _filled_in(
        self, attribute: Callable[..., Any], embedded: Float[Tensor, "batch tokens size"]
    ) -> dict[str, Any]:
        """The options, and what a method wants to be told that only the batch can tell."""
        taken = takes(attribute, self.options, self.name)
        known: dict[str, Any] = {}
        if "baselines" in taken and taken["baselines"].default is inspect.Parameter.empty:
            known["baselines"] = torch.zeros_like(embedded)
        if "feature_mask" in taken:
            places = torch.arange(embedded.shape[1], device=embedded.device)
            known["feature_mask"] = places.view(1, -1, 1).expand_as(embedded).contiguous()
        if "sliding_window_shapes" in taken:
            known["sliding_window_shapes"] = (1, embedded.shape[2])
        return known | self.options

    def _checked(self, found: object, batch: Batch) -> Float[Tensor, "batch tokens size"]:
        if isinstance(found, tuple) and len(found) == 1:  # of a layer
            (found,) = found
        shape = batch.is_token.shape
        if isinstance(found, Tensor) and found.dim() == 3 and found.shape[:2] == shape:
            return found
        came = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ConfigError(
            f"{self.name} should attribute to the vector of each word, {tuple(shape)} of them; it "
            f"returned {came}. Choose a layer that has one vector per word, and request only the "
            "attributions."
        )


def from_captum(
    method: object, *, name: str | None = None, of: Of = "logits", seed: int = 0, **options: object
) -> CaptumMeasure:
    """A method of Captum as a measure; `options` go to its `attribute`.

    from_captum(captum.attr.IntegratedGradients, n_steps=50)
    from_captum(lambda forward: LayerIntegratedGradients(forward, forward.model.encoder), name="…")
    """
    if of not in ("logits", "probabilities"):
        raise ConfigError(f"of should be logits or probabilities, not {of!r}.")
    make = made_of(method, options)
    return CaptumMeasure(make, name or f"captum-{usual_name(method)}", of, options, seed)
