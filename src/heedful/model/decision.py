"""The same states under many attentions: the decision is linear in the context, so it is cheap."""

from jaxtyping import Float
from torch import Tensor

from heedful.model.classifier import AttentionClassifier
from heedful.model.outputs import Output


def decide_many(
    model: AttentionClassifier,
    hidden: Float[Tensor, "batch tokens hidden"],
    weights: Float[Tensor, "batch attentions tokens"],
) -> Float[Tensor, "batch attentions classes"]:
    """Logits of each document under each of many attentions.

    With a linear output, W (sum_t weight_t hidden_t) = sum_t weight_t (W hidden_t): the product
    with W is taken once per state and never again per attention.
    """
    if isinstance(model.output, Output):
        linear = model.output.linear
        scores = weights @ (hidden @ linear.weight.t())
        if linear.bias is not None:
            scores = scores + linear.bias
        return model.output.logits(scores)
    contexts = (weights @ hidden).flatten(0, 1)
    return model.output(contexts).unflatten(0, weights.shape[:2])
