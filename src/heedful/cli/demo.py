"""`heedful demo`: one small classifier on the built-in reviews, trained in two ways, audited."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from heedful.cli.holding import holds_output

if TYPE_CHECKING:
    from heedful.text.documents import Corpus
    from heedful.training.settings import Settings
    from heedful.training.trained import Trained

CORPUS = "reviews-short"
AUDITED = 200  # test sentences
SAMPLED = 100  # of them, for what is costly
AUDITS = "audits"  # their folder, beside the runs


@holds_output
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the two runs and the report.")
    ] = Path("heedful-demo"),
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Train a small classifier on real film reviews in two ways, audit both, write a report."""
    from heedful.cli import show
    from heedful.text.datasets import load
    from heedful.training.settings import Settings

    corpus = load(CORPUS)
    models = {
        "standard": ("a BiLSTM with attention, trained as usual", Settings()),
        "faithful": (
            "the same model, with attention trained to match the effect of deleting words",
            Settings().with_(recipe="faithful"),
        ),
    }
    show.note(
        f"{CORPUS}: {len(corpus.train):,} film review sentences to train on, "
        f"{len(corpus.dev):,} to choose the best epoch, {len(corpus.test):,} to test on\n"
    )
    runs = {
        name: _trained(name, meaning, settings, corpus, output, device)
        for name, (meaning, settings) in models.items()
    }
    _show_examples(runs, corpus)
    _audit(runs, corpus, output)
    first = output / list(runs)[-1]
    command = "heedful" if shutil.which("heedful") else sys.argv[0]
    show.result(f"\nboth runs are in {output}. Explain a text of your own:")
    show.result(f'  {command} explain {first} "A very funny movie."')
    show.result("or change their attention in the browser and watch the predictions:")
    show.result(f"  {command} serve {output}")


def _trained(
    name: str,
    meaning: str,
    settings: "Settings",
    corpus: "Corpus",
    output: Path,
    device: str,
) -> "Trained":
    """Train one of the two, or take it from an earlier demo."""
    from heedful.cli import show
    from heedful.runs import RunFolder
    from heedful.training.progress import EpochLines
    from heedful.training.task import Task
    from heedful.training.train import train
    from heedful.training.trained import Trained

    folder = RunFolder(output / name)
    show.note(f"{name}: {meaning}")
    if folder.is_finished:
        show.note(f"  already trained; delete {folder.path} to train it again")
        trained = Trained.load(folder.path)
    else:
        if not folder.is_begun:
            folder = RunFolder.new(folder.path)
        task = Task.from_corpus(corpus, {"source": CORPUS})
        with EpochLines("  ") as watcher:
            trained = train(task, settings, folder=folder, device=device, watcher=watcher)
    show.result(f"{name}: {show.score_line(trained)}")
    return trained


def _audit(trained: "dict[str, Trained]", corpus: "Corpus", output: Path) -> None:
    """Ask of both whether their attention may be shown, and write one report."""
    from heedful import runs
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.run_audit import AuditPlan, run_audit
    from heedful.auditing.scope import scope
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.cli import show
    from heedful.report import write_report

    show.result(f"\nmay attention be shown as an explanation? (audit of {AUDITED} test sentences)")
    audits = {}
    for name, model in trained.items():
        with show.DocumentBar(AUDITED, is_shown=True) as bar:
            audits[name] = run_audit(
                ClassifierSubject(model),
                corpus.test,
                AuditPlan(AuditSettings(sampled_documents=SAMPLED), sample=AUDITED),
                about={"name": name, "data": CORPUS},
                watcher=bar,
            )
        audits[name].save(output / AUDITS / name)
        show.result(f"  {name:<8} {audits[name].sentence}")
        show.result(f"  {'':<8} {scope(audits[name])}")
        show.result(f"  {'':<8} {audits[name].in_plain_words.means}")
        show.result(f"  {'':<8} {audits[name].instead}")
    write_report(output / runs.REPORT, audits)
    show.result(f"\nall answers, figures and heat maps: {output / runs.REPORT}")


def _show_examples(runs: "dict[str, Trained]", corpus: "Corpus", count: int = 2) -> None:
    """Test sentences of each label with each model's attention as background colour."""
    from heedful.cli import show

    short = [d for d in corpus.test if 8 <= len(d.text.split()) <= 14]
    chosen = [d for label in ("negative", "positive") for d in short if d.label == label]
    chosen = [*chosen[:count], *chosen[-count:]]
    show.result("\nwhat they attend to on sentences they have never seen")
    show.result("(the deeper the green, the larger the share of the sentence's largest weight)")
    for document in chosen:
        show.result(f"\n  labelled {document.label}")
        for name, trained in runs.items():
            row = trained.probabilities([document.text])[0]
            answer = f"{trained.classes[int(row.argmax())]} {row.max():.2f}"
            (attention,) = trained.attention([document.text])
            line = show.shaded(document.text, attention.offsets, attention.weights, is_signed=False)
            show.result(Text(f"  {name:<8} {answer:<14} ") + line)
            top = show.strongest(attention.words, attention.weights)
            show.result(f"  {'':<23} most weight: {top}")
