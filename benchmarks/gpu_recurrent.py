"""Leave-one-out of a BiLSTM on a GPU: the kernel in several sizes, beside the loop of steps.

    python benchmarks/gpu_recurrent.py [--repeats 5] [--limit 90]

First the kernel is compared with the steps on small models, then everything is worked out for 200
documents of 200 words. Errors are of probabilities, the largest over all documents and words,
against the steps in float64. What fails says so and stops nothing else. Times are medians; `kernel`
is the time of the two kernels alone. Weights are drawn wider than at the start of training, so
that the loss of a word is remembered.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from statistics import median

import machine
import torch
from gpu_speed import GPU, a_batch, a_model, plain
from torch import Tensor

from heedful.importance import recurrent
from heedful.importance.deletion import logits_without_each
from heedful.model import recurrent_kernel as kernel
from heedful.model.classifier import AttentionClassifier
from heedful.model.precision import in_full
from heedful.model.recurrent_kernel import Blocks
from heedful.model.recurrent_steps import pairs_by_steps
from heedful.model.sight import Sight
from heedful.text.batching import Batch
from heedful.training.settings import Settings

SMALL = (  # few, since each size is compiled
    ("bilstm:hidden_size=16", "additive", (True, False)),
    ("lstm:hidden_size=50:skip=concat", "dot", (True,)),
    ("bilstm:hidden_size=128", "additive", (True, False)),
)
# In full or rounded, and in which blocks; the most promising first.
SIZES = (
    (True, "128 rows, 8 warps", Blocks()),
    (False, "128 rows, 8 warps", Blocks()),
    (True, "64 rows, 4 warps, weights fetched", Blocks(64, 4, 4, is_kept=False)),
    (False, "128 rows, 16 warps", Blocks(warps=16)),
    (True, "whole texts by 8 warps", Blocks(whole_warps=8)),
    (True, "whole texts in 64 rows", Blocks(whole_rows=64)),
    (False, "64 rows, 8 warps", Blocks(64, 4, 8)),
    (True, "128 rows of 16 documents", Blocks(128, 16, 8)),
    (True, "64 rows, 8 warps, weights fetched", Blocks(64, 4, 8, is_kept=False)),
    (False, "64 rows, 4 warps, weights fetched", Blocks(64, 4, 4, is_kept=False)),
)
HOST = ("aten::", "cuda", "cu")  # what is counted again under the name of its kernel
KERNELS = ("_changes_kernel", "_whole_kernel")
STARTED = time.perf_counter()


@contextmanager
def pairs_of(way: Callable[..., Tensor]) -> Iterator[None]:
    """Within it, logits are found from these pairs."""
    usual = recurrent._pairs
    recurrent._pairs = way
    try:
        yield
    finally:
        recurrent._pairs = usual


def with_blocks(blocks: Blocks, is_exact: bool) -> Callable[..., Tensor]:
    """Pairs by the kernel in this size."""

    def pairs(*given: object) -> Tensor:
        return kernel.pairs_by_kernel(*given, blocks=blocks, is_exact=is_exact)

    return pairs


def widened(model: AttentionClassifier) -> AttentionClassifier:
    """The same model with wider weights and gates that keep, so that words are remembered."""
    encoder = recurrent.recurrent_part(model)
    assert encoder is not None
    with torch.no_grad():
        for lstm in (encoder.forwards, encoder.backwards):
            if lstm is not None:
                lstm.weight_hh_l0.mul_(3)
                lstm.bias_hh_l0[lstm.hidden_size : 2 * lstm.hidden_size] += 2
        for name, weight in model.named_parameters():
            if name.startswith(("output", "alignment")):
                weight.mul_(5)
    return model


def a_padded_batch(lengths: list[int]) -> Batch:
    """Documents of several lengths."""
    whole = a_batch(len(lengths), max(lengths))
    is_kept = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return whole.kept(torch.arange(len(lengths), device=GPU), is_kept.to(GPU))


def probabilities(model: AttentionClassifier, batch: Batch) -> Tensor:
    """In float64, of each document without each of its words."""
    return logits_without_each(model, batch).double().softmax(dim=-1)


def check_small() -> None:
    """Small models, documents of several lengths."""
    for encoder, alignment, precisions in SMALL:
        changes = {"encoder": encoder, "embedding_size": 20, "alignment": alignment}
        model = widened(a_model(Settings().with_(**changes)))
        batch = a_padded_batch([40, 33, 17, 16, 12, 9, 8, 2, 1, 40, 5])
        for is_exact in precisions:
            try:
                with torch.inference_mode(), in_full():
                    with pairs_of(pairs_by_steps):
                        expected = probabilities(model, batch)
                    with pairs_of(with_blocks(Blocks(), is_exact)):
                        found = probabilities(model, batch)
                with torch.inference_mode(), in_full() if is_exact else nullcontext():
                    works = kernel._agrees(*parts(model, batch))
                error = float((found - expected)[batch.is_token].abs().max())
                said = f"{error:.1e}, its own check {'passed' if works else 'NOT PASSED'}"
            except Exception as failure:  # noqa: BLE001  (the others shall still run)
                said = f"{type(failure).__name__}: {str(failure)[:400]}"
            print(f"{precision(is_exact)}: {encoder}, {alignment}: {said}", flush=True)


def precision(is_exact: bool) -> str:
    """As it is called in the table."""
    return "in full" if is_exact else "rounded"


def parts(model: AttentionClassifier, batch: Batch) -> tuple[list[torch.nn.Module], Sight, Tensor]:
    """What the kernel's own check wants."""
    encoder = recurrent.recurrent_part(model)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    return layers, Sight(model), model.embed(batch)


def milliseconds(work: Callable[[], object], repeats: int) -> float:
    """The median of some runs, after one that warms up."""
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - started))
    return median(times[1:])


def of_kernels(work: Callable[[], object]) -> dict[str, float]:
    """Milliseconds of each kernel on the GPU in one run, largest first; none if not to be had."""
    activity = torch.profiler.ProfilerActivity
    try:
        with torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as profile:
            work()
            torch.cuda.synchronize()
    except Exception as failure:  # noqa: BLE001
        print(f"no profile: {failure}")
        return {}
    found = [
        (e.key, e.device_time_total / 1000)
        for e in profile.key_averages()
        if not e.key.startswith(HOST)
    ]
    return dict(sorted(found, key=lambda one: -one[1]))


def table(repeats: int, limit: float) -> None:
    """200 documents of 200 words."""
    settings = Settings().with_(encoder="bilstm:hidden_size=128", embedding_size=300)
    model, batch = widened(a_model(settings)), a_batch(200, 200)
    rows = []

    def add(name: str, around: Callable, way: Callable[..., Tensor] | None, runs: int) -> None:
        if time.perf_counter() - STARTED > limit:
            rows.append(f"{name:58} left out: no time left")
            return
        try:
            with torch.inference_mode(), around():
                if way is None:
                    took = milliseconds(lambda: plain(model, batch), runs)
                    found, alone = plain(model, batch).double().softmax(dim=-1), ""
                    error = float((found - exact).abs().max())
                else:
                    with pairs_of(way):
                        started = time.perf_counter()
                        error = float((probabilities(model, batch) - exact).abs().max())
                        first = time.perf_counter() - started
                        took = milliseconds(lambda: logits_without_each(model, batch), runs)
                        of = of_kernels(lambda: logits_without_each(model, batch))
                    own = {k[1:6]: round(v, 2) for k, v in of.items() if k in KERNELS}
                    alone = f"  kernel {own}  first call {first:.1f} s" if own else ""
                    if name == "in full: 128 rows, 8 warps":
                        print("on the GPU, in milliseconds:")
                        for key, value in list(of.items())[:14]:
                            print(f"  {value:8.3f}  {key[:100]}")
            rows.append(f"{name:58} {took:8.2f} ms   error {error:.1e}{alone}")
        except Exception as failure:  # noqa: BLE001
            rows.append(f"{name:58} {type(failure).__name__}: {str(failure)[:400]}")
        print(rows[-1], flush=True)

    with torch.inference_mode(), pairs_of(pairs_by_steps):
        exact = probabilities(model.double(), batch)
        model.float()
        whole = model(batch).logits.double().softmax(dim=-1).unsqueeze(1)
    moved = (exact - whole).abs()
    print(f"a lost word moves probabilities by {moved.mean():.4f}, up to {moved.max():.2f}")
    add("in full: loop of steps", in_full, pairs_by_steps, 3)
    for number, (is_exact, name, blocks) in enumerate(SIZES):
        around = in_full if is_exact else nullcontext
        add(f"{precision(is_exact)}: {name}", around, with_blocks(blocks, is_exact), repeats)
        if number == 1:
            add("in full: as called, with its checks", in_full, recurrent._pairs, repeats)
            add("rounded: as called, with its checks", nullcontext, recurrent._pairs, repeats)
            add("in full: plain re-runs by cuDNN", in_full, None, 1)
    print("\nleave-one-out, BiLSTM(128), 200 documents × 200 words, embeddings of 300")
    print("\n".join(rows))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=90.0, help="seconds")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    print(machine.describe())
    check_small()
    table(options.repeats, options.limit)


if __name__ == "__main__":
    main()
