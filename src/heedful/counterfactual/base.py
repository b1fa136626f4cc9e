"""What a counterfactual attention is."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.model.classifier import AttentionClassifier, Trace
from heedful.registry import Registry
from heedful.text.batching import Batch

Attentions = Float[Tensor, "batch attentions tokens"]
Counterfactual = Callable[[AttentionClassifier, Trace, Batch, torch.Generator], Attentions]

counterfactuals: Registry[Counterfactual] = Registry("counterfactual")
