"""A very different attention that leads to the same decision, sought on the fixed model.

The objective is written twice: plainly in `Adversarial.loss`, which whatever decides can be sought
with, and as a gradient taken by hand in `_Slope`, for models whose output is linear.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.config import above, at_least
from heedful.counterfactual.base import Attentions, counterfactuals
from heedful.interruption import check_interrupted
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many
from heedful.model.outputs import Output
from heedful.model.projections import softmax
from heedful.text.batching import Batch

# Documents stand last: sums over short texts are then sums of long rows, and two candidates of all
# documents are two contiguous blocks.
Columns = Float[Tensor, "candidates tokens batch"]
ManyLogits = Float[Tensor, "batch attentions classes"]
LEAST = 1e-30  # no weight that matters is smaller; keeps the logarithm of 0 finite


@counterfactuals.register("adversarial")
@dataclass(frozen=True)
class Adversarial:
    """Weights far from the model's own that keep its prediction (Jain & Wallace).

    minimise  sum over candidates of  - JSD(candidate, own) + penalty * max(TVD - tolerance, 0)
              - mean JSD between two candidates

    All documents and candidates of a batch are sought at once, with Adam (AMSGrad). The states do
    not change and the decision is linear in the context, so a step never touches the encoder.
    """

    candidates: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    tolerance: float = 0.01  # of the search; who selects may allow more
    penalty: float = 500.0
    spread: float = 3.0  # candidates start at softmax of N(0, spread²)

    def __post_init__(self) -> None:
        at_least(1, candidates=self.candidates, steps=self.steps)
        above(0, learning_rate=self.learning_rate, penalty=self.penalty, spread=self.spread)
        at_least(0, tolerance=self.tolerance)

    def __call__(
        self, model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
    ) -> Attentions:
        """The candidates' weights after the last step."""
        return self._search(self.slope(model, trace), trace.weights, batch.is_token, rng)

    def through(
        self,
        decide: Callable[[Attentions], ManyLogits],
        weights: Float[Tensor, "batch tokens"],
        logits: Float[Tensor, "batch classes"],
        is_token: Bool[Tensor, "batch tokens"],
        rng: torch.Generator,
    ) -> Attentions:
        """The same for anything that decides with weights of its own and gives these logits."""

        def objective(candidates: Attentions) -> Float[Tensor, " batch"]:
            return self.loss(candidates, decide(candidates), weights, logits)

        return self._search(_by_autograd(objective), weights, is_token, rng)

    def _search(
        self,
        slope: Callable[[Columns], Columns],
        weights: Float[Tensor, "batch tokens"],
        is_token: Bool[Tensor, "batch tokens"],
        rng: torch.Generator,
    ) -> Attentions:
        """Down the slope from noise; `weights` only say where and how numbers are kept."""
        shape = (len(weights), self.candidates, weights.shape[1])
        is_word = is_token.unsqueeze(1).expand(shape)
        start = (self.spread * torch.randn(shape, generator=rng)).to(weights)
        # No weight goes to padding, so no gradient either: its scores stay where they are.
        start = start.masked_fill(~is_word, torch.finfo(start.dtype).min / 4)
        scores = start.permute(1, 2, 0).contiguous()
        step = _AMSGrad(scores, self.learning_rate)
        for _ in range(self.steps):
            check_interrupted()
            step(slope(scores))
        return softmax(scores.permute(2, 0, 1), is_word)

    def objective(
        self, model: AttentionClassifier, trace: Trace, weights: Attentions
    ) -> Float[Tensor, " batch"]:
        """What is minimised, per document."""
        logits = decide_many(model, trace.hidden.detach(), weights)
        return self.loss(weights, logits, trace.weights.detach(), trace.logits.detach())

    def loss(
        self,
        weights: Attentions,
        logits: ManyLogits,
        own: Float[Tensor, "batch tokens"],
        usual: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, " batch"]:
        """The same from the candidates and their logits, beside the own weights and the usual."""
        far = js_divergence(weights, own.unsqueeze(1))
        return (self.penalties(logits, usual) - far).sum(dim=1) - self._mean_distance(weights)

    def penalties(
        self,
        logits: ManyLogits,
        usual: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, "batch attentions"]:
        """penalty * max(TVD - tolerance, 0) of each candidate's decision."""
        moved = logits.softmax(dim=-1) - usual.softmax(dim=-1).unsqueeze(1)
        return self.penalty * (moved.abs().sum(dim=-1) / 2 - self.tolerance).relu()

    def slope(self, model: AttentionClassifier, trace: Trace) -> Callable[[Columns], Columns]:
        """The gradient of `objective`, summed over documents, as a function of the scores."""
        output = model.output
        if isinstance(output, Output):
            return _Slope(self, output, trace)
        return _by_autograd(partial(self.objective, model, trace))

    def _mean_distance(self, weights: Attentions) -> Float[Tensor, " batch"]:
        """Mean JSD between two candidates; 0 for a single one."""
        if self.candidates == 1:
            return weights.new_zeros(len(weights))
        first, second = zip(*combinations(range(self.candidates), 2), strict=True)
        return js_divergence(weights[:, list(first)], weights[:, list(second)]).mean(dim=-1)


def _by_autograd(
    objective: Callable[[Attentions], Float[Tensor, " batch"]],
) -> Callable[[Columns], Columns]:
    """The gradient of whatever objective, by the scores."""

    def slope(scores: Columns) -> Columns:
        with torch.enable_grad():
            scores = scores.detach().requires_grad_()
            total = objective(scores.softmax(dim=1).permute(2, 0, 1)).sum()
            return torch.autograd.grad(total, scores)[0]

    return slope


class _AMSGrad:
    """`torch.optim.Adam(amsgrad=True, fused=True)` of one tensor.

    PyTorch's class imports its compiler on first use, which takes longer than a whole search.
    """

    def __init__(self, values: Tensor, learning_rate: float) -> None:
        self.values, self.learning_rate = values, learning_rate
        self.mean, self.square, self.largest = (torch.zeros_like(values) for _ in range(3))
        self.count = torch.zeros((), dtype=torch.float32, device=values.device)

    def __call__(self, gradient: Tensor) -> None:
        """One step down, written over the values."""
        self.count += 1
        torch._fused_adam_(
            [self.values], [gradient], [self.mean], [self.square], [self.largest], [self.count],
            lr=self.learning_rate, beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8,
            amsgrad=True, maximize=False,
        )  # fmt: skip


class _Slope:
    """The gradient of the objective with respect to the scores, written out.

    d JSD(w, v) / dw     = (log w - log (w + v)) / 2 + constant
    d objective / dw_i   = (log (w_i + own) - log w_i) / 2
                           + sum over j of (log (w_i + w_j) - log w_i) / (2 pairs)
                           + sum over classes of  d penalty / d margin * margin of each word
    d objective / dscore = w * (d objective / dw - <w, d objective / dw>)

    A margin is a class's logit less the first class's. What is constant along a text falls out in
    the last line, so log w is the score itself. All large tensors are made once: a step is a few
    dozen passes over memory and nothing else.
    """

    def __init__(self, search: Adversarial, output: Output, trace: Trace) -> None:
        self.search = search
        self.own = trace.weights.detach().t().clamp(min=LEAST).contiguous()
        self.usual = trace.logits.detach().softmax(dim=-1).t().unsqueeze(1)
        # Weights sum to 1, so the logits of a mixture of states are the mixture of their logits.
        hidden = trace.hidden.detach()
        of_words = output(hidden.flatten(0, 1)).detach().unflatten(0, hidden.shape[:2])
        self.margins = (of_words[..., 1:] - of_words[..., :1]).permute(2, 1, 0).contiguous()
        self.weights, self.positive, self.room, self.result = self.own.new_empty(
            4, search.candidates, *self.own.shape
        )

    def __call__(self, scores: Columns) -> Columns:
        """The gradient; the next call overwrites it."""
        weights = torch.softmax(scores, 1, out=self.weights)
        result = self._of_divergences(scores, weights)
        for margin, pull in zip(self.margins, self._of_penalty(weights), strict=True):
            result.addcmul_(pull.unsqueeze(1), margin)
        mean = torch.mul(weights, result, out=self.room).sum(dim=1, keepdim=True)
        return result.sub_(mean).mul_(weights)

    def _of_divergences(self, scores: Columns, weights: Columns) -> Columns:
        """d (- divergences) / dw, up to constants."""
        candidates = len(scores)
        of_pair = 1 / (candidates * (candidates - 1)) if candidates > 1 else 0.0
        result = torch.mul(scores, -(1 / 2 + of_pair * (candidates - 1)), out=self.result)
        positive = torch.clamp(weights, min=LEAST, out=self.positive)
        result.add_(torch.add(positive, self.own, out=self.room).log_(), alpha=1 / 2)
        for apart in range(1, candidates):  # all pairs of candidates this far apart at once
            logs = torch.add(positive[apart:], positive[:-apart], out=self.room[apart:]).log_()
            result[apart:].add_(logs, alpha=of_pair)
            result[:-apart].add_(logs, alpha=of_pair)
        return result

    def _of_penalty(self, weights: Columns) -> Float[Tensor, "margins candidates batch"]:
        """d penalty / d margin.

        d TVD / d logit_c = p_c (s_c - <p, s>),   s_c = sign(p_c - usual_c) / 2
        """
        margins = [torch.mul(weights, each, out=self.room).sum(dim=1) for each in self.margins]
        logits = torch.stack([torch.zeros_like(margins[0]), *margins])
        probabilities = logits.softmax(dim=0)
        moved = probabilities - self.usual
        is_beyond = moved.abs().sum(dim=0) / 2 > self.search.tolerance
        sides = moved.sign() / 2
        slopes = probabilities * (sides - (probabilities * sides).sum(dim=0))
        return self.search.penalty * is_beyond * slopes[1:]


def js_divergence(
    one: Float[Tensor, "batch attentions tokens"], other: Float[Tensor, "batch others tokens"]
) -> Float[Tensor, "batch attentions"]:
    """Jensen-Shannon divergence in nats, differentiable: H(mean) - mean of H."""
    return entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2


def entropy(weights: Float[Tensor, "*rows tokens"]) -> Float[Tensor, "*rows"]:
    """- sum of w log w in nats; a weight of 0 adds nothing, and its gradient is finite."""
    return -torch.where(weights > 0, weights * weights.clamp(min=LEAST).log(), 0.0).sum(dim=-1)
