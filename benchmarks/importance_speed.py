"""Speed of what an audit spends its time on, as ratios against what people use instead.

    python benchmarks/importance_speed.py

One thread, one process, each pair measured in turn (the best of several runs); every fast result is
compared with the slow one first. Models are untrained: only the arithmetic matters.
"""

import time
from collections.abc import Callable

import captum.attr
import entmax
import machine
import numpy as np
import torch
from torch import Tensor

from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.counterfactual.simple import Permuted
from heedful.importance.deletion import logits_without_each
from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.model.projections import Sparsegen, softmax, sparsemax
from heedful.text.batching import Batch, Batches
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings

WORDS = 5000


def a_model(encoder: str) -> AttentionClassifier:
    """An untrained classifier over 300-d embeddings."""
    settings = Settings().with_(encoder=encoder, embedding_size=300, dropout=0.0).model
    model = build_model(settings, WORDS, 2, seed=1).eval()
    assert isinstance(model, AttentionClassifier)
    return model


def a_batch(documents: int, tokens: int) -> Batch:
    """Documents of one length."""
    ids = np.random.default_rng(0).integers(3, WORDS, documents * tokens)
    return Batches(Encoded(ids, np.arange(0, documents * tokens + 1, tokens))).whole()


def best_time(work: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of the fastest run."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def row(name: str, ours: float, theirs: dict[str, float], unit: float = 1.0) -> None:
    """One table row: our time, and each other way's as a multiple of it."""
    others = "; ".join(f"{way} {t / unit:.4f} s, **{t / ours:.1f}×**" for way, t in theirs.items())
    print(f"| {name} | {ours / unit:.4f} s | {others} |", flush=True)


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


@torch.no_grad()
def leave_one_out(encoder: str, documents: int) -> None:
    """Deletion of each of 200 words."""
    model, batch = a_model(encoder), a_batch(documents, 200)
    fast, slow = logits_without_each(model, batch), delete_naively(model, batch)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
    ours = best_time(lambda: logits_without_each(model, batch))
    theirs = {"naive batch": best_time(lambda: delete_naively(model, batch), 1)}
    for at_once in (1, 16, 64):
        way = "Captum default" if at_once == 1 else f"Captum {at_once} at once"
        theirs[way] = best_time(lambda n=at_once: ablate_with_captum(model, batch, n), 1)
    row(f"leave-one-out, {encoder}, 200 tokens, per document", ours, theirs, unit=documents)


@torch.no_grad()
def permutations() -> None:
    """A hundred permutations of the weights."""
    model, batch = a_model("bilstm"), a_batch(64, 50)
    trace = model(batch)
    rng = torch.Generator().manual_seed(0)
    weights = Permuted(100)(model, trace, batch, rng)

    def loop() -> Tensor:
        return torch.stack([model.decide(trace.hidden, w) for w in weights.unbind(1)], dim=1)

    torch.testing.assert_close(decide_many(model, trace.hidden, weights), loop())
    ours = best_time(lambda: decide_many(model, trace.hidden, weights))
    row("100 permutations, 64 documents of 50", ours, {"loop over contexts": best_time(loop)})


def adversary() -> None:
    """Adversarial search, 50 steps, five candidates."""
    model, batch = a_model("bilstm"), a_batch(64, 50)
    with torch.no_grad():
        trace = model(batch)
    search = Adversarial(steps=50)

    def one_by_one() -> None:
        own, usual = trace.weights, trace.logits.softmax(dim=-1)
        for _ in range(search.candidates):
            scores = (3 * torch.randn(own.shape)).requires_grad_()
            optimizer = torch.optim.Adam([scores], lr=0.01, amsgrad=True)
            for _ in range(search.steps):
                weights = softmax(scores, batch.is_token)
                moved = (model.decide(trace.hidden, weights).softmax(-1) - usual).abs().sum(-1) / 2
                far = js_divergence(weights.unsqueeze(1), own.unsqueeze(1)).sum()
                loss = 500 * (moved - 0.01).relu().sum() - far
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    rng = torch.Generator().manual_seed(0)
    ours = best_time(lambda: search(model, trace, batch, rng))
    others = {"loop over contexts": best_time(one_by_one, 1)}
    row("adversary, 50 steps, 64 documents of 50", ours, others)


def sparse_projections() -> None:
    """Forward and backward, and double backward, at (256, 512)."""
    for spread in (1.0, 3.0):
        scores = (spread * torch.randn(256, 512)).requires_grad_()
        is_token, upstream = torch.ones(256, 512, dtype=torch.bool), torch.randn(256, 512)

        def once(
            project: Callable[[Tensor], Tensor], s: Tensor = scores, g: Tensor = upstream
        ) -> None:
            torch.autograd.grad((project(s) * g).sum(), s)

        def twice(
            project: Callable[[Tensor], Tensor], s: Tensor = scores, g: Tensor = upstream
        ) -> None:
            (first,) = torch.autograd.grad((project(s).square() * g).sum(), s, create_graph=True)
            torch.autograd.grad(first.square().sum(), s)

        ways: dict[str, Callable[[Tensor], Tensor]] = {
            "sparsemax": lambda s, m=is_token: sparsemax(s, m),
            "sparsegen 0.5": lambda s, m=is_token: Sparsegen(0.5)(s, m),
        }
        for name, project in ways.items():
            for kind, work in (("forward + backward", once), ("double backward", twice)):
                ours = best_time(lambda w=work, p=project: w(p), 9)
                theirs = best_time(lambda w=work: w(lambda s: entmax.sparsemax(s, dim=-1)), 9)
                row(f"{name}, {kind}, spread {spread:g}", ours, {"entmax.sparsemax": theirs})


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(machine.describe() + "\n\n| what | heedful | against |\n|---|---|---|")
    leave_one_out("bilstm", documents=8)
    leave_one_out("mlp", documents=8)
    permutations()
    adversary()
    sparse_projections()


if __name__ == "__main__":
    main()
