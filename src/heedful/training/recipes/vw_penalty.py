"""Keep the query of attention at right angles to the output."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.alignments import DotScores, LearnedQuery
from heedful.model.classifier import TextClassifier
from heedful.model.layers import TokenWise
from heedful.model.outputs import Output
from heedful.text.batching import Batch
from heedful.training.recipe import AnyTrace, Material, Penalised, needs_attention, recipes


@recipes.register("vw-penalty")
@dataclass(frozen=True)
class VWPenalty(Penalised):
    """Keep Sun & Lu's V and W orthogonal, so that neither label is favoured (ACL 2020).

    objective = cross_entropy + vw_weight * |V · W|

    For an affine encoder M both are taken back to the embeddings: (M' V) · (M' W). With more than
    two labels, the mean over the columns of W.
    """

    vw_weight: float = 1e-4
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(0, vw_weight=self.vw_weight)
        at_least(1, epochs=self.epochs)

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What it needs of the model."""
        return {"alignment": "dot"}

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """A learned query and a linear output are needed."""
        attends = needs_attention(model, "vw-penalty")
        has_query = isinstance(attends.alignment, DotScores) and isinstance(
            attends.alignment.query, LearnedQuery
        )
        if not has_query or not isinstance(attends.output, Output):
            raise ConfigError(
                "vw-penalty multiplies the learned query of a dot product with the output vector, "
                "and this model lacks one of them. Use --alignment dot and query=learned."
            )
        return nn.Identity()

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """vw_weight * |V · W|."""
        return self.vw_weight * query_times_output(model).abs().mean()


def query_times_output(model: TextClassifier) -> Float[Tensor, " outputs"]:
    """V · W for each column of W, both as the embeddings see them."""
    attends = needs_attention(model, "vw-penalty")
    assert isinstance(attends.alignment, DotScores)
    assert isinstance(attends.output, Output)
    query, weight = attends.alignment.query(None), attends.output.linear.weight
    layers = attends.encoder.layers if isinstance(attends.encoder, TokenWise) else None
    if isinstance(layers, nn.Linear):
        query, weight = query @ layers.weight, weight @ layers.weight
    return (weight @ query.t()).flatten()
