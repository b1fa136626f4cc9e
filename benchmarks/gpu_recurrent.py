"""Leave-one-out of a BiLSTM on a GPU: kernels in several blocks, beside the loop of steps.

    python benchmarks/gpu_recurrent.py [--repeats 7] [--limit 110] [--only NAME]

BiLSTM(128), additive, 200 documents of 200 words and embeddings of 300. Weights are drawn wider
than at the start of training, so that the loss of a word is remembered. Errors are of
probabilities, against the loop in float64, the largest over all documents and words. Times are
medians (of at most 3 runs of the loop, 2 of plain re-runs): of the whole leave-one-out, of the
pairs alone (with how long Python needs to launch them), and, by the profiler, of kernels on the GPU
in one run. Each is tried in a process of its own: after an illegal memory access a process can do
nothing more on the GPU.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from statistics import median

import machine
import torch
from gpu_speed import GPU, a_batch, a_model, plain
from torch import Tensor

from heedful.importance import recurrent
from heedful.importance.deletion import logits_without_each
from heedful.model import recurrent_launches as kernels
from heedful.model.classifier import AttentionClassifier
from heedful.model.precision import in_full
from heedful.model.sight import Sight
from heedful.text.batching import Batch
from heedful.training.settings import Settings

Block, Blocks = kernels.Block, kernels.Blocks
DOCUMENTS, WORDS = 200, 200
# The most promising first. Kernels do not depend on each other's blocks: the best of each may be
# taken from different rows.
BLOCKS = {
    "usual": kernels.USUAL,
    "steps of 64 rows, seen with 128 registers": Blocks(
        whole=Block(16, 64, 32, 8, 3),
        step=Block(64, 32, 32, 4, 2, registers=128),
        see=Block(64, 128, 32, 4, 2, registers=128),
    ),
    "2 stages, 128 rows seen": Blocks(
        whole=Block(16, 64, 64, 8, 2),
        step=Block(128, 32, 32, 8, 2, registers=128),
        see=Block(128, 128, 32, 8, 2),
    ),
    "64 rows and units": Blocks(
        whole=Block(16, 128, 32, 8, 2),
        step=Block(64, 64, 32, 4, 2),
        see=Block(64, 128, 32, 4, 3, registers=168),
    ),
}
SMALL = (
    ("bilstm:hidden_size=16", "additive"),
    ("lstm:hidden_size=50:skip=concat", "dot"),
    ("bilstm:hidden_size=256", "additive"),
)
PRECISIONS = {"in full": in_full, "rounded": nullcontext}
STARTED = time.perf_counter()


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


def the_model() -> AttentionClassifier:
    """That everything is measured on."""
    settings = Settings().with_(encoder="bilstm:hidden_size=128", embedding_size=300)
    return widened(a_model(settings))


def a_padded_batch(lengths: list[int]) -> Batch:
    """Documents of several lengths."""
    whole = a_batch(len(lengths), max(lengths))
    is_kept = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return whole.kept(torch.arange(len(lengths), device=GPU), is_kept.to(GPU))


def probabilities(model: AttentionClassifier, batch: Batch) -> Tensor:
    """In float64, of each document without each of its words."""
    return logits_without_each(model, batch).double().softmax(dim=-1)


def exact(model: AttentionClassifier, batch: Batch) -> Tensor:
    """The same by the loop, worked out in float64."""
    model.double()
    with torch.inference_mode():
        found = probabilities(model, batch)
    model.float()
    return found


def milliseconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians of some runs: until all is done, and until Python has launched it."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        launched = time.perf_counter()
        torch.cuda.synchronize()
        times.append((1000 * (time.perf_counter() - started), 1000 * (launched - started)))
    return median(took for took, _ in times), median(launched for _, launched in times)


def profile(work: Callable[[], object]) -> None:
    """Prints where the time on the GPU goes in one run."""
    cuda = torch.profiler.ProfilerActivity.CUDA
    with torch.profiler.profile(activities=[cuda]) as profiled:
        work()
        torch.cuda.synchronize()
    on_gpu = torch.autograd.DeviceType.CUDA
    events = [event for event in profiled.events() if event.device_type == on_gpu]
    if not events:
        print("    no profile")
        return
    events.sort(key=lambda event: event.time_range.start)
    times: dict[str, list[float]] = {}
    for event in events:
        times.setdefault(event.name, []).append(event.time_range.elapsed_us() / 1000)
    everything = sum(map(sum, times.values()))
    first, last = events[0].time_range.start, max(event.time_range.end for event in events)
    print(f"    GPU busy {everything:.2f} of {(last - first) / 1000:.2f} ms")
    for name, took in sorted(times.items(), key=lambda one: -sum(one[1]))[:10]:
        print(f"    {sum(took):8.3f} ms {len(took):5} times  {name[:90]}")


def by_kernels(blocks: kernels.Blocks, repeats: int) -> None:
    """Leave-one-out by kernels in these blocks, in full and rounded."""
    model, batch = the_model(), a_batch(DOCUMENTS, WORDS)
    expected = exact(model, batch)
    find = partial(kernels.pairs_without_each_word, blocks=blocks)
    encoder, embedded = recurrent.recurrent_part(model), model.embed(batch)
    layers, sight = [encoder.forwards, encoder.backwards], Sight(model)
    kernels.pairs_without_each_word, kernels.can_take = find, lambda *model: True
    for name, around in PRECISIONS.items():
        with torch.inference_mode(), around():
            started = time.perf_counter()
            error = float((probabilities(model, batch) - expected).abs().max())
            first = time.perf_counter() - started
            took, _ = milliseconds(lambda: logits_without_each(model, batch), repeats)
            alone, launched = milliseconds(
                lambda: find(layers, sight, embedded, batch.is_token), repeats
            )
            print(
                f"  {name:8} {took:7.2f} ms   error {error:.1e}   pairs alone {alone:.2f} ms, "
                f"launched in {launched:.2f}   first call {first:.1f} s"
            )
            profile(lambda: logits_without_each(model, batch))


def by_loop(repeats: int) -> None:
    """Leave-one-out by the loop of steps, and by reading all texts again."""
    model, batch = the_model(), a_batch(DOCUMENTS, WORDS)
    expected = exact(model, batch)
    recurrent._kernels = lambda: None
    for name, around in PRECISIONS.items():
        with torch.inference_mode(), around():
            error = float((probabilities(model, batch) - expected).abs().max())
            took, _ = milliseconds(lambda: logits_without_each(model, batch), repeats)
            print(f"  {name:8} {took:7.2f} ms   error {error:.1e}   loop of steps")
            again = plain(model, batch).double().softmax(dim=-1)
            took, _ = milliseconds(lambda: plain(model, batch), min(2, repeats))
            error = float((again - expected).abs().max())
            print(f"  {name:8} {took:7.2f} ms   error {error:.1e}   plain re-runs by cuDNN")


def check_small(encoder: str, alignment: str) -> None:
    """The error on documents of several lengths, and whether the kernels' own check is passed."""
    changes = {"encoder": encoder, "embedding_size": 20, "alignment": alignment}
    model = widened(a_model(Settings().with_(**changes)))
    batch = a_padded_batch([40, 33, 17, 16, 12, 9, 8, 2, 1, 40, 5])
    expected = exact(model, batch)
    layers = [layer for layer in model.encoder.modules() if isinstance(layer, torch.nn.LSTM)]
    for name, around in PRECISIONS.items():
        with torch.inference_mode(), around():
            works = kernels.can_take(
                layers, Sight(model), model.embed(batch), recurrent.pairs_without_each_word
            )
            kernels.can_take, usual = lambda *model: True, kernels.can_take
            error = float((probabilities(model, batch) - expected)[batch.is_token].abs().max())
            kernels.can_take = usual
        print(f"  {name:8} error {error:.1e}   own check {'passed' if works else 'NOT PASSED'}")


def everything(repeats: int) -> dict[str, Callable[[], None]]:
    """All that is tried, by name."""
    tried = {f"blocks: {name}": partial(by_kernels, of, repeats) for name, of in BLOCKS.items()}
    tried |= {
        f"small: {encoder}, {way}": partial(check_small, encoder, way) for encoder, way in SMALL
    }
    return tried | {"loop": partial(by_loop, min(3, repeats))}


def in_a_process_of_its_own(name: str, repeats: int, left: float) -> None:
    """Prints what it prints, and how it failed."""
    command = [sys.executable, "-u", __file__, "--only", name, "--repeats", str(repeats)]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        print("  no time left", flush=True)
        return
    if done.returncode:
        print(f"  ended with code {done.returncode}:", flush=True)
        print("\n".join(done.stderr.strip().splitlines()[-6:])[-1500:], flush=True)


def main() -> None:
    """Print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, default=110.0, help="seconds")
    parser.add_argument("--only", help="one of the names, in this process")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    tried = everything(options.repeats)
    if options.only:
        with torch.no_grad():
            tried[options.only]()
        return
    print(machine.describe(), flush=True)
    for name in tried:
        left = options.limit - (time.perf_counter() - STARTED)
        if left > 0:
            print(f"{name}  (after {options.limit - left:.0f} s)", flush=True)
            in_a_process_of_its_own(name, options.repeats, left)


if __name__ == "__main__":
    main()
