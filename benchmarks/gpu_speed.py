"""Leave-one-out on a GPU: milliseconds, ratios to plain re-runs, and how the cost grows.

    python benchmarks/gpu_speed.py --pretrained minilm [--repeats 7]

Ours and the other ways take turns; times are medians. Every result is compared with the plain one
first. Models are untrained (the BiLSTM) or as they were downloaded: only the arithmetic matters.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from statistics import median

import gpu_projections
import machine
import numpy as np
import torch
from torch import Tensor

from heedful.importance.deletion import logits_without_each
from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier
from heedful.model.encoders import Pretrained
from heedful.model.precision import in_full
from heedful.model.word_subsets import TOKENS_AT_ONCE, logits_of_shortened
from heedful.text.batching import Batch, Batches
from heedful.text.pieces import joined
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings

WORDS = 5000
GPU = torch.device("cuda")


def a_batch(documents: int, words: int) -> Batch:
    """Documents of one length; every word is one piece."""
    ids = np.random.default_rng(0).integers(1000, WORDS, documents * words)
    starts = np.arange(0, len(ids) + 1, words)
    return Batches(Encoded(ids, starts, pieces=joined([[int(i)] for i in ids])), device=GPU).whole()


def a_model(settings: Settings) -> AttentionClassifier:
    """A classifier on the GPU."""
    encoder = settings.model.encoder
    source = encoder.load() if isinstance(encoder, Pretrained) else None
    model = build_model(settings.model, WORDS, 2, seed=1, pretrained=source).eval().to(GPU)
    assert isinstance(model, AttentionClassifier)
    return model


def plain(model: AttentionClassifier, batch: Batch) -> Tensor:
    """Every shortened text read again, in large packed batches."""
    is_token = batch.is_token.cpu().numpy()
    rows, places = is_token.nonzero()
    is_kept = is_token[rows]
    is_kept[np.arange(len(rows)), places] = False
    return logits_of_shortened(model, batch, rows, is_kept).unflatten(0, batch.is_token.shape)


def medians(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Milliseconds of each way; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            torch.cuda.synchronize()
            started = time.perf_counter()
            way()
            torch.cuda.synchronize()
            if turn:  # the first one warms up
                times[name].append(1000 * (time.perf_counter() - started))
    return {name: median(seen) for name, seen in times.items()}


def bilstm(repeats: int) -> None:
    """200 documents of 200 words."""
    settings = Settings().with_(encoder="bilstm:hidden_size=128", embedding_size=300)
    model, batch = a_model(settings), a_batch(200, 200)
    TOKENS_AT_ONCE["cuda"] = 1_048_576  # the fastest of four that were tried, for plain re-runs
    with torch.inference_mode(), in_full():
        torch.testing.assert_close(
            logits_without_each(model, batch), plain(model, batch), atol=1e-5, rtol=1e-4
        )
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: logits_without_each(model, batch),
        "plain cuDNN re-runs": lambda: plain(model, batch),
    }
    for name, around in (("fp32", in_full), ("TF32, cuDNN's default", nullcontext)):
        with torch.inference_mode(), around():
            found = medians(ways, repeats)
        print(f"leave-one-out, BiLSTM(128), 200 documents × 200 words, {name}")
        for way, milliseconds in found.items():
            ratio = milliseconds / found["ours"]
            print(f"  {way:22} {milliseconds:7.0f} ms   {ratio:5.2f} × ours")


def pretrained(source: str, repeats: int) -> None:
    """Documents of 128 pieces, special ones included."""
    documents, words = 64, 126
    settings = Settings().with_(encoder=Pretrained(source=source), dropout=0.0)
    model, batch = a_model(settings), a_batch(documents, words)
    TOKENS_AT_ONCE["cuda"] = 262_144
    print(f"leave-one-out, {source}, documents of {words + 2} pieces")
    exact = None
    for name, is_rounded in (("fp32", False), ("bf16", True)):
        around = torch.autocast("cuda", torch.bfloat16, enabled=is_rounded)
        with torch.inference_mode(), in_full(), around:
            found = medians({"ours": lambda: logits_without_each(model, batch)}, repeats)
            shares = logits_without_each(model, batch).float().softmax(dim=-1)
        exact = shares if exact is None else exact
        error = float((shares - exact).abs().max())
        speed = 1000 * documents / found["ours"]
        print(
            f"  {name}  {speed:5.0f} documents a second   probabilities move by {error:.1g} at most"
        )


def exponent(sizes: Sequence[int], spent: Sequence[float]) -> str:
    """Of the power law that fits best: 1 where twice as many take twice as long."""
    return f"{np.polyfit(np.log(sizes), np.log(spent), 1)[0]:.1f}"


def growth(repeats: int) -> Iterator[str]:
    """How the cost of the GPU's rows grows: exponents of power laws, by wall time."""
    if not torch.cuda.is_available():
        yield "There is no CUDA device here."
        return
    settings = Settings().with_(encoder="bilstm:hidden_size=128", embedding_size=300)
    model = a_model(settings)

    def leave_one_out(documents: int, words: int) -> Callable[[], object]:
        batch = a_batch(documents, words)
        return lambda: logits_without_each(model, batch)

    def projected(name: str, rows: int, words: int) -> Callable[[], object]:
        scores = torch.randn(rows, words, device="cuda")
        way = gpu_projections.ways(torch.ones_like(scores, dtype=torch.bool))[name]
        return gpu_projections.forward(way, scores)

    yield "| what | documents or rows | words | milliseconds at the largest |"
    yield "|---|---|---|---|"
    rows = (16384, 65536, 262144)
    names = ("softmax", "sparsemax", "entmax 1.5")
    measured: dict[str, tuple[Callable[[int, int], Callable[[], object]], Sequence[int]]] = {
        "leave-one-out, bilstm": (leave_one_out, (50, 100, 200)),
        **{name: (partial(projected, name), rows) for name in names},
    }
    for name, (work, counts) in measured.items():
        with torch.inference_mode(), in_full():
            by_count = [wall_milliseconds(work(n, 200), repeats) for n in counts]
            by_words = [wall_milliseconds(work(counts[-1], n), repeats) for n in (50, 100, 200)]
        grows = exponent(counts, by_count), exponent((50, 100, 200), by_words)
        yield f"| {name} | {' | '.join(grows)} | {by_count[-1]:.2f} |"


def wall_milliseconds(work: Callable[[], object], repeats: int) -> float:
    """Wall time of a piece of work, what the GPU does included."""
    return medians({"": work}, repeats)[""]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pretrained", default="minilm")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    print(machine.describe())
    bilstm(options.repeats)
    pretrained(options.pretrained, options.repeats)
    print(*growth(options.repeats), sep="\n")


if __name__ == "__main__":
    main()
