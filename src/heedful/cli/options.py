"""Options that several commands take, written once."""

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(help="A run folder made by `heedful train`.")]
AnyModel = Annotated[
    str,
    typer.Argument(
        help="A run folder, hf:FOLDER_OR_NAME of a Hugging Face classifier, or hf-prompt: of a "
        "decoder."
    ),
]
Readout = Annotated[
    str | None,
    typer.Option(
        "--readout",
        help="With hf: how attention is read (heedful list readouts). Default: last-cls.",
    ),
]
LongTextsOf = Annotated[
    str | None,
    typer.Option(
        "--long-texts",
        help="With hf: texts longer than the model reads are cut (default) or read in windows.",
    ),
]
Template = Annotated[
    str | None,
    typer.Option(help="With hf-prompt: the prompt, {text} where the text goes."),
]
LabelWords = Annotated[
    str | None,
    typer.Option(help="With hf-prompt: bad,good or negative=bad,positive=good."),
]
TextColumn = Annotated[str | None, typer.Option("--text", help="Column that holds the text.")]
LabelColumn = Annotated[str | None, typer.Option("--label", help="Column that holds the label.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder of named corpora. Default: $HEEDFUL_DATA."),
]
Sample = Annotated[
    int | None, typer.Option("--documents", help="Audit a random sample of this size.")
]
IncludeTrained = Annotated[
    bool,
    typer.Option(
        "--include-trained",
        help="Also audit documents used to train the model or to choose its best epoch.",
    ),
]
Tolerate = Annotated[
    float | None,
    typer.Option(
        "--tolerate", help="Share of documents that may have a false picture. Default: 0.15."
    ),
]
OfAudit = Annotated[
    Path | None,
    typer.Option(
        "--audit", help="Audit of this run; its rule decides whether the heat map is shown."
    ),
]
Risk = Annotated[
    float,
    typer.Option("--risk", help="Share of texts that may be shown with a false heat map."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random choices.")]
Device = Annotated[str, typer.Option("--device", help="Device: auto, cpu, cuda or cuda:1.")]
Exactness = Annotated[
    str,
    typer.Option(
        "--precision",
        help="auto: on a GPU, compute shortened texts in bf16 if a check allows it. fp32: never.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]
Engine = Annotated[
    str, typer.Option("--on", help="local: processes on this machine. ray: a Ray cluster.")
]
AtOnce = Annotated[
    int | None, typer.Option("--cores", help="Number of trainings that run at the same time.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def example(command: str) -> str:
    """The last line of a command's help: a call that can be copied."""
    return f"Example: heedful {command}"
