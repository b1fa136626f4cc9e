"""The commands of `heedful`, one module each. Nothing heavy is imported until a command runs."""

import typer

from heedful.cli import demo, listing, predict, train

app = typer.Typer(
    help="May you read your text classifier's attention as an explanation? "
    "Train, audit and look at classifiers with attention.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("list")(listing.list_members)


def version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"heedful {installed('heedful')}")
        raise typer.Exit


@app.callback()
def common(
    version: bool = typer.Option(
        False, "--version", callback=version, is_eager=True, help="Show the version and leave."
    ),
) -> None:
    """Options that stand before a command."""
