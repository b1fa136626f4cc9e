"""Train the zoo, audit it, count: which tests can be relied on, and where they cut."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from heedful.auditing.audit_tests import DOSES
from heedful.auditing.operating_points import OperatingPoints
from heedful.auditing.results import Audit
from heedful.auditing.verdict import Verdict
from heedful.calibration.exact_jobs import TRUTH, exact_job, transformer_job
from heedful.calibration.ground_truth import (
    Known,
    Looked,
    evidence_by_run,
    known_of,
    look,
    look_exact,
)
from heedful.calibration.operating_point_fit import (
    Judged,
    judge_elsewhere,
    rate_tests,
    repeated_points,
)
from heedful.calibration.planted_transformers import why_no_base
from heedful.calibration.record import Calibration
from heedful.calibration.roc import share
from heedful.calibration.zoo import EVIDENCE, ExactMember, Member, Zoo, read_zoo, truth_by_doses
from heedful.config import at_least
from heedful.errors import RunError
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from heedful.runs import RunFolder, folder_name
from heedful.sweeps.cells import Cell, Source
from heedful.sweeps.grid import Data
from heedful.sweeps.steps import AnalysisStep, AuditStep, read_audit
from heedful.sweeps.sweep import checked_device, engine_for, sweep_cells
from heedful.training.settings import Settings
from heedful.training.trained import environment

BEHIND = "honest"  # the trained kind that pictures of known truth are shown beside
RATED: tuple[tuple[str, Verdict, str], ...] = (
    ("fully", "may", "liars_passed"),
    ("fully", "may-not", "liars_refused"),
    ("partly", "may", "partial_liars_passed"),
    ("partly", "may-not", "partial_liars_refused"),
    ("no", "may-not", "honest_refused"),
    ("no", "may", "honest_passed"),
)


def calibrate(
    output: str | Path,
    *,
    seeds: int = 1,
    is_quick: bool = False,
    on: str = "local",
    cores: int | None = None,
    device: str = "cpu",
    zoo: Zoo | None = None,
    watcher: JobWatcher | None = None,
) -> Calibration:
    """Train and audit every model of the zoo that is not done yet in `output`, and count.

    Models of the first seed are asked every question, those of further seeds the judged ones.
    `device`: where Transformers run; all other models are so small that a core is as fast. `zoo`:
    another than the one that comes with the package.
    """
    at_least(1, **{"--seeds": seeds})
    device = checked_device(on, None, device)  # before corpora are made
    started = time.monotonic()
    zoo = zoo or read_zoo()
    found = _trained(zoo, seeds, is_quick, output, on, cores, watcher)
    exact = _exact(zoo, seeds, is_quick, found, on, cores, device, watcher)
    looked = [*found.looked, *exact.looked]
    known = [*found.known, *exact.known]
    if not known:
        raise RunError(
            f"none of {len(looked)} models met the conditions of its kind, so nothing can be "
            f"measured. The first was left out because of: {looked[0].left_out}."
        )
    tested = rate_tests(known)
    judged = judge_elsewhere(known, looked)
    made = {
        **environment(),
        "version": f"zoo {zoo.version}, {date.today():%Y-%m-%d}",
        "command": f"heedful calibrate{' --quick' if is_quick else ''} --seeds {seeds} -o DIR",
        "models": len({one.member for one in known}),
        "left_out": sum(bool(model.left_out) for model in looked),
        "seeds": seeds,
        "zoo": zoo.digest,
        "tolerated": {name: tolerated for name, (_, tolerated) in DOSES.items()},
        "is_quick": is_quick,
    }
    measured = [one.point for one in tested]
    every = (*measured, *repeated_points(measured))
    points = OperatingPoints(every, made, verdict_rates(judged))
    seconds = round(time.monotonic() - started, 1)
    return Calibration(points, tuple(tested), tuple(looked), tuple(known), tuple(judged), seconds)


@dataclass
class _Found:
    """Models that were audited, and their tests."""

    folder: Path
    looked: list[Looked] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    runs: dict[tuple[str, str, int], str] = field(default_factory=dict)  # kind, setting, seed


def _trained(
    zoo: Zoo,
    seeds: int,
    is_quick: bool,
    output: str | Path,
    on: str,
    cores: int | None,
    watcher: JobWatcher | None,
) -> _Found:
    """The trained kinds: each a cell of a sweep."""
    members = list(zoo.members(seeds, is_quick=is_quick))
    cells = cells_of_zoo(zoo, members)
    swept = sweep_cells(cells, output, on=on, cores=cores, watcher=watcher)
    evidence = evidence_by_run(swept.tables)
    rows = {row["run"]: row for row in swept.own}
    found = _Found(swept.folder)
    for member, cell in zip(members, cells, strict=True):
        model = look(member, rows[cell.name], evidence.get(cell.name))
        found.looked.append(model)
        if model.left_out:
            continue
        assert cell.audit is not None
        found.runs[member.kind.name, member.setting.name, member.seed] = cell.name
        audit = Audit.load(swept.folder / cell.name / cell.audit.folder)
        truths = member.kind.truth_in(member.setting)
        found.known.extend(known_of(model, truths, audit, {}))
    return found


def _exact(
    zoo: Zoo,
    seeds: int,
    is_quick: bool,
    trained: _Found,
    on: str,
    cores: int | None,
    device: str,
    watcher: JobWatcher | None,
) -> _Found:
    """The exact kinds: each a job in a folder beside the runs."""
    found = _Found(trained.folder)
    jobs: dict[str, Job] = {}
    of_member: list[tuple[ExactMember, str]] = []
    for member in zoo.exact_members(seeds, is_quick=is_quick):
        data, behind = member.setting.data, None
        after: tuple[str, ...] = ()
        if member.exact.architecture == "classifier":
            behind = trained.runs.get((BEHIND, member.setting.name, member.seed))
            if behind is None:
                found.looked.append(look_exact(member, {}, f"no {BEHIND} model to support it"))
                continue
        if member.exact.architecture == "transformer":
            if lacks := why_no_base(member.kind.base):
                found.looked.append(look_exact(member, {}, lacks))
                continue
            trains = transformer_job(
                data, member.kind.base, member.seed, device, needs_all=member.setting.needs_all
            )
            jobs.setdefault(trains.name, trains)
            behind, after = trains.name, (trains.name,)
        name = folder_name(f"exact-{member.name}".replace(", ", "-").replace(" ", "-"))
        place = None if behind is None else str((trained.folder / behind).absolute())
        audit = read_audit(zoo.audit_of(member.seed))
        jobs[name] = exact_job(member.exact, name, data, audit, place, after, device)
        of_member.append((member, name))
    budget = Budget(cores, None)
    engine, budget = engine_for(on, None, budget, device)
    outcomes = run_jobs(list(jobs.values()), trained.folder, budget, watcher, engine)
    for member, name in of_member:
        outcome = outcomes[name]
        if outcome.state != "done":
            reason = f"{outcome.state}: {outcome.reason}"
            found.looked.append(look_exact(member, {}, reason))
            continue
        doses = RunFolder(trained.folder / name).read_json(TRUTH)
        model = look_exact(member, doses)
        found.looked.append(model)
        result = Audit.load(trained.folder / name)
        found.known.extend(known_of(model, truth_by_doses(doses), result, doses))
    return found


def cells_of_zoo(zoo: Zoo, members: Iterable[Member]) -> list[Cell]:
    """A cell per member, in their order: trained, audited, and its evidence analysed."""
    members = list(members)
    used = dict.fromkeys(member.setting.data for member in members)
    sources = {data: Source.read(Data(data), None) for data in used}
    return [
        _cell(
            member,
            sources[member.setting.data],
            zoo.shared,
            read_audit({**zoo.audit_of(member.seed), "deep": member.is_deep}),
        )
        for member in members
    ]


def _cell(member: Member, source: Source, shared: Mapping[str, Any], audit: AuditStep) -> Cell:
    settings = Settings().with_(split=source.corpus.split, **{**shared, **member.kind.model})
    return Cell.named(
        source,
        member.kind.name,
        {"setting": member.setting.name},
        settings.with_(seed=member.seed),
        audit,
        (AnalysisStep(EVIDENCE),),
    )


def verdict_rates(judged: Sequence[Judged]) -> dict[str, Any]:
    """How the verdict did on kinds that its cuts were fitted without, by kind of model and in all.

    By architecture: models that lie fully, partly, or not at all; the share of each that passed,
    and of the honest ones that was refused, with intervals.
    """
    architectures = dict.fromkeys(one.architecture for one in judged)
    return {
        name: _rates([one for one in judged if name in ("all", one.architecture)])
        for name in ("all", *architectures)
    }


def _rates(judged: Sequence[Judged]) -> dict[str, dict[str, float | int]]:
    found = {}
    for lies, verdict, name in RATED:
        some = [one.verdict for one in judged if one.lies == lies]
        if some:
            found[name] = asdict(share(some.count(verdict), len(some)))
    return found
