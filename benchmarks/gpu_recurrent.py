"""Leave-one-out of a BiLSTM on a GPU: the kernel in several sizes, beside the loop of steps.

    python benchmarks/gpu_recurrent.py [--repeats 5] [--limit 300] [--only NAME]

The kernel is compared with the steps on a few short texts, then everything is worked out for
BiLSTM(128), 200 documents of 200 words and embeddings of 300. Errors are of probabilities, the
largest over all documents and words; those of the long texts are against the steps in float64.
Each is tried in a process of its own, since the kernel at 128 units ended with an illegal memory
access. Times are medians; `kernel` is the time of the two kernels alone. Weights are drawn wider
than at the start of training, so that the loss of a word is remembered.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from statistics import median

import machine
import torch
from gpu_speed import GPU, a_batch, a_model, plain
from recurrent_kernel import Blocks, agrees, pairs_by_kernel
from torch import Tensor

from heedful.importance import recurrent
from heedful.importance.deletion import logits_without_each
from heedful.model.classifier import AttentionClassifier
from heedful.model.precision import in_full
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
    usual = recurrent.pairs_without_each_word
    recurrent.pairs_without_each_word = way
    try:
        yield
    finally:
        recurrent.pairs_without_each_word = usual


def with_blocks(blocks: Blocks, is_exact: bool) -> Callable[..., Tensor]:
    """Pairs by the kernel in this size."""

    def pairs(*given: object) -> Tensor:
        return pairs_by_kernel(*given, blocks=blocks, is_exact=is_exact)

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


def check_small(encoder: str, alignment: str, is_exact: bool) -> str:
    """The kernel's error on documents of several lengths, and its own check."""
    changes = {"encoder": encoder, "embedding_size": 20, "alignment": alignment}
    model = widened(a_model(Settings().with_(**changes)))
    batch = a_padded_batch([40, 33, 17, 16, 12, 9, 8, 2, 1, 40, 5])
    with torch.inference_mode(), in_full():
        expected = probabilities(model, batch)
        with pairs_of(with_blocks(Blocks(), is_exact)):
            found = probabilities(model, batch)
    with torch.inference_mode(), in_full() if is_exact else nullcontext():
        works = agrees(*parts(model, batch))
    error = float((found - expected)[batch.is_token].abs().max())
    return f"error {error:.1e}, its own check {'passed' if works else 'NOT PASSED'}"


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


def a_row(way: Callable[..., Tensor] | None, is_exact: bool, repeats: int) -> str:
    """Time and error for 200 documents of 200 words; `way` finds the pairs, None: plain re-runs."""
    settings = Settings().with_(encoder="bilstm:hidden_size=128", embedding_size=300)
    model, batch = widened(a_model(settings)), a_batch(200, 200)
    model.double()
    with torch.inference_mode():
        exact = probabilities(model, batch)
    model.float()
    with torch.inference_mode(), in_full() if is_exact else nullcontext():
        if way is None:
            found = plain(model, batch).double().softmax(dim=-1)
            took, alone = milliseconds(lambda: plain(model, batch), repeats), ""
        else:
            with pairs_of(way):
                started = time.perf_counter()
                found = probabilities(model, batch)
                first = time.perf_counter() - started
                took = milliseconds(lambda: logits_without_each(model, batch), repeats)
                of = of_kernels(lambda: logits_without_each(model, batch))
            own = {name[1:6]: round(of[name], 2) for name in KERNELS if name in of}
            alone = f"  kernel {own}  first call {first:.1f} s" if own else ""
    return f"{took:8.2f} ms   error {float((found - exact).abs().max()):.1e}{alone}"


def everything(repeats: int) -> dict[str, Callable[[], str]]:
    """All that is tried, by name."""
    loop = recurrent.pairs_without_each_word
    tried: dict[str, Callable[[], str]] = {
        "in full: loop of steps": partial(a_row, loop, True, min(3, repeats)),
        "in full: plain re-runs by cuDNN": partial(a_row, None, True, 1),
    }
    for encoder, alignment, precisions in SMALL:
        for is_exact in precisions:
            name = f"{precision(is_exact)}: {encoder}, {alignment}"
            tried[name] = partial(check_small, encoder, alignment, is_exact)
    for is_exact, name, blocks in SIZES:
        way = with_blocks(blocks, is_exact)
        tried[f"{precision(is_exact)}: {name}"] = partial(a_row, way, is_exact, repeats)
    return tried


def in_a_process_of_its_own(name: str, repeats: int) -> str:
    """What came of it; an illegal memory access ends all work of a process on the GPU."""
    command = [sys.executable, __file__, "--only", name, "--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.strip().splitlines()[-1]
    said = done.stderr.strip().splitlines()
    errors = [line for line in said if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or said or [f"ended with code {done.returncode}"])[-1][:400]


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds")
    parser.add_argument("--only", help="one of the names, in this process")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    tried = everything(options.repeats)
    if options.only:
        print(tried[options.only]())
        return
    print(machine.describe())
    for name in tried:
        is_late = time.perf_counter() - STARTED > options.limit
        said = "no time left" if is_late else in_a_process_of_its_own(name, options.repeats)
        print(f"{name:58} {said}", flush=True)


if __name__ == "__main__":
    main()
