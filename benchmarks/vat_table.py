"""VAT beside attention alone: accuracy, AOPC and post-hoc accuracy at k = 5 (Zhou et al. 2021).

    python benchmarks/vat_table.py FOLDER [--corpora subj sst2 trec] [--seeds 1 2 3] [--cores N]

LSTM of 100 (VMASK's), additive attention, $HEEDFUL_VECTORS (GloVe 100-d) fine-tuned, dropout 0.2,
batch 64. The top words of attention, or random ones, are deleted or kept on all test documents and
judged by a classifier without attention (mean pooling) trained apart, as in the paper, and by the
model itself. Everything is a job in FOLDER, so a second call goes on. Prints Markdown; intervals
are over documents, each seed's numbers averaged first.
"""

import argparse
import os
from pathlib import Path

import machine
import numpy as np
from twin_work import MEASURED, at_k, training

from heedful.auditing.summary import BootstrapSettings, estimate
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job
from heedful.jobs.progress import JobLines
from heedful.jobs.run import run_jobs
from heedful.training.settings import Settings

RECIPES = {"attention": "standard:epochs=10", "VAT": "vat"}
JUDGES = ("no-attention model", "itself")
COLUMNS = {
    "accuracy_drop": "accuracy drop (AOPC)",
    "probability_drop": "probability drop",
    "kept_gold": "post-hoc accuracy, gold",
    "kept_own": "post-hoc accuracy, own",
}
K = 5


def settings_of(recipe: str, seed: int) -> Settings:
    """As Zhou et al. say, and where they are silent as VMASK's code does."""
    return Settings().with_(
        encoder="lstm:hidden_size=100", alignment="additive:width=150", dropout=0.2,
        vectors=os.environ["HEEDFUL_VECTORS"], recipe=recipe, seed=seed, split="spaces",
        batch_size=64, gradient_clip=1.0, optimizer="adam:learning_rate=0.001", min_documents=1,
    )  # fmt: skip


def jobs(chosen: argparse.Namespace, folder: Path) -> list[Job]:
    """Judges, models, and what each judge says of each model's words."""
    found = []
    for corpus in chosen.corpora:
        for seed in chosen.seeds:
            judge = f"{corpus}-judge-{seed}"
            plain = settings_of("standard:epochs=10", seed + 100).with_(pooling="mean")
            found.append(training(judge, corpus, plain, chosen.device))
            for name, recipe in RECIPES.items():
                run = f"{corpus}-{name}-{seed}"
                found.append(training(run, corpus, settings_of(recipe, seed), chosen.device))
                for number, by in enumerate((str(folder / judge), None)):
                    arguments = {"run": str(folder / run), "corpus": corpus, "judge": by, "k": K}
                    found.append(Job(f"{run}-by-{number}", at_k, arguments, (run, judge)))
    return found


def main() -> None:
    """Print a row per corpus, model and judge, then VAT minus attention."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpora", nargs="+", default=["subj", "sst2", "trec"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cores", type=int)
    parser.add_argument("--device", default="cpu")
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    with JobLines() as watcher:
        run_jobs(jobs(chosen, folder), folder, Budget(cores=chosen.cores), watcher)
    print(machine.describe())
    print(f"\nseeds {chosen.seeds}, k = {K}, percent [95% interval]\n")
    _head("corpus", "words chosen by", "test accuracy", "judged by")
    gains, heads = [], []
    for corpus in chosen.corpora:
        for number, judge in enumerate(JUDGES):
            tables = {
                name: _over_seeds(folder, corpus, name, number, chosen.seeds) for name in RECIPES
            }
            for name, table in tables.items():
                for who, kind in ((name, "top"), (f"random, of {name}", "random")):
                    accuracy = _cell(table["right"]) if kind == "top" else ""
                    cells = [_cell(table[f"{kind}_{column}"]) for column in COLUMNS]
                    _row(corpus, who, accuracy, judge, *cells)
            keys = ("right", *(f"top_{column}" for column in COLUMNS))
            both = [_cell(tables["VAT"][key] - tables["attention"][key]) for key in keys]
            gains.append((corpus, judge, *both))
        heads.append((corpus, _cell(tables["VAT"]["learner"]), _cell(tables["VAT"]["right"])))
    print("\nVAT minus attention:\n")
    _head("corpus", "judged by", "test accuracy")
    for gain in gains:
        _row(*gain)
    print("\nVAT's two heads:\n\n| corpus | learner | compressor |\n|---|---|---|")
    for head in heads:
        _row(*head)


def _head(*names: str) -> None:
    _row(*names, *COLUMNS.values())
    print("|---" * (len(names) + len(COLUMNS)) + "|")


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def _over_seeds(
    folder: Path, corpus: str, name: str, number: int, seeds: list[int]
) -> dict[str, np.ndarray]:
    """Per document, the mean over seeds of everything measured."""
    found = [
        dict(np.load(folder / f"{corpus}-{name}-{seed}-by-{number}" / MEASURED)) for seed in seeds
    ]
    return {key: np.mean([one[key] for one in found], axis=0) for key in found[0]}


def _cell(values: np.ndarray) -> str:
    mean = estimate(values, np.random.default_rng(0), BootstrapSettings())
    low, high = mean.interval
    return f"{100 * mean.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    main()
