"""An audit -> a model card: README text with a `model-index`, by huggingface_hub's own classes.

The card begins with the verdict; the numbers are in the metadata, where the Hub expects evaluation
results.
"""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from heedful.auditing.plain_words import in_plain_words
from heedful.auditing.results import Audit, TestResult
from heedful.auditing.scope import scope
from heedful.auditing.terms import QUESTIONS
from heedful.visible import one_line

TASK = "text-classification"
TAGS = ["attention", "explainability", "faithfulness"]


def card_of(audit: Audit, model_id: str = "") -> ModelCard:
    """The card of an audited model; `model_id` is its name on the Hub, by default its own."""
    name = model_id or one_line(str(audit.about.get("name", "model")))
    data = ModelCardData(
        model_name=name,
        library_name="heedful",
        pipeline_tag=TASK,
        tags=TAGS,
        eval_results=list(_results(audit)),
    )
    front = data.to_yaml()
    return ModelCard(f"---\n{front}\n---\n\n{_text(audit, name)}")


def write_card(audit: Audit, path: Path, model_id: str = "") -> None:
    """Save the card as a file."""
    card_of(audit, model_id).save(path)


def _results(audit: Audit) -> Iterator[EvalResult]:
    """Accuracy, the verdict, and every judged test with its interval."""
    accuracy = audit.about.get("accuracy")
    if isinstance(accuracy, float):
        yield _result(audit, "accuracy", "accuracy", accuracy)
    yield _result(audit, "verdict", "attention may be shown as an explanation", audit.verdict)
    for answer in audit.answers:
        for test in answer.tests:
            if test.judgement != "reported" and test.score.score == test.score.score:
                yield _of_test(audit, test)


def _of_test(audit: Audit, test: TestResult) -> EvalResult:
    low, high = (round(end, 4) for end in test.score.interval)
    args = {"low": low, "high": high, "cut": audit.cuts.get(test.name), "judgement": test.judgement}
    name = f"{test.question}: {test.name}"
    return _result(audit, "heedful", name, round(test.score.score, 4), args)


def _result(
    audit: Audit, kind: str, name: str, value: Any, args: dict[str, Any] | None = None
) -> EvalResult:
    data = _data_name(audit)
    return EvalResult(
        task_type=TASK,
        dataset_type=data,
        dataset_name=data,
        metric_type=kind,
        metric_name=name,
        metric_value=value,
        metric_args=args,
    )


def _data_name(audit: Audit) -> str:
    """The last part of where the documents came from: a card says nothing of somebody's folders."""
    return one_line(Path(str(audit.about.get("data", "unknown"))).name or "unknown")


def _text(audit: Audit, name: str) -> str:
    return "\n\n".join(filter(None, _sections(audit, name))) + "\n"


def _sections(audit: Audit, name: str) -> Iterator[str]:
    yield f"# {_escaped(name)}"
    yield "## May its attention be shown as an explanation?"
    yield f"**{audit.sentence}**"
    yield _escaped(str(in_plain_words(audit, commands_follow=False)))
    yield _escaped(audit.instead)
    yield "## Answers"
    yield "\n".join(_table(audit))
    yield _escaped(scope(audit))
    yield _escaped(audit.caveat)
    yield (
        f"The audit covers {audit.documents:,} of {audit.available:,} documents of "
        f"{_escaped(_data_name(audit))}. It says nothing about other documents. heedful "
        f"{version('heedful')} wrote this card."
    )


def _table(audit: Audit) -> Iterator[str]:
    yield "| question | answer | what it asks |"
    yield "|---|---|---|"
    for answer in audit.answers:
        said = answer.judgement or f"not asked: {answer.reason}"
        asks = QUESTIONS.get(answer.question, answer.asks)
        yield f"| {answer.question} | {_escaped(said)} | {asks} |"


def _escaped(text: str) -> str:
    """Text in which nothing is markup, on one line: labels and names come from strangers."""
    plain = one_line(text)
    for sign in "\\<>|*_[]#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
