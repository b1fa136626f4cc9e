"""`heedful calibrate`: how often is each test of an audit wrong?"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import AsJson, AtOnce, Device, Engine, Quiet

if TYPE_CHECKING:
    from heedful.calibration.operating_point_fit import Tested
    from heedful.calibration.record import Calibration


@holds_output
def calibrate(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Folder for models, report and operating points."),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a small part of the zoo; takes minutes.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="Number of seeds to train each model with.")] = 1,
    on: Engine = "local",
    cores: AtOnce = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure how often the verdict is right on models whose answer is known.

    Prints the rates of the verdict, the power and false alarms of each test, and the operating
    points. Run it again to resume an interrupted calibration: finished models are skipped.
    """
    from heedful import runs
    from heedful.auditing.operating_points import FILE_NAME
    from heedful.calibration.calibrate import calibrate
    from heedful.cli import show
    from heedful.jobs.progress import JobWatcher
    from heedful.report.calibration import write_calibration
    from heedful.sweeps.progress import SweepLines

    def call(watcher: JobWatcher) -> "Calibration":
        return calibrate(
            output, seeds=seeds, is_quick=quick, on=on, cores=cores, device=device, watcher=watcher
        )

    if quiet:
        found = call(JobWatcher())
    else:
        with SweepLines() as watcher:
            found = call(watcher)
    found.save(output)
    write_calibration(output / runs.REPORT, found)
    if json:
        show.as_json(found.to_dict())
    else:
        for line in _told(found):
            show.result(line)
        show.result(f"\nreport: {output / runs.REPORT}")
        show.result(f"operating points: {output / FILE_NAME}")
    if any(model.left_out.startswith(("failed", "not run")) for model in found.models):
        raise typer.Exit(1)


def _told(found: "Calibration") -> Iterator[str]:
    """How often the verdict is right, the cuts, each test by question, and who was left out."""
    from itertools import groupby

    from heedful.errors import counted
    from heedful.report.calibration_figures import ranked
    from heedful.report.calibration_tables import rate_rows

    yield found.points.track_record
    yield "\nverdicts by cuts that were fitted without the model's kind, by kind of model"
    for row in rate_rows(found):
        name, *rates = row.items()
        said = "; ".join(f"{what} {rate}" for what, rate in rates)
        yield f"  {name[1]:<12} {said}"
    yield "\npower: share of models caught that fail, at no more than 5% false alarms"
    for question, tests in groupby(ranked(found), key=lambda test: test.question):
        yield f"\n{question}"
        for test in tests:
            yield f"  {test.test:<40} {_rated(test)}"
    left_out = [model for model in found.models if model.left_out]
    if left_out:
        yield f"\n{counted(len(left_out), 'model')} left out:"
    for model in left_out:
        yield f"  {model.member}: {model.left_out}"


def _rated(test: "Tested") -> str:
    """'power 94% [81, 99] of 41, held out …; false alarms …; AUC 0.98; judged at 0.85 (module)'."""
    from heedful.report.calibration_tables import percent

    said = []
    if found := test.separation:
        said = [
            f"power {percent(found.power)} of {test.fails}, held out {_held_out(test)}",
            f"AUC {found.auc.value:.2f}",
        ]
    if test.is_judged:
        cuts = [f"{cut.value:.2f} ({kind})" for kind, cut in test.cuts.items()]
        said.append(f"judged at {', '.join(cuts)}")
    else:
        said.append("reported" if found else f"reported: {test.note}")
    return "; ".join(said)


def _held_out(test: "Tested") -> str:
    from heedful.report.calibration_tables import percent

    power, alarms = test.power_elsewhere, test.false_alarms_elsewhere
    return f"{percent(power)} with false alarms on {percent(alarms)} of {test.holds}"
