"""The same states under many attentions: the decision is linear in the context, so it is cheap."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from heedful.model.classifier import AttentionClassifier
from heedful.model.outputs import Output

Values = Float[Tensor, "batch tokens values"]
Decide = Callable[[Float[Tensor, "*rows values"]], Float[Tensor, "*rows classes"]]


def values_of(
    model: AttentionClassifier, hidden: Float[Tensor, "batch tokens hidden"]
) -> tuple[Values, Decide]:
    """What attention need only average of each state, and how logits are made of the average.

    With a linear output, W (sum_t weight_t hidden_t) = sum_t weight_t (W hidden_t): the product
    with W is taken once per state and never again per attention. With any other output the values
    are the states.
    """
    if not isinstance(model.output, Output):
        return hidden, _by_rows(model)
    linear, logits = model.output.linear, model.output.logits
    values = hidden @ linear.weight.t()
    if linear.bias is None:
        return values, logits
    bias = linear.bias
    return values, lambda average: logits(average + bias)


def _by_rows(model: AttentionClassifier) -> Decide:
    """The output, whatever the shape in front of the last axis."""
    return lambda average: model.output(average.flatten(0, -2)).unflatten(0, average.shape[:-1])


def decide_many(
    model: AttentionClassifier,
    hidden: Float[Tensor, "batch tokens hidden"],
    weights: Float[Tensor, "batch attentions tokens"],
) -> Float[Tensor, "batch attentions classes"]:
    """Logits of each document under each of many attentions."""
    values, decide = values_of(model, hidden)
    return decide(weights @ values)
