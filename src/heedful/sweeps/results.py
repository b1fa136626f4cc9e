"""One row per cell, made of what stands on disk, in one Parquet file.

    run, in_grid, data, [variant], axes, seed, state, error
    dev.*, test.*                            everything of metrics.json
    verdict, audit.documents, audit.<question>
    audit.<question>.<test>.value …          and floor, ceiling, score, low, high, judgement
    train_seconds, audit_seconds, analysis_seconds   all that differs from call to call

What analyses found stands in a second file, a row per row of each of their tables.

The cells of the grid come first, in its order; then what other grids have left in the folder.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import runs
from heedful.analysis.result import Result
from heedful.auditing.results import NOT_ASKED, StoredAudit, Table, plain
from heedful.jobs import folder as job_folder
from heedful.jobs.folder import Done
from heedful.jobs.job import Job, Outcome
from heedful.runs import RunFolder
from heedful.storage import write_atomically
from heedful.sweeps.cells import Cell
from heedful.sweeps.steps import AnalysisStep, AuditStep
from heedful.training.run_schema import Metrics

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
TIMES = ("train_seconds", "audit_seconds", "analysis_seconds")


def rows_of(
    folder: Path,
    cells: Sequence[tuple[Cell, Sequence[Job]]],
    outcomes: Mapping[str, Outcome],
) -> list[Row]:
    """A row per cell of the grid, then one per cell of other grids that was begun here."""
    rows = []
    for cell, jobs in cells:
        ended = [outcomes[job.name] for job in jobs if job.name in outcomes]
        is_known = len(ended) == len(jobs)
        state, error = (
            _in_outcomes(cell.name, ended)
            if is_known
            else _on_disk([folder / j.place for j in jobs])
        )
        about = {"run": cell.name, "in_grid": True, **cell.record, "state": state, "error": error}
        rows.append({**about, **_numbers(folder / cell.name, _audit_of(cell))})
    own = {cell.name: _audit_of(cell) for cell, _ in cells}
    preferred = set(own.values())
    for record in sorted(folder.glob(f"*/{runs.CELL}")):
        if record.parent.name not in own:
            rows.append(_row_of_another(record.parent, preferred))
    return rows


def _audit_of(cell: Cell) -> str | None:
    """The folder of its audit within its run."""
    return cell.audit.folder if cell.audit is not None and cell.attends else None


def tables_of(folder: Path, cells: Sequence[Cell]) -> list[Row]:
    """The rows of all tables that analyses made and audits lean on, each with its cell."""
    return [
        {"run": cell.name, **cell.record, "table": f"{source}.{table}", **row}
        for cell in cells
        for source, tables in _tables(folder / cell.name, cell.analyse, cell.audit)
        for table, rows in tables.items()
        for row in rows
    ]


def _tables(
    place: Path, analysed: Sequence[AnalysisStep], audit: AuditStep | None
) -> Iterator[tuple[str, Mapping[str, Table]]]:
    for request in analysed:
        if (place / request.folder / runs.ANALYSIS).is_file():
            found = Result.read(RunFolder(place / request.folder))
            yield request.name, {"summary": found.summary, **found.tables}
    if audit is not None and (place / audit.folder / runs.AUDIT).is_file():
        yield "audit", StoredAudit.read(RunFolder(place / audit.folder)).tables


def write_rows(path: Path, rows: Sequence[Row], last: Sequence[str] = ()) -> None:
    """Write rows as Parquet, these columns last, unless the file says the same already."""
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(_table(rows, last), buffer)
    if not path.is_file() or path.read_bytes() != buffer.getvalue():
        write_atomically(path, buffer.getvalue())


def _in_outcomes(cell: str, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """State and sentence of a cell from what became of its jobs."""
    for outcome in outcomes:
        if outcome.state != "done":
            what = _after_training(outcome.name.removeprefix(cell))
            return outcome.state, f"{what}{outcome.reason}"
    return "done", ""


def _after_training(job: str) -> str:
    """What failed, from the name of its job without the cell's: nothing if it is the training."""
    if not job:
        return ""
    return "analysis: " if job.startswith("-analysis-") else "audit: "


def _on_disk(places: Sequence[Path]) -> tuple[str, str]:
    """The same from what its folders hold."""
    for place in places:
        if not (place / job_folder.DONE).is_file():
            traceback = place / job_folder.ERROR
            if not traceback.is_file():
                return "not run", ""
            last = traceback.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
            return "failed", last.partition(": ")[2] or last
    return "done", ""


def _row_of_another(place: Path, preferred: Collection[str | None]) -> Row:
    """The row of a cell that only another grid has."""
    record = RunFolder(place).read_json(runs.CELL)
    audits = sorted(path.parent.name for path in place.glob(f"audit-*/{runs.AUDIT}"))
    last = audits[-1] if audits else None
    chosen = next((audit for audit in audits if audit in preferred), last)
    state, error = _on_disk([place])
    about = {"run": place.name, "in_grid": False, **record, "state": state, "error": error}
    return {**about, **_numbers(place, chosen)}


def _numbers(place: Path, audit: str | None) -> Row:
    """Metrics, audit and times of a cell, as far as it has come."""
    row: Row = {}
    run = RunFolder(place)
    if run.is_finished:
        scores = run.read_checked(runs.METRICS, Metrics, advice="Train it again.")
        row |= dict(_flat(scores))
    if audit is not None and (place / audit / runs.AUDIT).is_file():
        row |= plain(dict(_answers(StoredAudit.read(RunFolder(place / audit)))))
    row["train_seconds"] = _seconds([place])
    if audit is not None:
        parts = [*(place / audit).glob("share-*"), *(place / audit / runs.TWINS).glob("*")]
        row["audit_seconds"] = _seconds([place / audit, *parts])
    if analysed := list(place.glob("analysis-*")):
        row["analysis_seconds"] = _seconds(analysed)
    return row


def _seconds(places: Sequence[Path]) -> float | None:
    """How long the work in these folders took that is done."""
    done = [RunFolder(p) for p in places if (p / job_folder.DONE).is_file()]
    times = [Done.read(folder).seconds for folder in done]
    return sum(times) if times else None


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every number by its dotted name; an interval as low and high."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and name.endswith("_interval"):
            yield from _ends(f"{prefix}{name.removesuffix('_interval')}_", value)
        elif isinstance(value, list):
            yield from _flat(
                {str(place): one for place, one in enumerate(value)}, f"{prefix}{name}."
            )
        elif isinstance(value, int | float) or value is None:
            yield f"{prefix}{name}", value


def _ends(prefix: str, interval: Sequence[float | None]) -> Iterator[tuple[str, float | None]]:
    yield from ((f"{prefix}low", interval[0]), (f"{prefix}high", interval[1]))


def _answers(audit: StoredAudit) -> Iterator[tuple[str, Any]]:
    yield "verdict", audit.verdict
    yield "audit.documents", audit.documents
    for answer in audit.answers:
        question = f"audit.{answer.question}"
        yield question, answer.judgement or NOT_ASKED
        for test in answer.tests:
            name = f"{question}.{test.name.replace(' ', '_')}."
            for number in ("value", "floor", "ceiling", "score"):
                yield name + number, getattr(test.score, number)
            yield from _ends(name, test.score.interval)
            yield name + "judgement", test.judgement
    for fact in audit.evidence.get("facts", ()):
        name = f"audit.{fact['question']}.{fact['name'].replace(' ', '_')}."
        yield from ((name + number, fact[number]) for number in ("mean", "low", "high"))


def _table(rows: Sequence[Row], last: Sequence[str]) -> "pyarrow.Table":
    """Columns in the order in which rows first have them."""
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    ordered = [*(name for name in names if name not in last), *last]
    return pyarrow.table({name: _column([row.get(name) for row in rows]) for name in ordered})


def _column(values: Sequence[Any]) -> "pyarrow.Array":
    """Values as one type; words where they have several, numbers where they have none."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    with suppress(OverflowError):  # no number that a table holds: then as words
        if not kinds or (kinds <= {int, float} and float in kinds):
            numbers = [None if value is None else float(value) for value in values]
            return pyarrow.array(numbers, pyarrow.float64())
        if len(kinds) == 1 and kinds <= {str, bool, int}:
            return pyarrow.array(values)
    return pyarrow.array([None if v is None else str(v) for v in values], pyarrow.string())
