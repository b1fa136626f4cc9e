"""Training on a GPU: steps a second and accuracy, against another version if one is given.

    python benchmarks/gpu_training.py [--pretrained minilm] [--data sst2] [--before FOLDER]

`--before` is a checkout of the version to compare with (`git archive COMMIT | tar -x -C FOLDER`);
the same measurement runs there first, in a process of its own. Steps are counted in the last epoch
of each phase, when everything is warm; the GPU is waited for at both ends of an epoch only. The
seconds are those of a whole training, warm-up and scores included. A training that fails is a line
with its error. Needs $HEEDFUL_DATA.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from heedful.training.fit import Watcher
from heedful.training.recipe import Phase
from heedful.training.settings import STAGE_OF, Settings
from heedful.training.task import Task, find_corpus
from heedful.training.train import train

RECIPES = {
    "standard": "standard:epochs={epochs}",
    "faithful": "faithful:first_epochs=1:epochs={epochs}",
}
ASKED = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
COUNTED = (*ASKED, "cudaMemcpyAsync", "cudaLaunchKernel", "cudaGraphLaunch")
PROFILED = 50  # steps
MARK = "rows: "


@dataclass(frozen=True)
class Row:
    """What one training came to."""

    model: str
    recipe: str
    precision: str
    seed: int
    steps_a_second: float
    seconds: float
    dev_accuracy: float
    test_accuracy: float

    @property
    def what(self) -> tuple[str, str, str]:
        """Model, recipe and precision."""
        return self.model, self.recipe, self.precision


class Clock(Watcher):
    """Counts the steps of each epoch and the seconds that they take."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.steps = self.left = 0
        self.started = 0.0

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """Start, with nothing left to do."""
        torch.cuda.synchronize()
        self.steps, self.left, self.started = 0, documents, time.perf_counter()

    def advance(self, documents: int) -> None:
        """One more step."""
        self.steps, self.left = self.steps + 1, self.left - documents
        if not self.left:
            torch.cuda.synchronize()
            self.rates.append(self.steps / (time.perf_counter() - self.started))


class Profiled(Watcher):
    """Profiles some steps of the last epoch."""

    def __init__(self, epochs: int) -> None:
        self.last, self.steps, self.is_last = epochs - 1, 0, False
        self.profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        self.wall = 0.0

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """Count from 0."""
        self.steps, self.is_last = 0, epoch == self.last

    def advance(self, documents: int) -> None:
        """Begin behind some steps, end after more."""
        self.steps += 1
        if self.is_last and self.steps == PROFILED:
            torch.cuda.synchronize()
            self.profile.start()
        if self.is_last and self.steps == 2 * PROFILED:
            torch.cuda.synchronize()
            self.profile.stop()

    def lines(self) -> Iterator[str]:
        """What the GPU did most, and how often it was asked or told something, for each step."""
        events = self.profile.key_averages()
        own = [(getattr(e, "self_device_time_total", 0.0), e) for e in events]
        busy = sum(spent for spent, _ in own)
        yield f"MiniLM, standard: {busy / PROFILED / 1e3:.2f} ms of the GPU's time for each step"
        for spent, event in sorted(own, key=lambda one: -one[0])[:12]:
            name = event.key.replace("\n", " ")[:90]
            yield f"  {spent / PROFILED:8.0f} µs {event.count / PROFILED:7.1f} ×  {name}"
        counts = {event.key: event.count for event in events}
        for name in COUNTED:
            yield f"  {counts.get(name, 0) / PROFILED:11.2f} × {name} for each step"


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Every model with every recipe, in the precisions that this version has."""
    corpus = find_corpus(options.data)
    task = Task.from_corpus(corpus, {})
    for model, encoder in encoders(options).items():
        for recipe in options.recipes.split(","):
            for precision in ("fp32", "auto") if "precision" in STAGE_OF else ("",):
                if precision == "fp32" and model != "MiniLM":
                    continue  # the others are in fp32 whatever is said
                for seed in range(1, options.seeds + 1 if recipe == "standard" else 2):
                    changes: dict[str, Any] = {"precision": precision} if precision else {}
                    settings = Settings().with_(
                        encoder=encoder, seed=seed, patience=None, **changes,
                        recipe=RECIPES[recipe].format(epochs=options.epochs),
                    )  # fmt: skip
                    clock, started = Clock(), time.perf_counter()
                    try:
                        trained = train(task, settings, device="cuda", watcher=clock)
                    except Exception as failure:  # noqa: BLE001  (the others shall still run)
                        what = f"{model:12} {recipe:9} {precision or 'as it was':9} seed {seed}"
                        print(f"  {what}: {named(failure)}", flush=True)
                        continue
                    seconds = time.perf_counter() - started
                    scores = [trained.metrics[part]["accuracy"] for part in ("dev", "test")]
                    row = Row(model, recipe, precision, seed, clock.rates[-1], seconds, *scores)
                    print(line(row), flush=True)
                    yield row


def named(failure: Exception) -> str:
    """An error as one line."""
    return f"{type(failure).__name__}: {' '.join(str(failure).split())[:400]}"


def encoders(options: argparse.Namespace) -> dict[str, str]:
    """The models, by name."""
    pretrained = f"pretrained:source={options.pretrained}"
    return {"MiniLM": pretrained, "BiLSTM(128)": "bilstm:hidden_size=128"}


def line(row: Row) -> str:
    """One training."""
    return (
        f"  {row.model:12} {row.recipe:9} {row.precision or 'as it was':9} seed {row.seed}: "
        f"{row.steps_a_second:6.1f} steps a second, {row.seconds:5.1f} s in all, accuracy "
        f"{row.dev_accuracy:.4f} dev {row.test_accuracy:.4f} test"
    )


def profiled(options: argparse.Namespace) -> None:
    """Print the profile of a training of MiniLM."""
    settings = Settings().with_(
        encoder=encoders(options)["MiniLM"], patience=None, recipe="standard:epochs=2"
    )
    watcher, task = Profiled(epochs=2), Task.from_corpus(find_corpus(options.data), {})
    try:
        train(task, settings, device="cuda", watcher=watcher)
        print("\n".join(watcher.lines()), flush=True)
    except Exception as failure:  # noqa: BLE001
        print(f"no profile: {named(failure)}", flush=True)


def compare(before: list[Row], after: list[Row]) -> None:
    """Print how many times faster each is, and what that does to accuracy."""
    print("\n| model | recipe | precision | steps/s | before | times | test accuracy | before |")
    print("|---|---|---|---|---|---|---|---|")
    for what in dict.fromkeys(row.what for row in after):
        ours = [row for row in after if row.what == what]
        theirs = [row for row in before if row.what[:2] == what[:2]]
        if not theirs:
            continue  # it failed there
        rates = [mean(row.steps_a_second for row in rows) for rows in (ours, theirs)]
        scores = [mean(row.test_accuracy for row in rows) for rows in (ours, theirs)]
        print(
            f"| {' | '.join(what)} | {rates[0]:.0f} | {rates[1]:.0f} | {rates[0] / rates[1]:.2f} "
            f"| {scores[0]:.4f} | {scores[1]:.4f} |"
        )


def of_version(folder: Path, options: argparse.Namespace) -> list[Row]:
    """The same measurement with the package of another checkout."""
    command = [sys.executable, __file__, "--pretrained", options.pretrained, "--data", options.data]
    command += ["--epochs", str(options.epochs), "--seeds", str(options.seeds)]
    command += ["--recipes", options.recipes]
    paths = [str(folder.resolve() / "src"), str(Path(__file__).parent.resolve())]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    rows: list[Row] = []
    with subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for said in process.stdout:
            if said.startswith(MARK):
                rows = [Row(**row) for row in json.loads(said.removeprefix(MARK))]
            else:
                print(said, end="", flush=True)
    if process.returncode:
        raise SystemExit(f"the version in {folder} ended with code {process.returncode}.")
    return rows


def main() -> None:
    """Print the trainings, the profile and the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pretrained", default="minilm")
    parser.add_argument("--data", default="sst2")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--recipes", default=",".join(RECIPES), help="by commas")
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device.")
    before = of_version(options.before, options) if options.before else []
    import heedful

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {heedful.__file__}")
    rows = list(measure(options))
    profiled(options)
    if options.before:
        compare(before, rows)
    else:
        print(MARK + json.dumps([asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
