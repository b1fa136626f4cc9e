"""Every benchmark of speed as one page: ours, the peer, the ratio.

    python -m benchmarks [--repeats 5] [--only growth] [--page speed.md]

CPU rows are CPU seconds on one thread; where there is a GPU, its rows follow, with its name. Ours
and the others take turns, and every result is compared with the plain one before it is timed.
What needs corpora or hours has a script of its own: see docs/measured.md.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))  # each benchmark is also a script

import audit_speed
import gpu_projections
import machine
import numpy as np
import torch
from audit_speed import Row, Work, a_corpus, a_model

from heedful.importance.deletion import logits_without_each
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


def growth(repeats: int) -> Lines:
    """How the cost of leave-one-out grows: the exponent of a power law through three sizes."""
    yield "| what | grows with | exponent | milliseconds |"
    yield "|---|---|---|---|"
    for encoder in ("bilstm", "mlp"):
        model = a_model(encoder)
        for axis, shapes in (
            ("words", [(4, 40), (4, 80), (4, 160)]),
            ("documents", [(4, 60), (8, 60), (16, 60)]),
        ):
            sizes, spent = [], []
            for documents, words in shapes:
                batch = a_corpus(np.full(documents, words)).whole()
                sizes.append(words if axis == "words" else documents)
                times = []
                for _ in range(repeats):
                    started = time.process_time()
                    logits_without_each(model, batch)
                    times.append(time.process_time() - started)
                spent.append(median(times))
            exponent = np.polyfit(np.log(sizes), np.log(spent), 1)[0]
            each = ", ".join(f"{1e3 * seconds:.1f}" for seconds in spent)
            yield f"| leave-one-out, {encoder} | {axis} | {exponent:.1f} | {each} |"


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
