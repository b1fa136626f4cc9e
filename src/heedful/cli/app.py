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
    sweep,
    train,
    verify,
)
from heedful.cli.options import example

app = typer.Typer(
    help="May you read your text classifier's attention as an explanation? "
    "Train classifiers with attention, look at what they attend to, and audit it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # in "rich", line ends of docstrings stay in the help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("demo", epilog=example("demo -o demo"))(demo.demo)
app.command("train", epilog=example("train reviews.csv --recipe faithful -o runs/faithful"))(
    train.train
)
app.command("heal", epilog=example("heal hf:my-model texts.csv -o runs/healed"))(heal.heal)
app.command("predict", epilog=example("predict runs/faithful --file new.csv"))(predict.predict)
app.command("explain", epilog=example('explain runs/faithful "A very funny movie."'))(
    explain.explain
)
app.command("audit", epilog=example("audit runs/faithful reviews.csv -o audits/faithful"))(
    audit.audit
)
app.command("card", epilog=example("card audits/faithful -o README.md"))(card.card)
app.command("verify", epilog=example("verify runs audits"))(verify.verify)
app.command("sign", epilog=example("sign audits/faithful --key ~/.ssh/id_ed25519"))(verify.sign)
app.command("compare", epilog=example("compare audits/standard audits/faithful -o compared"))(
    compare.compare
)
app.command("serve", epilog=example("serve runs audits --port 8000"))(serve.serve)
app.command("sweep", epilog=example("sweep grid.toml -o sweep --cores 4"))(sweep.sweep)
app.command("calibrate", epilog=example("calibrate --quick -o calibration"))(calibrate.calibrate)
app.command("reproduce", epilog=example("reproduce sun-lu --table 2 --quick"))(reproduce.reproduce)
app.command("analyse", epilog=example("analyse word-scores runs/faithful reviews.csv"))(
    analyse.analyse
)
app.add_typer(probe.probe, name="probe")
app.command("list", epilog=example("list recipes"))(list_families.list_members)


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
            "--version", callback=tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before a command."""
