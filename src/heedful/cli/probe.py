"""`heedful probe`: experiments that need no model of yours, only documents."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import DataDir, Device, LabelColumn, Quiet, TextColumn, example

probe = typer.Typer(
    help="Experiments that need documents but no trained model.", no_args_is_help=True
)


@probe.callback()
def experiments() -> None:
    """Experiments that need documents but no trained model."""


@probe.command("shortcuts", epilog=example("probe shortcuts reviews.csv --seeds 1,2,3"))
@holds_output
def shortcuts(
    data: Annotated[str, typer.Argument(help="Documents: a file, a folder or a corpus name.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for report.html, analysis.json and Parquet."),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    seeds: Annotated[str, typer.Option(help="Seeds to train each model with.")] = "1,2,3",
    tokens: Annotated[
        int | None, typer.Option(help="Number of default tokens to attend to. Default: 4.")
    ] = None,
    mask: Annotated[
        str | None,
        typer.Option(help="softmax, or a hard mask such as k-hot:k=1, which keeps one token."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Encoder of the text, such as bilstm. Default: mean word embedding."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Number of epochs per training. Default: 6.")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(help="Maximum number of training documents. Default: 5000.")
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Can a model write the label into its attention pattern? (Bai et al. 2021)

    Small models attend to a few tokens that are the same for every text, so all they know about the
    label is in their attention weights. Five ways of training are compared on the test documents.
    """
    from heedful.analysis.instruments.shortcuts import Shortcuts, probe_shortcuts
    from heedful.cli import show
    from heedful.cli.analyse import finish
    from heedful.cli.parsing import whole_numbers
    from heedful.config import from_plain
    from heedful.runs import RunFolder
    from heedful.training.task import Task, find_corpus

    given = {
        "seeds": whole_numbers(seeds, "--seeds"),
        "tokens": tokens,
        "mask": mask,
        "encoder": encoder,
        "epochs": epochs,
        "documents": documents,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = from_plain(Shortcuts, chosen)
    if output is not None:
        RunFolder.new(output)
    corpus = find_corpus(data, text=text, label=label, data_dir=data_dir)

    def tell(arm: str, seed: int, accuracy: float) -> None:
        if not quiet:
            show.note(f"seed {seed}, {arm}: accuracy {accuracy:.1%}")

    if not quiet:
        for sentence in corpus.notes:
            show.note(f"note: {sentence}")
    task = Task.from_corpus(corpus, {"source": data})
    found = probe_shortcuts(task, settings, split=corpus.split, device=device, tell=tell)
    finish(found.to_result(), output, json)
