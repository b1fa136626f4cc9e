"""Sparse projections on a GPU, beside softmax, a copy, the plain maps and the entmax package.

    python benchmarks/gpu_projections.py [--repeats 50]

Two numbers each, in microseconds: `call`, from Python to the end of the work, many calls in a row
(of small batches this is mostly Python); and `GPU`, the same calls replayed as a CUDA graph, which
leaves only the work itself. Every result is compared with the plain one first.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import machine
import torch
from torch import Tensor

from heedful.model import projections
from heedful.model.projections import Sparsegen, entmax, sparsemax

SHAPES = ((65536, 256), (4096, 512), (256, 512))
Work = Callable[[], object]
Project = Callable[[Tensor], Tensor]


def ways(is_token: Tensor) -> dict[str, Project]:
    """Softmax and a copy as limits, then ours, then the others."""
    found: dict[str, Project] = {
        "copy": torch.clone,
        "softmax": lambda scores: scores.softmax(dim=-1),
        "sparsemax": lambda scores: sparsemax(scores, is_token),
        "sparsegen 0.5": lambda scores: Sparsegen(0.5)(scores, is_token),
        "entmax 1.5": lambda scores: entmax(scores, is_token),
        "sparsemax without kernels": lambda scores: plain(sparsemax, scores, is_token),
        "entmax 1.5 without kernels": lambda scores: plain(entmax, scores, is_token),
    }
    try:
        import entmax as package
    except ImportError:
        print("the entmax package is not installed: its rows are left out")
        return found
    found["entmax.sparsemax"] = lambda scores: package.sparsemax(scores, dim=-1)
    found["entmax.entmax15"] = lambda scores: package.entmax15(scores, dim=-1)
    return found


def plain(project: Callable[[Tensor, Tensor], Tensor], scores: Tensor, is_token: Tensor) -> Tensor:
    """The map as it is where there are no kernels."""
    usual = projections._kernels_for
    projections._kernels_for = lambda scores: None
    try:
        return project(scores, is_token)
    finally:
        projections._kernels_for = usual


def forward(project: Project, scores: Tensor) -> Work:
    """Forward alone."""

    @torch.no_grad()
    def work() -> object:
        return project(scores)

    return work


def both(project: Project, scores: Tensor) -> Work:
    """Forward and backward."""
    leaf, upstream = scores.clone().requires_grad_(), scores.flip(0)
    return lambda: torch.autograd.grad(project(leaf), leaf, upstream)


def per_call(work: Work, repeats: int) -> float:
    """Microseconds of a call, many in a row; the median of five times."""
    times = []
    for _ in range(6):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - started) / repeats)
    return median(times[1:])  # the first one warms up


def on_gpu(work: Work, repeats: int) -> float | None:
    """Microseconds of the work itself, as a CUDA graph; None where it waits for the processor."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(10):
                work()
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    times = []
    for _ in range(6):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(max(1, repeats // 10)):
            graph.replay()
        last.record()
        torch.cuda.synchronize()
        times.append(1e3 * first.elapsed_time(last) / (10 * max(1, repeats // 10)))
    return median(times[1:])


def check(shape: tuple[int, int]) -> None:
    """The same numbers with kernels and without, on padded rows."""
    scores = torch.randn(shape, device="cuda")
    is_token = torch.rand(shape, device="cuda") < 0.9
    is_token[0] = False
    for project in (sparsemax, Sparsegen(0.5), entmax):
        difference = (project(scores, is_token) - plain(project, scores, is_token)).abs().max()
        assert difference <= 1e-6, (project, shape, difference)
    used = projections._kernels_for(scores)
    print(f"{shape[0]} × {shape[1]}: same numbers; kernels: {'yes' if used else 'NO'}")


def table(shape: tuple[int, int], repeats: int, spread: float) -> None:
    """A table for one shape."""
    # Drawn on the CPU: the GPU's generator is of no use after a graph that could not be captured.
    scores = spread * torch.randn(shape).cuda()
    is_token = torch.ones(shape, dtype=torch.bool, device="cuda")
    print(f"\n{shape[0]} × {shape[1]}, fp32, standard deviation {spread:g}\n")
    print(
        "| what | forward, call | GPU | × softmax | and backward, call | GPU | × softmax |\n"
        "|---|---|---|---|---|---|---|"
    )
    limits: list[float | None] = []
    for name, project in ways(is_token).items():
        cells = []
        for number, kind in enumerate((forward, both)):
            work = kind(project, scores)
            call, gpu = per_call(work, repeats), on_gpu(work, repeats)
            if name == "softmax":
                limits.append(gpu)
            ratio = (
                (gpu / limit) if gpu and len(limits) == 2 and (limit := limits[number]) else None
            )
            cells += [f"{call:.1f}", _number(gpu, ".1f"), _number(ratio, ".2f")]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    torch.manual_seed(0)
    print(machine.describe())
    for shape in SHAPES:
        check(shape)
    for shape in SHAPES:
        for spread in (1.0, 3.0):
            table(shape, options.repeats, spread)


if __name__ == "__main__":
    main()
