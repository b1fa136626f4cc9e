"""Do word-level objectives keep words in states, and is attention then harder to replace?

    python benchmarks/word_objectives.py FOLDER [--corpus sst2] [--seeds 1 2 3] [--cores N]

Tutek & Šnajder 2020, directions only: MI(mlm) > MI(standard), and TVD at equal JSD higher for mlm.
BiLSTM of 150 per direction on 300-d embeddings from scratch (--size), no dropout, five epochs, the
best on dev. Adversaries carry the penalty of their base ("mlm, plain adversary": they do not).
Everything is a job in FOLDER, so a second call goes on. Prints Markdown.
"""

import argparse
import json
from pathlib import Path

import machine
import numpy as np
from twin_work import audit_run, training

from heedful.auditing.frontier import tvd_terms
from heedful.auditing.questions import AuditSettings
from heedful.auditing.record import Audit
from heedful.auditing.summary import BootstrapSettings, estimate
from heedful.auditing.twins import adversary
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job
from heedful.jobs.progress import JobLines
from heedful.jobs.run import run_jobs
from heedful.training.settings import Settings

KINDS = ("standard", "mlm", "mlm, plain adversary", "tying")
EPOCHS = AuditSettings().adversary_epochs


def jobs(chosen: argparse.Namespace, folder: Path) -> list[Job]:
    """Runs, their adversaries, and an audit of each."""
    corpus, seeds, device, kinds = chosen.corpus, chosen.seeds, chosen.device, chosen.kinds
    found = []
    for recipe in dict.fromkeys(kind.partition(",")[0] for kind in kinds):
        for seed in seeds:
            run = f"{recipe}-{seed}"
            settings = Settings().with_(
                encoder=f"bilstm:hidden_size={chosen.size}", embedding_size=2 * chosen.size,
                dropout=0.0, seed=seed, split="spaces", recipe=_spec(recipe, chosen),
            )  # fmt: skip
            found.append(training(run, corpus, settings, device))
            for kind in (k for k in kinds if k.partition(",")[0] == recipe):
                twins = {}
                for weight in chosen.weights:
                    twin = adversary(weight, EPOCHS, settings)
                    options = dict(twin.changes["recipe"]) | {"base": str(folder / run)}
                    if "plain" in kind:
                        options.pop("regulariser")
                    name = f"{kind.replace(', ', '-').replace(' ', '-')}-{seed}-against-{weight:g}"
                    changed = settings.with_(recipe=options)
                    found.append(training(name, corpus, changed, device, [run]))
                    twins[twin.name] = str(folder / name)
                found.append(_audit(kind, seed, corpus, folder / run, folder, twins))
    return found


def _spec(recipe: str, chosen: argparse.Namespace) -> str:
    """The recipe with its weight."""
    weights = {
        "mlm": f":mlm_weight={chosen.mlm_weight}",
        "tying": f":tie_weight={chosen.tie_weight}",
    }
    return f"{recipe}{weights.get(recipe, '')}:epochs=5"


def _audit(
    kind: str, seed: int, corpus: str, run: Path, folder: Path, twins: dict[str, str]
) -> Job:
    asked = ["exclusive"] if "plain" in kind else ["grounded", "exclusive"]
    weights = tuple(float(name.removeprefix("adversary-")) for name in twins)
    arguments = {
        "run": str(run), "corpus": corpus, "asked": asked, "twins": twins,
        "changes": {"adversary_weights": weights},
    }  # fmt: skip
    after = (run.name, *(Path(path).name for path in twins.values()))
    return Job(_name(kind, seed), audit_run, arguments, after)


def _name(kind: str, seed: int) -> str:
    return f"audit-{kind.replace(', ', '-').replace(' ', '-')}-{seed}"


def main() -> None:
    """Print a row per kind, means over seeds with intervals, then differences from standard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", default="sst2")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cores", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument(
        "--weights", type=float, nargs="+", default=AuditSettings().adversary_weights
    )
    parser.add_argument("--mlm-weight", type=float, default=1.0)
    parser.add_argument("--tie-weight", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=150, help="of a direction; words get double")
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    with JobLines() as watcher:
        run_jobs(
            jobs(chosen, folder),
            folder,
            Budget(cores=chosen.cores),
            watcher,
        )
    audits = {
        (kind, seed): Audit.load(folder / _name(kind, seed) / "audit")
        for kind in chosen.kinds
        for seed in chosen.seeds
        if (folder / _name(kind, seed) / "audit").is_dir()
    }
    print(machine.describe())
    print(
        f"\ncorpus {chosen.corpus}, seeds {chosen.seeds}, size {chosen.size}; adversary weights "
        f"{chosen.weights}, mlm_weight {chosen.mlm_weight}, tie_weight {chosen.tie_weight}\n"
    )
    rng, settings = np.random.default_rng(0), BootstrapSettings()
    print("| training | accuracy | I(word; state) / H(word) | own influence | TVD at JSD 0.4 |")
    print("|---|---|---|---|---|")
    terms = {}
    for kind in chosen.kinds:
        columns = {"accuracy": [], "information": [], "own": [], "tvd": []}  # type: ignore[var-annotated]
        for seed in chosen.seeds:
            found = audits.get((kind, seed))
            if found is None:
                continue
            columns["accuracy"].append(100 * found.about["accuracy"])
            for test in next((a.tests for a in found.answers if a.question == "grounded"), ()):
                key = "own" if test.name == "own influence" else "information"
                columns[key].append(test.score.value)
            jsd, tvd = (
                np.stack([found.columns[f"adversary_{part}_{w:g}"] for w in chosen.weights])
                for part in ("jsd", "tvd")
            )
            at = tvd_terms(jsd, tvd, 0.4)
            if at is not None:
                terms[kind, seed] = at
                columns["tvd"].append(float(np.nanmean(at)))
        cells = [_cell(columns[key]) for key in columns]
        print(f"| {kind} | {' | '.join(cells)} |")
    print("\nTVD at JSD 0.4 minus standard's, paired over documents, per seed:\n")
    for kind in chosen.kinds:
        for seed in chosen.seeds:
            if kind != "standard" and {(kind, seed), ("standard", seed)} <= terms.keys():
                gain = estimate(terms[kind, seed] - terms["standard", seed], rng, settings)
                low, high = gain.interval
                print(f"- {kind}, seed {seed}: {gain.mean:+.4f} [{low:+.4f}, {high:+.4f}]")
    points = {f"{kind} {seed}": list(found.evidence.get("frontier", ())) for (kind, seed), found in audits.items()}  # fmt: skip  # noqa: E501
    (folder / "frontiers.json").write_text(json.dumps(points, indent=1))


def _cell(values: list[float]) -> str:
    if not values:
        return "–"
    return f"{np.mean(values):.3f} ({', '.join(f'{value:.3f}' for value in values)})"


if __name__ == "__main__":
    main()
