"""Speed of what an audit spends its time on, as ratios against what people use instead.

    python benchmarks/audit_speed.py [--repeats 5] [--steps 100] [--only sparse]

One thread, CPU seconds. Ours and the others take turns, so that a busy moment of the machine hits
them all: times are medians over the repeats, ratios are medians of each turn's ratio. Every fast
result is compared with the slow one first. Models are untrained: only the arithmetic matters.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median

import captum.attr
import entmax
import machine
import numpy as np
import torch
from numpy import ndarray
from scipy import stats
from torch import Tensor

from heedful.auditing.metrics.ranking import kendall_test, weighted_tau
from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.counterfactual.baselines import Permuted
from heedful.importance.deletion import logits_without_each
from heedful.importance.influence import influence
from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many
from heedful.model.projections import Sparsegen, softmax, sparsemax
from heedful.text.batching import Batch, Batches
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings

WORDS = 5000
RUNS = 10  # of what is too short for the clock
Work = Callable[[], object]
Row = tuple[str, int, dict[str, Work]]
"""What is timed, what the printed times are divided by, and the ways to do it, ours first."""


def a_model(encoder: str, classes: int = 2) -> AttentionClassifier:
    """An untrained classifier over 300-d embeddings."""
    settings = Settings().with_(encoder=encoder, embedding_size=300, dropout=0.0).model
    model = build_model(settings, WORDS, classes, seed=1).eval()
    assert isinstance(model, AttentionClassifier)
    return model


def a_corpus(lengths: ndarray, batch_size: int = 1_000_000) -> Batches:
    """Random words in documents of the given lengths."""
    ids = np.random.default_rng(0).integers(3, WORDS, lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Batches(Encoded(ids, starts), batch_size=batch_size)


def sentence_lengths() -> ndarray:
    """As many documents as the test part of `sst2_jw` has, 18 words long in the mean."""
    return np.random.default_rng(0).normal(18, 8, 1725).round().clip(5, 52).astype(np.int64)


def leave_one_out() -> Iterator[Row]:
    """Deletion of each of 200 words, for documents that are read together and for a single one."""
    for encoder, documents in (("bilstm", 8), ("bilstm", 1), ("mlp", 8)):
        model = a_model(encoder)
        batch = a_corpus(np.full(documents, 200)).whole()
        fast, slow = logits_without_each(model, batch), delete_naively(model, batch)
        torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
        ways: dict[str, Work] = {
            "ours": lambda m=model, b=batch: logits_without_each(m, b),
            "naive batch": lambda m=model, b=batch: delete_naively(m, b),
            "Captum default": lambda m=model, b=batch: ablate_with_captum(m, b, 1),
        }
        for at_once in (8, 32):
            ways[f"Captum {at_once} at once"] = lambda m=model, b=batch, n=at_once: (
                ablate_with_captum(m, b, n)
            )
        yield f"leave-one-out, {encoder}, {documents} × 200 tokens, each", documents, ways


def delete_naively(model: AttentionClassifier, batch: Batch) -> Tensor:
    """Every document once per word, that word gone, in one batch."""
    tokens = batch.token_ids.shape[1]
    kept = torch.arange(tokens).expand(tokens, tokens)[~torch.eye(tokens, dtype=torch.bool)]
    embedded = model.embedding(batch.token_ids[:, kept.view(tokens, tokens - 1)])
    rows = embedded.flatten(0, 1)
    logits = model.read(rows, torch.ones(rows.shape[:2], dtype=torch.bool)).logits
    return logits.unflatten(0, batch.token_ids.shape)


def ablate_with_captum(model: AttentionClassifier, batch: Batch, at_once: int) -> Tensor:
    """Captum's FeatureAblation, a word's embedding as one feature."""

    def probability(embedded: Tensor, is_token: Tensor) -> Tensor:
        return model.read(embedded, is_token[:1].expand(len(embedded), -1)).logits.softmax(dim=-1)

    embedded = model.embedding(batch.token_ids).detach()
    groups = torch.arange(embedded.shape[1]).view(1, -1, 1).expand_as(embedded)
    return captum.attr.FeatureAblation(probability).attribute(
        embedded, target=1, additional_forward_args=(batch.is_token,), feature_mask=groups,
        perturbations_per_eval=at_once,
    )  # fmt: skip


def influences() -> Iterator[Row]:
    """The matrix of how much each of 200 words bears on each state."""
    model, batch = a_model("bilstm"), a_corpus(np.full(1, 200)).whole()
    fast, slow = influence(model, batch), influence_by_states(model, batch)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-3)
    ways: dict[str, Work] = {
        "ours": lambda: influence(model, batch),
        "loop over states": lambda: influence_by_states(model, batch),
    }
    yield "influence matrix, bilstm, 200 tokens", 1, ways


@torch.enable_grad()
def influence_by_states(model: AttentionClassifier, batch: Batch) -> Tensor:
    """One backward pass for each state."""
    embedded = model.embedding(batch.token_ids).detach().requires_grad_()
    norms = model.encoder(embedded, batch.is_token).norm(dim=-1)
    rows = [
        torch.autograd.grad(norm.sum(), embedded, retain_graph=True)[0].norm(dim=-1)
        for norm in norms.unbind(dim=1)
    ]
    lengths = torch.stack(rows, dim=1)
    return lengths / lengths.sum(dim=-1, keepdim=True)


def permutations() -> Iterator[Row]:
    """The decision under a hundred permutations of the weights."""
    model, rng = a_model("bilstm"), torch.Generator().manual_seed(0)
    batches = list(a_corpus(sentence_lengths()).by_length())
    traces = [model(batch) for batch in batches]
    permuted = [
        Permuted(100)(model, trace, batch, rng)
        for trace, batch in zip(traces, batches, strict=True)
    ]

    def at_once() -> list[Tensor]:
        return [decide_many(model, t.hidden, w) for t, w in zip(traces, permuted, strict=True)]

    def one_by_one() -> list[Tensor]:
        return [
            torch.stack([model.decide(trace.hidden, w) for w in weights.unbind(1)], dim=1)
            for trace, weights in zip(traces, permuted, strict=True)
        ]

    for fast, slow in zip(at_once(), one_by_one(), strict=True):
        torch.testing.assert_close(fast, slow)
    yield "100 permutations of 1,725 sentences", 1, {"ours": at_once, "a loop": one_by_one}


def adversary(steps: int) -> Iterator[Row]:
    """The search for another attention, in our batches and as the research code does it."""
    model, search = a_model("bilstm").requires_grad_(False), Adversarial(steps=steps)
    large, small = (
        [(model(batch), batch) for batch in a_corpus(sentence_lengths(), size).by_length()]
        for size in (1_000_000, 32)
    )

    def ours() -> float:
        rng = torch.Generator().manual_seed(0)
        found = [(trace, search(model, trace, batch, rng)) for trace, batch in large]
        return sum(search.objective(model, *each).sum().item() for each in found)

    def loop() -> float:
        rng = torch.Generator().manual_seed(0)
        found = [
            (trace, search_naively(search, model, trace, batch, rng)) for trace, batch in small
        ]
        return sum(search.objective(model, *each).sum().item() for each in found)

    np.testing.assert_allclose(ours(), loop(), rtol=0.01)
    name = f"adversary, {steps} steps, 5 candidates, 1,725 sentences"
    yield name, 1, {"ours": ours, "a loop over contexts": loop}


@torch.enable_grad()
def search_naively(
    search: Adversarial,
    model: AttentionClassifier,
    trace: Trace,
    batch: Batch,
    rng: torch.Generator,
) -> Tensor:
    """Autograd through contexts that are computed again in every step; no gradient by the model."""
    own, usual = trace.weights.unsqueeze(1), trace.logits.softmax(dim=-1).unsqueeze(1)
    shape = (len(own), search.candidates, own.shape[-1])
    is_token = batch.is_token.unsqueeze(1).expand(shape)
    first, second = torch.combinations(torch.arange(search.candidates)).unbind(dim=1)
    scores = (search.spread * torch.randn(shape, generator=rng)).requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=search.learning_rate, amsgrad=True)
    for _ in range(search.steps):
        weights = softmax(scores, is_token)
        probabilities = model.output(weights @ trace.hidden).softmax(dim=-1)
        moved = (probabilities - usual).abs().sum(dim=-1) / 2
        penalty = search.penalty * (moved - search.tolerance).relu()
        apart = js_divergence(weights[:, first], weights[:, second]).mean(dim=-1)
        loss = (penalty - js_divergence(weights, own)).sum() - apart.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return softmax(scores.detach(), is_token)


def kendall() -> Iterator[Row]:
    """Tau-b with p-values, and weighted tau, of padded documents with and without ties."""
    rng = np.random.default_rng(0)
    for shape in [(256, 200), (1725, 20), (256, 20), (64, 300), (64, 1000), (1, 5000)]:
        for has_ties in (False, True):
            first, second, is_token = two_importances(*shape, has_ties, rng)
            padded = [np.where(is_token, values, np.nan) for values in (first, second)]
            rows = [(a[keep], b[keep]) for a, b, keep in zip(first, second, is_token, strict=True)]
            expected = [stats.kendalltau(a, b).statistic for a, b in rows]
            np.testing.assert_allclose(kendall_test(first, second, is_token).tau, expected)
            name = f"{shape[0]} × {shape[1]}{', ties' if has_ties else ''}"
            ways: dict[str, Work] = {
                "ours": lambda a=first, b=second, m=is_token: kendall_test(a, b, m),
                "scipy along an axis": lambda p=padded: stats.kendalltau(
                    *p, axis=-1, nan_policy="omit"
                ),
                "scipy in a loop": lambda r=rows: [stats.kendalltau(a, b) for a, b in r],
            }
            yield f"tau-b, {name}", 1, ways
            weighted: dict[str, Work] = {
                "ours": lambda a=first, b=second, m=is_token: weighted_tau(a, b, m),
                "scipy in a loop": lambda r=rows: [stats.weightedtau(a, b) for a, b in r],
            }
            yield f"weighted tau, {name}", 1, weighted


def two_importances(
    examples: int, longest: int, has_ties: bool, rng: np.random.Generator
) -> tuple[ndarray, ndarray, ndarray]:
    """Two related rows of importance per document and the mask; lengths from a quarter upwards."""
    first = rng.random((examples, longest))
    second = first + rng.random((examples, longest))
    if has_ties:  # as sparse attention has
        first = np.maximum(first - 0.7, 0)
        second = second.round(1)
    lengths = rng.integers(max(2, longest // 4), longest + 1, examples)
    return first, second, np.arange(longest) < lengths[:, None]


def sparse_projections() -> Iterator[Row]:
    """Sparsemax and sparsegen at (256, 512), with one and with two backward passes."""
    is_token = torch.ones(256, 512, dtype=torch.bool)
    ours: dict[str, Callable[[Tensor], Tensor]] = {
        "sparsemax": lambda scores: sparsemax(scores, is_token),
        "sparsegen 0.5": lambda scores: Sparsegen(0.5)(scores, is_token),
    }
    for spread in (1.0, 3.0):
        scores = spread * torch.randn(256, 512)
        torch.testing.assert_close(ours["sparsemax"](scores), entmax.sparsemax(scores, dim=-1))
        for name, project in ours.items():
            for kind, derive in (("forward + backward", once), ("and double backward", twice)):
                ways: dict[str, Work] = {
                    "ours": lambda d=derive, p=project, s=scores: d(p, s),
                    "entmax.sparsemax": lambda d=derive, s=scores: d(
                        lambda rows: entmax.sparsemax(rows, dim=-1), s
                    ),
                }
                yield f"{name}, {kind}, standard deviation {spread:g}", RUNS, ways


@torch.enable_grad()
def once(project: Callable[[Tensor], Tensor], scores: Tensor) -> None:
    """Forward and backward."""
    leaf = scores.detach().requires_grad_()
    for _ in range(RUNS):
        torch.autograd.grad(project(leaf), leaf, scores)


@torch.enable_grad()
def twice(project: Callable[[Tensor], Tensor], scores: Tensor) -> None:
    """Forward, backward, and backward through the backward."""
    leaf, upstream = scores.detach().requires_grad_(), scores.clone().requires_grad_()
    for _ in range(RUNS):
        (gradient,) = torch.autograd.grad(project(leaf), leaf, upstream, create_graph=True)
        torch.autograd.grad(gradient, upstream, scores)


def measure(ways: dict[str, Work], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each way in each turn."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            start = time.process_time()
            work()
            seconds[name].append(time.process_time() - start)
    return seconds


def line(name: str, divisor: int, seconds: dict[str, list[float]]) -> str:
    """A row of the table."""
    (_, ours), *others = seconds.items()
    cells = []
    for way, theirs in others:
        ratio = median(b / a for a, b in zip(ours, theirs, strict=True))
        cells.append(f"{way} {milliseconds(theirs, divisor)}, **{ratio:.1f}×**")
    return f"| {name} | {milliseconds(ours, divisor)} | {'; '.join(cells)} |"


def milliseconds(seconds: list[float], divisor: int) -> str:
    """The median, for people."""
    return f"{median(seconds) / divisor * 1e3:,.1f} ms"


def main() -> None:
    """Print the table."""
    groups: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
        "leave-one-out": lambda _: leave_one_out(),
        "influence": lambda _: influences(),
        "permutations": lambda _: permutations(),
        "adversary": lambda options: adversary(options.steps),
        "kendall": lambda _: kendall(),
        "sparse": lambda _: sparse_projections(),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100, help="of the adversary, 500 in audits")
    parser.add_argument("--only", choices=groups, help="one part of the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(machine.describe())
    print(f"CPU time, medians of {options.repeats}\n\n| what | heedful | against |\n|---|---|---|")
    for name, rows in groups.items():
        if options.only in (None, name):
            with torch.no_grad():
                for what, divisor, ways in rows(options):
                    seconds = measure(ways, options.repeats)
                    print(line(what, divisor, seconds), flush=True)


if __name__ == "__main__":
    main()
