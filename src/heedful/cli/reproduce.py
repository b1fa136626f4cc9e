"""`heedful reproduce`: a paper's numbers beside ours, and what became of its claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import AsJson, AtOnce, Device, Engine, Quiet

if TYPE_CHECKING:
    from heedful.papers.paper import Experiment, Paper
    from heedful.papers.record import Reproduction


def reproduce(
    paper: Annotated[str, typer.Argument(help="Paper (`heedful list papers`), as in sun-lu.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder for runs and report. Default: reproduced/PAPER."
        ),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Only this table, such as 2.")] = None,
    figure: Annotated[str | None, typer.Option(help="Only this figure, such as 3.")] = None,
    only: Annotated[str | None, typer.Option(help="Only this experiment, by its name.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Other seeds than the experiment's, such as 1,2,3.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Only this corpus; may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small part; takes minutes.")
    ] = False,
    on: Engine = "local",
    cores: AtOnce = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Repeat a paper's experiments and compare the numbers with the published ones.

    Run it again to resume an interrupted reproduction: finished runs are skipped.
    """
    import sys

    from heedful import runs, storage
    from heedful.auditing.results import plain
    from heedful.cli import show
    from heedful.cli.parsing import whole_numbers
    from heedful.jobs.progress import JobWatcher
    from heedful.papers.paper import load_paper
    from heedful.papers.reproduce import reproduce
    from heedful.report.reproduction import claim_rows, number_rows, write_page, write_reproduction
    from heedful.sweeps.progress import SweepLines

    known = load_paper(paper)
    chosen = _chosen(known, table, figure, only)
    place = output or Path("reproduced") / paper
    numbers = None if seeds is None else tuple(whole_numbers(seeds, "--seeds"))

    def done_again(experiment: "Experiment", watcher: JobWatcher) -> "Reproduction":
        return reproduce(
            known, experiment, place / "runs", is_quick=quick, seeds=numbers,
            data=tuple(data) if data else None, on=on, cores=cores, device=device, watcher=watcher,
        )  # fmt: skip

    command = f"heedful reproduce {' '.join(sys.argv[2:])}"
    found = []
    for experiment in chosen:
        folder = place / experiment.key
        with storage.held(folder):  # other experiments may be done beside it, on the same runs
            if quiet:
                found.append(done_again(experiment, JobWatcher()))
            else:
                show.note(f"{paper}, {experiment.key}: {experiment.title}")
                with SweepLines() as watcher:
                    found.append(done_again(experiment, watcher))
            one = found[-1]
            one.save(folder)
            write_reproduction(folder / runs.REPORT, known, one)
            write_page(folder, known, one, command)
        if not json:
            for row in [*claim_rows(one), *number_rows(one)]:
                show.result("  ".join(row.values()))
            show.result(one.sentence)
            show.result(f"report: {folder / runs.REPORT}\n")
    if json:
        show.as_json([plain(one.to_dict()) for one in found])
    if any(one.about["cells"].get("failed") for one in found):
        raise typer.Exit(1)


def _chosen(
    paper: "Paper", table: str | None, figure: str | None, only: str | None
) -> "list[Experiment]":
    wanted = {"table": table, "figure": figure}
    keys = [f"{kind}-{number}" for kind, number in wanted.items() if number is not None]
    keys += [only] if only is not None else []
    return [paper.experiment(key) for key in keys or paper.experiments]
