"""VAT beside attention alone: accuracy, AOPC and post-hoc accuracy at k = 5 (Zhou et al. 2021).

    python benchmarks/vat_table.py FOLDER [--corpora subj sst2 trec] [--seeds 1 2 3] [--cores N]

BiLSTM of 150 per direction, additive attention, $HEEDFUL_VECTORS (GloVe 100-d) fine-tuned, dropout
0.2, batch 64. Words are deleted or kept by attention, and judged by a classifier without attention
(mean pooling) trained apart, as in the paper, and by the model itself. Everything is a job in
FOLDER, so a second call goes on. Prints Markdown.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import machine
import numpy as np
from twin_work import audit_run, training

from heedful.auditing.record import Audit
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job
from heedful.jobs.progress import JobLines
from heedful.jobs.run import run_jobs
from heedful.runs import METRICS, RunFolder
from heedful.training.settings import Settings

RECIPES = {"attention": "standard:epochs=10", "VAT": "vat"}
JUDGES = ("no-attention model", "itself")
AT = 5


def settings_of(recipe: str, seed: int) -> Settings:
    """As Zhou et al. say, and where they are silent as VMASK's code does."""
    return Settings().with_(
        encoder="bilstm:hidden_size=150", alignment="additive:width=150", dropout=0.2,
        vectors=os.environ["HEEDFUL_VECTORS"], recipe=recipe, seed=seed, split="spaces",
        batch_size=64, gradient_clip=1.0, optimizer="adam:learning_rate=0.001", min_documents=1,
    )  # fmt: skip


def jobs(corpora: list[str], seeds: list[int], folder: Path, device: str) -> list[Job]:
    """Judges, models, and two audits of each model."""
    found = []
    for corpus in corpora:
        for seed in seeds:
            judge = f"{corpus}-judge-{seed}"
            plain = settings_of("standard:epochs=10", seed + 100).with_(pooling="mean")
            found.append(training(judge, corpus, plain, device))
            for name, recipe in RECIPES.items():
                run = f"{corpus}-{name}-{seed}"
                found.append(training(run, corpus, settings_of(recipe, seed), device))
                for number, by in enumerate((str(folder / judge), None)):
                    arguments = {
                        "run": str(folder / run), "corpus": corpus, "asked": ["telling"],
                        "judge": by, "changes": {"sampled_documents": 50},
                    }  # fmt: skip
                    found.append(Job(f"audit-{run}-{number}", audit_run, arguments, (run, judge)))
    return found


def main() -> None:
    """Print a row per corpus, model and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpora", nargs="+", default=["subj", "sst2", "trec"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cores", type=int)
    parser.add_argument("--device", default="cpu")
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    with JobLines() as watcher:
        run_jobs(
            jobs(chosen.corpora, chosen.seeds, folder, chosen.device),
            folder,
            Budget(cores=chosen.cores),
            watcher,
        )
    print(machine.describe())
    print(f"\nseeds {chosen.seeds}: mean (each seed); k = {AT}\n")
    print(
        "| corpus | model | accuracy | other head | judged by | accuracy drop (AOPC) | probability "
        "drop | post-hoc accuracy, gold | post-hoc, own |\n|---|---|---|---|---|---|---|---|---|"
    )
    for corpus in chosen.corpora:
        for name in RECIPES:
            runs = [_on_test(folder / f"{corpus}-{name}-{seed}") for seed in chosen.seeds]
            accuracy = _cell([run["accuracy"] for run in runs])
            learner = [run.get("learner") for run in runs]
            other = _cell([head["accuracy"] for head in learner if head]) if all(learner) else "–"
            for number, judge in enumerate(JUDGES):
                rows = [
                    _at_k(Audit.load(folder / f"audit-{corpus}-{name}-{seed}-{number}" / "audit"))
                    for seed in chosen.seeds
                ]
                keys = ("accuracy_drop", "probability_drop", "kept_gold", "kept_own")
                cells = " | ".join(_cell([row[key] for row in rows]) for key in keys)
                print(f"| {corpus} | {name} | {accuracy} | {other} | {judge} | {cells} |")
        judges = [_on_test(folder / f"{corpus}-judge-{seed}") for seed in chosen.seeds]
        accuracy = _cell([judge["accuracy"] for judge in judges])
        print(f"| {corpus} | judge (mean pooling) | {accuracy} | | | | | | |")


def _on_test(run: Path) -> dict[str, Any]:
    """The scores of a run on its test documents."""
    return dict(RunFolder(run).read_json(METRICS)["test"])


def _at_k(audit: Audit) -> dict[str, float]:
    """What deleting, or keeping, the top k words of attention does."""
    rows = audit.evidence["curves"]
    return next(dict(row) for row in rows if row["measure"] == "attention" and row["k"] == AT)


def _cell(values: list[float]) -> str:
    each = ", ".join(f"{100 * value:.1f}" for value in values)
    return f"{100 * np.mean(values):.1f} ({each})"


if __name__ == "__main__":
    main()
