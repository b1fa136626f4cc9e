"""`heedful probe`: experiments that need no model of yours, only documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import DataDir, Device, LabelColumn, Quiet, TextColumn

if TYPE_CHECKING:
    from heedful.analysis.shortcuts.findings import Probe
    from heedful.analysis.shortcuts.outcomes import Finding

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
        typer.Option("-o", "--output", help="Folder for report.html, probe.json and Parquet."),
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
    from heedful import runs
    from heedful.analysis.shortcuts.probe import ShortcutSettings, probe_shortcuts
    from heedful.cli import show
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
    settings = from_plain(ShortcutSettings, chosen)
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
    if output is not None:
        found.save(output)
    if json:
        show.as_json(found.to_dict())
    else:
        for line in _told(found):
            show.result(line)
    if output is not None:

        def write(path: Path) -> None:
            from heedful.report.probe import write_probe

            write_probe(path, found)

        show.report(output / runs.REPORT, write, is_silent=json)


def _told(found: "Probe") -> Iterator[str]:
    """The sentence, then a line per arm."""
    from heedful.analysis.shortcuts.arms import ORDINARY
    from heedful.errors import counted

    yield found.conclusion
    tested, trained = found.documents["test"], found.documents["train"]
    seeds = counted(len(found.ordinary.seeds), "seed")
    yield f"\n{tested:,} test documents, {trained:,} to train on, {seeds}"
    yield f"{'':<18} {'accuracy':<21} {'leak, points':<21} {'gain':>7} {'weights tell':>13}"
    for name, finding in {ORDINARY: found.ordinary, **found.arms}.items():
        yield f"{name:<18} {_line(finding)}"
    yield f"{'commonest label':<18} {100 * found.majority_accuracy:5.1f}%"
    yield "gain and weights tell in nats per document; [95% intervals over documents and seeds]"


def _line(finding: "Finding") -> str:
    low, high = (100 * end for end in finding.accuracy.interval)
    right = f"{100 * finding.accuracy.mean:5.1f}% [{low:.1f}, {high:.1f}]"
    low, high = (100 * end for end in finding.leak.interval)
    leak = f"{100 * finding.leak.mean:+5.1f} [{low:+.1f}, {high:+.1f}]"
    line = f"{right:<21} {leak:<21} {finding.gain.mean:+7.3f}"
    if finding.seeds[0].told is not None:
        line += f" {finding.told:+13.3f}"
    if (effective := finding.effective_documents) is not None:
        line += f"  {effective:,.0f} effective documents"
    return line
