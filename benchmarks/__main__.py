"""Every benchmark of speed as one page: ours, the peer, the ratio.

    python -m benchmarks [--repeats 5] [--only growth] [--page speed.md]

CPU rows are CPU seconds on one thread; where there is a GPU, its rows follow, with its name. Ours
and the others take turns, and every result is compared with the plain one before it is timed.
What needs corpora or hours has a script of its own: see docs/measured.md.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))  # each benchmark is also a script

import audit_speed
import gpu_projections
import gpu_speed
import machine
import numpy as np
import torch
from audit_speed import Row, Work, a_corpus, a_model

from heedful.counterfactual.baselines import Permuted
from heedful.importance import importances
from heedful.importance.deletion import logits_without_each
from heedful.importance.influence import influence
from heedful.model.decision import decide_many
from heedful.model.word_subsets import logits_of_kept, logits_of_shortened

Lines = Iterator[str]


def erased_sets() -> Iterator[Row]:
    """Sentences with random sets of words deleted, as random rankings ask for them."""
    rng = np.random.default_rng(0)
    batch = a_corpus(np.full(16, 20)).whole()
    order = rng.random((16 * 20, 20)).argsort(axis=1)
    is_kept = np.concatenate([order >= size for size in (1, 4, 10)])
    document = np.tile(np.repeat(np.arange(16), 20), 3)
    for encoder in ("bilstm", "mlp"):
        model = a_model(encoder)
        ours = logits_of_kept(model, batch, document, is_kept)
        torch.testing.assert_close(
            ours, logits_of_shortened(model, batch, document, is_kept), atol=1e-5, rtol=1e-4
        )
        ways: dict[str, Work] = {
            "ours": lambda m=model: logits_of_kept(m, batch, document, is_kept),
            "shortened texts in packed batches": lambda m=model: logits_of_shortened(
                m, batch, document, is_kept
            ),
        }
        yield f"{len(document)} erased sets of 16 sentences of 20 words, {encoder}", 1, ways


def table(rows: Iterator[Row], repeats: int) -> Lines:
    """A line for each peer of each row."""
    yield "| what | ours | peer | theirs | ratio |"
    yield "|---|---|---|---|---|"
    for what, divisor, ways in rows:
        seconds = audit_speed.measure(ways, repeats)
        (_, ours), *others = seconds.items()
        for peer, theirs in others:
            ratio = median(b / a for a, b in zip(ours, theirs, strict=True))
            times = [audit_speed.milliseconds(some, divisor) for some in (ours, theirs)]
            yield f"| {what} | {times[0]} | {peer} | {times[1]} | {ratio:.1f} |"


SIZES = {"documents": (4, 8, 16), "words": (40, 80, 160), "classes": (2, 16, 128)}
USUAL = {"documents": 4, "words": 60, "classes": 2}


def parts_of_an_audit(encoder: str, size: Mapping[str, int]) -> dict[str, Work]:
    """What an audit does most, by name, on a model and documents of a size."""
    model = a_model(encoder, size["classes"])
    documents, words = size["documents"], size["words"]
    batch = a_corpus(np.full(documents, words)).whole()
    trace = model(batch)
    rng = np.random.default_rng(0)
    order = rng.random((documents * 100, words)).argsort(axis=1)
    is_kept = order >= rng.integers(1, words // 2, (documents * 100, 1))
    document = np.repeat(np.arange(documents), 100)
    shuffled = Permuted(100)(model, trace, batch, torch.Generator().manual_seed(0))
    target = trace.logits.argmax(dim=-1)
    return {
        "leave-one-out": lambda: logits_without_each(model, batch, trace),
        "100 erased sets": lambda: logits_of_kept(model, batch, document, is_kept, trace=trace),
        "100 permutations": lambda: decide_many(model, trace.hidden, shuffled),
        "gradient × input": lambda: importances["gradient-x-input"](model, batch, target),
        "influence matrix": lambda: influence(model, batch),
    }


def growth(repeats: int) -> Lines:
    """How the cost of each part grows: the exponent of a power law through three sizes."""
    yield "| what | documents | words | classes | milliseconds at 4 × 60 words, 2 classes |"
    yield "|---|---|---|---|---|"
    for encoder in ("bilstm", "mlp"):
        exponents: dict[str, list[str]] = defaultdict(list)
        at_usual = spent_on(parts_of_an_audit(encoder, USUAL), repeats)
        for axis, sizes in SIZES.items():
            by_size = [
                spent_on(parts_of_an_audit(encoder, {**USUAL, axis: size}), repeats)
                for size in sizes
            ]
            for name in at_usual:
                exponents[name].append(
                    gpu_speed.exponent(sizes, [found[name] for found in by_size])
                )
        for name, found in exponents.items():
            each = " | ".join(found)
            yield f"| {name}, {encoder} | {each} | {1e3 * at_usual[name]:.2f} |"


def spent_on(parts: Mapping[str, Work], repeats: int) -> dict[str, float]:
    """Median CPU seconds of each, once it is warm."""
    found = {}
    for name, work in parts.items():
        work()
        times = []
        for _ in range(repeats):
            started = time.process_time()
            work()
            times.append(time.process_time() - started)
        found[name] = median(times)
    return found


def on_gpu(repeats: int) -> Lines:
    """Sparse projections beside softmax; whole leave-one-out has a script of its own."""
    if not torch.cuda.is_available():
        yield "There is no CUDA device here: `benchmarks/gpu_projections.py` and "
        yield "`benchmarks/gpu_speed.py` measure on one."
        return
    for shape in gpu_projections.SHAPES:
        gpu_projections.check(shape)
        gpu_projections.table(shape, 10 * repeats, 1.0)
    yield ""


def main() -> None:
    """Print the page, and write it if a place is given."""
    parts: dict[str, tuple[str, Callable[[int], Lines]]] = {
        "leave-one-out": (
            "Leave-one-out, for each document (peer: Captum, plain PyTorch)",
            lambda repeats: table(audit_speed.leave_one_out(), repeats),
        ),
        "erased": ("Erased sets", lambda repeats: table(erased_sets(), repeats)),
        "influence": ("Influence", lambda repeats: table(audit_speed.influences(), repeats)),
        "counterfactuals": (
            "Permutations and the adversary",
            lambda repeats: table(_counterfactuals(), repeats),
        ),
        "kendall": ("Rank agreement (peer: scipy)", lambda r: table(audit_speed.kendall(), r)),
        "sparse": (
            "Sparse projections (peer: entmax)",
            lambda repeats: table(audit_speed.sparse_projections(), repeats),
        ),
        "growth": ("How the cost grows", growth),
        "gpu": ("On a GPU", on_gpu),
        "gpu-growth": ("How the cost grows on a GPU", gpu_speed.growth),
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=parts, action="append", help="one part; repeatable")
    parser.add_argument("--page", type=Path, help="also write the page here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    page = [f"# Speed\n\n{machine.describe()}. CPU time on one thread, medians of "
            f"{options.repeats} turns.\n"]  # fmt: skip
    print(page[0])
    for name, (title, lines) in parts.items():
        if options.only and name not in options.only:
            continue
        page.append(f"\n## {title}\n\n")
        print(f"\n## {title}\n")
        with torch.no_grad():
            for line in lines(options.repeats):
                page.append(f"{line}\n")
                print(line, flush=True)
    if options.page is not None:
        options.page.write_text("".join(page))


def _counterfactuals() -> Iterator[Row]:
    yield from audit_speed.permutations()
    yield from audit_speed.adversary(steps=20)


if __name__ == "__main__":
    main()
