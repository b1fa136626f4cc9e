"""Folders that heedful wrote, with other bytes or types in them, sealed again where they are."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from heedful import runs
from heedful.auditing.results import Audit
from heedful.calibration.record import RECORD, Calibration
from heedful.cli import show
from heedful.errors import HeedfulError
from heedful.jobs.progress import JobWatcher
from heedful.model.hub import quieten
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.sweeps.sweep import sweep
from heedful.training.trained import Trained
from tools.harden.bench import ASK, AUDIT, DATA, MODEL, RUN, Bench, Found, commands
from tools.harden.files import chance, mutated_lines
from tools.harden.in_process import defect, line_defect
from tools.harden.mutations import mutated_bytes
from tools.harden.processes import Moments, call, die
from tools.harden.workers import work_here

TEXT = "w1 w2 w3"


def mutations(
    bench: Bench,
    rng: np.random.Generator,
    file: Path,
    full: int,
    use: Callable[[], str],
    then: Callable[[], object] = lambda: None,
) -> Iterator[str]:
    """What comes of using a file in many mutations; `then` follows each, such as a new seal."""
    data, is_json = file.read_bytes(), file.suffix in (".json", ".jsonl")
    for number in range(bench.times(full)):
        file.write_bytes((mutated_lines if is_json and number % 2 else mutated_bytes)(data, rng))
        then()
        yield use()
    file.write_bytes(data)


def _use_run(path: Path) -> str:
    def use() -> None:
        trained = Trained.load(path)
        if trained.original is None:
            show.score_line(trained)
        trained.describe()
        trained.probabilities([TEXT])

    return defect(use)


def mutated_runs(bench: Bench) -> Iterator[Found]:
    """Every file of a run, and of a healed run with the model that decides in it."""
    rng = chance(bench)
    for source, times in ((RUN, 200), ("whole-heal", 60)):
        folder = RunFolder(shutil.copytree(source, f"mutated-{source}"))
        provenance = folder.read_json(runs.PROVENANCE)
        sealed = list(provenance["sha256"])
        seal = partial(folder.write_sealed, runs.PROVENANCE, provenance, sealed)
        found = Found(f"files of a {'healed ' if times == 60 else ''}run, sealed again")
        for name in sealed:
            use = partial(_use_run, folder.path)
            for one in mutations(bench, rng, folder.path / name, times, use, seal):
                found.count(one and f"{name}: {one}")
        seal()
        for one in mutations(bench, rng, folder.path / runs.PROVENANCE, times, use):
            found.count(one and f"{runs.PROVENANCE}: {one}")
        yield found


def mutated_audits(bench: Bench) -> Iterator[Found]:
    """Audits, and audits of a Hugging Face model's readings."""
    rng, found = chance(bench), Found("files of an audit, sealed again")
    folder = RunFolder(shutil.copytree(AUDIT, "mutated-audit"))
    stored = folder.read_json(runs.AUDIT)

    def use() -> str:
        return defect(lambda: list(show.audited(Audit.load(folder.path))))

    def seal() -> None:
        try:
            record = folder.read_json(runs.AUDIT)
        except HeedfulError:
            return  # it is no JSON any more
        folder.write_sealed(runs.AUDIT, record, list(stored["sha256"]))

    for name, times in ((runs.AUDIT, 800), (runs.PER_EXAMPLE, 300)):
        for one in mutations(bench, rng, folder.path / name, times, use, seal):
            found.count(one and f"{name}: {one}")
        folder.write_json(runs.AUDIT, stored)
    yield found
    found = Found("files of an audit of readings, used by predict --audit")
    made = ("audit", f"hf:{MODEL}", DATA, "-o", "readings", "--readout", "last-cls", *ASK)
    ended = call(*made)
    assert ended.code == 0, ended.said
    words = ("predict", f"hf:{MODEL}", TEXT, "--json", "--audit", "readings")
    for path in list(Path("readings").rglob("*.json")):
        for one in mutations(bench, rng, path, 30, partial(line_defect, words)):
            found.count(one and f"{path}: {one}")
    yield found


def mutated_sweeps(bench: Bench) -> Iterator[Found]:
    """What a sweep and a calibration have written, when they are called again."""
    rng, found = chance(bench), Found("files of a sweep that is called again")
    work_here()
    folder = Path(shutil.copytree("whole-sweep", "mutated-sweep"))
    cell = next(path.parent for path in sorted(folder.glob(f"*/{runs.CELL}")))
    stranger = Path(shutil.copytree(cell, folder / "of-another-grid"))
    names = [*cell.rglob("*.json"), *cell.rglob("*.jsonl"), stranger / runs.CELL]
    use = partial(sweep, "grid.toml", folder, cores=1, watcher=JobWatcher())
    for path in names:
        for one in mutations(bench, rng, path, 15, lambda: defect(use)):
            found.count(one and f"{path}: {one}")
        shutil.rmtree(folder)  # what was mutated may have been done again
        shutil.copytree("whole-sweep", folder)
        shutil.copytree(cell, stranger)
    yield found
    found = Found("calibration.json with other bytes or types")
    folder = Path(shutil.copytree("whole-calibrate", "mutated-calibration"))
    for one in mutations(
        bench, rng, folder / RECORD, 300, lambda: defect(lambda: Calibration.load(folder))
    ):
        found.count(one)
    yield found


def mutated_models(bench: Bench) -> Iterator[Found]:
    """The folder of a Hugging Face model."""
    rng, found = chance(bench), Found("files of a Hugging Face model")
    quieten()
    folder = Path(shutil.copytree(MODEL, "mutated-model"))

    def use() -> str:
        return defect(lambda: SequenceClassifier.load(str(folder)).probabilities([TEXT]))

    for path in sorted(folder.iterdir()):
        for one in mutations(bench, rng, path, 100, use):
            found.count(one and f"{path.name}: {one}")
    yield found


def mutated_checkpoints(bench: Bench) -> Iterator[Found]:
    """What an interrupted training or audit left, when it is resumed."""
    rng = chance(bench)
    for name, number, full in (("train", 12, 25), ("audit", 9, 3)):
        command, found = commands()[name], Found(f"{name} --resume from files with other bytes")
        command.call("begun", Moments(number, die).before)
        words = (*command.words("out"), *command.resumes_with)
        for path in [one for one in Path("begun").rglob("*") if one.is_file()]:
            inside = path.relative_to("begun")
            for _ in range(bench.times(full)):
                shutil.copytree("begun", "out")
                data = path.read_bytes()
                is_json = path.suffix in (".json", ".jsonl") and rng.random() < 0.5
                (Path("out") / inside).write_bytes(
                    mutated_lines(data, rng) if is_json else mutated_bytes(data, rng)
                )
                found.count(line_defect(tuple(map(str, words)), (0, 2)))
                shutil.rmtree("out", ignore_errors=True)
        yield found
        shutil.rmtree("begun")
