"""`heedful probe`: experiments that need no model of yours, only documents."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import DataDir, Device, LabelColumn, Quiet, TextColumn

probe = typer.Typer(
    help="Experiments that need no model of yours, only documents.", no_args_is_help=True
)


@probe.callback()
def experiments() -> None:
    """Experiments that need no model of yours, only documents."""


@probe.command("shortcuts")
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
    seeds: Annotated[str, typer.Option(help="Train everything with each of these.")] = "1,2,3",
    tokens: Annotated[int | None, typer.Option(help="Default tokens to attend to: 4.")] = None,
    mask: Annotated[
        str | None, typer.Option(help="softmax, or hard: k-hot:k=1 keeps one token.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Of the text, as in bilstm; default: mean word embedding.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Of each training: 6.")] = None,
    documents: Annotated[
        int | None, typer.Option(help="Maximum number of training documents. Default: 5000.")
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Can a model write the label into its attention pattern? (Bai et al. 2021)

    Small models attend to a few tokens that are the same for every text, so all they know of the
    label is in their weights. Five ways of training are read on the test documents.
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
            show.note(f"seed {seed}, {arm}: {accuracy:.1%} right")

    if not quiet:
        for sentence in corpus.notes:
            show.note(f"note: {sentence}")
    task = Task.from_corpus(corpus, {"source": data})
    found = probe_shortcuts(task, settings, split=corpus.split, device=device, tell=tell)
    finish(found.to_result(), output, json)
