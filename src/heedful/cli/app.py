"""The commands of `heedful`, one module each. Nothing heavy is imported until a command runs."""

from typing import Annotated

import typer

from heedful.cli import (
    analyse,
    audit,
    calibrate,
    card,
    compare,
    demo,
    explain,
    heal,
    list_families,
    predict,
    probe,
    reproduce,
    serve,
    sign,
    sweep,
    train,
    verify,
)

app = typer.Typer(
    help="May you read your text classifier's attention as an explanation? "
    "Train classifiers with attention, look at what they attend to, and audit it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("heal")(heal.heal)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("audit")(audit.audit)
app.command("card")(card.card)
app.command("verify")(verify.verify)
app.command("sign")(sign.sign)
app.command("compare")(compare.compare)
app.command("serve")(serve.serve)
app.command("sweep")(sweep.sweep)
app.command("calibrate")(calibrate.calibrate)
app.command("reproduce")(reproduce.reproduce)
app.command("analyse")(analyse.analyse)
app.add_typer(probe.probe, name="probe")
app.command("list")(list_families.list_members)


def tell_version(wanted: bool) -> bool:
    """Print the version and leave, if that is what is wanted."""
    if wanted:
        from importlib.metadata import version

        from heedful.terminal import Terminal

        Terminal().say(f"heedful {version('heedful')}")
        raise typer.Exit
    return wanted


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=tell_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Options that stand before a command."""
