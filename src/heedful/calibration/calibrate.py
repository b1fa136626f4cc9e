"""Train the zoo, audit it, count: which tests can be relied on, and where they cut."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from heedful.auditing.operating_points import OperatingPoints
from heedful.auditing.results import Audit
from heedful.calibration.ground_truth import Known, Looked, evidence_by_run, known_of, look
from heedful.calibration.operating_point_fit import (
    FEWEST,
    QUICK_FEWEST,
    USEFUL,
    Judged,
    judge_elsewhere,
    rate_tests,
)
from heedful.calibration.record import Calibration
from heedful.calibration.roc import FALSE_ALARMS, share
from heedful.calibration.zoo import EVIDENCE, Member, Zoo, read_zoo
from heedful.config import at_least
from heedful.errors import RunError
from heedful.jobs.progress import JobWatcher
from heedful.sweeps.cells import Cell, Source
from heedful.sweeps.grid import Data
from heedful.sweeps.steps import AnalysisStep, AuditStep, read_audit
from heedful.sweeps.sweep import checked_device, sweep_cells
from heedful.training.settings import Settings
from heedful.training.trained import environment


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

    `zoo`: another than the one that comes with the package.
    """
    at_least(1, **{"--seeds": seeds})
    device = checked_device(on, None, device)  # before corpora are made
    started = time.monotonic()
    zoo = zoo or read_zoo()
    members = list(zoo.members(seeds, is_quick=is_quick))
    cells = cells_of_zoo(zoo, members)
    swept = sweep_cells(cells, output, on=on, cores=cores, device=device, watcher=watcher)
    evidence = evidence_by_run(swept.tables)
    rows = {row["run"]: row for row in swept.own}
    looked: list[Looked] = []
    known: list[Known] = []
    for member, cell in zip(members, cells, strict=True):
        model = look(member, rows[cell.name], evidence.get(cell.name))
        looked.append(model)
        if not model.left_out:
            assert cell.audit is not None
            audit = Audit.load(swept.folder / cell.name / cell.audit.folder)
            known.extend(known_of(member, audit))
    if not known:
        raise RunError(
            f"none of {len(looked)} models is what its kind should be, so there is nothing to "
            f"count. The first was left out because of: {looked[0].left_out}."
        )
    fewest = QUICK_FEWEST if is_quick else FEWEST
    tested = rate_tests(known, fewest)
    judged = judge_elsewhere(known, looked, fewest)
    made = {
        **environment(),
        "version": f"zoo {zoo.version}, {date.today():%Y-%m-%d}",
        "command": f"heedful calibrate{' --quick' if is_quick else ''} --seeds {seeds} -o DIR",
        "models": len({one.member for one in known}),
        "left_out": sum(bool(model.left_out) for model in looked),
        "seeds": seeds,
        "zoo": zoo.digest,
        "most_false_alarms": FALSE_ALARMS,
        "least_power": USEFUL,
        "fewest_models": fewest,
        "is_quick": is_quick,
    }
    points = OperatingPoints(tuple(one.point for one in tested), made, verdict_rates(judged))
    seconds = round(time.monotonic() - started, 1)
    return Calibration(points, tuple(tested), tuple(looked), tuple(known), tuple(judged), seconds)


def cells_of_zoo(zoo: Zoo, members: Iterable[Member]) -> list[Cell]:
    """A cell per member, in their order: trained, audited, and its evidence analysed."""
    members = list(members)
    used = dict.fromkeys(member.setting.data for member in members)
    sources = {data: Source.read(Data(data), None) for data in used}
    plain, deep = (read_audit({**zoo.audit, "deep": is_deep}) for is_deep in (False, True))
    return [
        _cell(member, sources[member.setting.data], zoo.shared, deep if member.is_deep else plain)
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


def verdict_rates(judged: Sequence[Judged]) -> dict[str, int | float]:
    """How the verdict did on settings that its cuts were not fitted on.

    Only those honest models can pass of which both questions can be asked: that were not chosen by
    what their tests measure.
    """
    liars = [one.verdict for one in judged if not one.explains]
    honest = [one.verdict for one in judged if one.explains]
    may_pass = [
        one.verdict
        for one in judged
        if one.explains and "reported" not in (one.decisive, one.telling)
    ]
    counts = {
        "liars_caught": (liars.count("may-not"), len(liars)),
        "liars_not_passed": (len(liars) - liars.count("may"), len(liars)),
        "honest_refused": (honest.count("may-not"), len(honest)),
        "honest_passed": (may_pass.count("may"), len(may_pass)),
    }
    rates: dict[str, int | float] = {
        "liars": len(liars),
        "honest": len(honest),
        "honest_asked": len(may_pass),
    }
    for name, (count, of) in counts.items():
        if not of:
            continue
        found = share(count, of)
        rates |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return rates
