"""What attention and the output see of a state, for states that are put together in many ways."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.model.alignments import KeyScores
from heedful.model.classifier import AttentionClassifier
from heedful.model.inference_math import linear
from heedful.model.layers import WithSkip
from heedful.model.outputs import Output

Inner = Float[Tensor, "*rows inner"]
Views = Float[Tensor, "*rows views"]


def has_sight(model: AttentionClassifier) -> bool:
    """Whether both begin with a linear map of the state."""
    return isinstance(model.output, Output) and isinstance(model.alignment, KeyScores)


class Sight:
    """What attention and the output see of a state: its score, and its part in each output.

    Both begin with a linear map of the state. The map of a state is the sum of its parts' maps, so
    what a deletion leaves unchanged is mapped once for each place, not once for each deleted word.
    """

    def __init__(self, model: AttentionClassifier) -> None:
        assert isinstance(model.output, Output)  # `has_sight` says so
        assert isinstance(model.alignment, KeyScores)
        self.encoder, self.alignment, self.output = model.encoder, model.alignment, model.output
        key_weight, key_bias = model.alignment.first_stage()
        output_weight = model.output.linear.weight
        self.weight = torch.cat([key_weight, output_weight])
        self.bias = nn.functional.pad(key_bias, (0, len(output_weight)))  # `decide` adds the other
        self.inner_size, self.views = len(key_weight), 1 + len(output_weight)

    def inner(
        self, state: Float[Tensor, "batch tokens hidden"], own: Float[Tensor, "batch tokens _"]
    ) -> Float[Tensor, "batch tokens inner"]:
        """The linear map of states whose words' embeddings are `own`."""
        joined = self.encoder.join(state, own) if isinstance(self.encoder, WithSkip) else state
        return linear(joined, self.weight, self.bias)

    def __call__(self, inner: Inner) -> Views:
        """Attention score, then outputs without their bias."""
        keys, outputs = inner.tensor_split([self.inner_size], dim=-1)
        return torch.cat([self.alignment.second_stage(keys).unsqueeze(-1), outputs], dim=-1)

    def decide(self, outputs: Float[Tensor, "*rows outputs"]) -> Float[Tensor, "*rows classes"]:
        """Logits from outputs that attention has summed up."""
        bias = self.output.linear.bias
        return self.output.logits(outputs if bias is None else outputs + bias)
