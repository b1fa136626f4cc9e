"""`heedful audit hf:…`: which reading of a Hugging Face classifier's attention may be shown?"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.text import Text

from heedful.cli.models import USUAL_READOUT
from heedful.errors import UsageError

if TYPE_CHECKING:
    from heedful.auditing.given_scores import GivenScores
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.huggingface.readings import ReadingAudits
    from heedful.cli.models import TransformerSource
    from heedful.model.precision import Precision
    from heedful.text.documents import Documents

MOST_ROWS = 12  # of the ranking that a terminal shows


def refuse_options(given: Mapping[str, object]) -> None:
    """Options that say nothing about a model that is audited as it is."""
    if wrong := [option for option, value in given.items() if value]:
        raise UsageError(f"not available for a Hugging Face model: {', '.join(wrong)}.")


def audit_transformer(
    source: "TransformerSource",
    data: str,
    output: Path | None,
    wanted: list[str] | None,
    heads: bool,
    ask: list[str] | None,
    seed: int,
    tolerate: float | None,
    device: str,
    precision: "Precision",
    quiet: bool,
    json: bool,
    found: "tuple[Documents, int | None]",
    count: int | None,
    seconds: float | None,
    fail_on: str | None,
    resume: bool,
    deep: bool,
    judge_texts: list[str] | None,
    commands: tuple[str, ...],
    given: "GivenScores",
    measures: Sequence[str],
) -> None:
    """Audit every reading of one model on the same documents, and say which may be shown."""
    from heedful.auditing.next_step import COMMANDS
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.run_audit import AuditPlan
    from heedful.auditing.subjects.huggingface.audit_readings import prepare_readings
    from heedful.auditing.subjects.huggingface.masked_training import masked_judge, texts_to_learn
    from heedful.auditing.subjects.huggingface.readings import ReadingAudits, subjects_of
    from heedful.auditing.subjects.retrained import Twins
    from heedful.cli import show
    from heedful.cli.audit_input import enter
    from heedful.readouts import readouts

    if resume and (output is None or seconds is not None):
        raise UsageError("with hf:, --resume needs -o and cannot be combined with --budget.")
    place = enter(output, resume, quiet)
    for readout in wanted or []:
        readouts.make(readout)
    if heads and ask is not None and "telling" not in ask:
        raise UsageError("--heads ranks by the question telling: add --ask telling.")
    loaded = source.load(device, precision)
    loaded, documents, note = loaded.with_labels_of(found[0])
    if given.names and not wanted:
        wanted = [USUAL_READOUT]  # the question is about the scores
    subjects, notes = subjects_of(loaded, wanted)
    subjects = {name: one.with_measures(measures) for name, one in subjects.items()}
    if not quiet:
        for sentence in [note, *notes]:
            if sentence:
                show.note(f"note: {sentence}")
    settings = AuditSettings(seed=seed, tolerate=tolerate, rationale_words=found[1])
    settings = settings.deepened() if deep else settings
    plan = AuditPlan(settings, ask, count, seconds)
    twins = Twins()
    if deep and (ask is None or "telling" in ask):
        texts, why_none = texts_to_learn(documents, settings, count, judge_texts)
        if not quiet:
            said = "fine-tuning a copy of the model on texts with words replaced, as a judge"
            show.note(
                f"note: no judge is trained on masked texts: {why_none}" if why_none else said
            )
        twins = masked_judge(next(iter(subjects.values())), texts, why_none)
    prepared = prepare_readings(
        loaded,
        subjects,
        documents,
        plan,
        every_head=heads,
        about={"data": data, COMMANDS: commands},
        twins=twins,
        given=given,
    )
    if not quiet and prepared.chosen.unscored_note:
        show.note(f"note: {prepared.chosen.unscored_note}")
    if output is not None:
        prepared = prepared.kept_in(output)
    if place is not None and place.is_done:
        place.check_known()
        show.note(f"{output} is finished already; nothing to do.")
        _report(ReadingAudits.load(place.path, subjects), output, json, fail_on)
        return
    with show.DocumentBar(
        prepared.total, is_shown=not quiet, audits=len(subjects), seconds=seconds
    ) as bar:
        result = prepared.run(bar, is_written=output is not None)
    if not quiet:
        for sentence in result.notes:
            show.note(f"note: {sentence}")
    if output is not None:
        result.save(output)
        prepared.clear()
    _report(result, output, json, fail_on)


def _report(result: "ReadingAudits", output: Path | None, json: bool, fail_on: str | None) -> None:
    """Show the audits of all readings, write their report, and exit with code 1 if the verdicts are
    too bad."""
    from heedful import runs
    from heedful.cli import show

    if json:
        show.as_json(result.to_dict())
    else:
        if len(result.audits) > 1:  # the one alone says so itself
            show.result(Text(result.sentence, style="bold"))
            show.result(f"{show.one_line(str(result.in_plain_words))}\n")
        for line in shown(result):
            show.result(line)
        show.result(Text(f"\n{result.sentence}", style="bold"))
        if len(result.audits) > 1:
            for line in show.what_next(result.audits.values()):
                show.result(line)
    if output is not None:
        show.report(output / runs.REPORT, result.to_html, is_silent=json)
    verdicts = {audit.given_verdict or audit.verdict for audit in result.audits.values()}
    is_bad = verdicts == {"may-not"} or (fail_on == "not-safe" and "may" not in verdicts)
    if fail_on is not None and is_bad:
        raise typer.Exit(1)


def shown(result: "ReadingAudits") -> Iterator[Text]:
    """The one audit whole, or several side by side; then the ranking."""
    from heedful.cli import show
    from heedful.errors import percent

    audits = result.audits
    first = next(iter(audits.values()))
    if len(audits) == 1:
        yield from show.audited(first)
    else:
        accuracy = first.about["accuracy"]
        right = "" if accuracy is None else f"; accuracy {percent(accuracy)}"
        model = f"{first.about['model']} ({first.about['architecture']})"
        yield Text(f"{model}, {first.about['layers_and_heads']} layers and heads{right}")
        yield Text(f"its classifier reads {first.about['classifier_reads']}", style="dim")
        level = percent(float(first.about["interval_level"]))
        yield Text(show.audited_documents(first))
        yield Text(
            f"intervals are at {level}, so that all verdicts on {len(audits)} readings hold "
            "together at 95%"
        )
        yield Text(show.one_line(first.caveat) + "\n")
        for sentence in audits[result.best].given_sentences:
            yield Text(show.one_line(sentence), style="bold")
        yield from _side_by_side(audits)
    if result.chance:
        yield Text(f"\n{result.chance}", style="bold")
    if result.ranking:
        yield from _ranked(result)
    if result.instead and len(audits) > 1:
        yield Text(f"\n{result.best}: {result.instead}")
    if len(audits) > 1:
        yield Text(f"\n{show.one_line(first.calibration.track_record)}")


def _side_by_side(audits: "Mapping[str, Audit]") -> Iterator[Text]:
    """A line per reading and question, its judged or first test; then what was not asked."""
    from heedful.cli.show import one_line

    width = max(map(len, audits))
    first = next(iter(audits.values()))
    for answer in first.answers:
        if answer.judgement is None:
            yield Text(f"{answer.question}: not asked: {answer.reason}", style="dim")
            continue
        yield Text(f"{answer.question}: {answer.asks}", style="bold")
        for name, audit in audits.items():
            of_reading = audit.answer(answer.question)
            judged = [t for t in of_reading.tests if t.judgement != "reported"]
            test = [*judged, *of_reading.tests][:1]
            if not test:
                yield Text(f"  {name:<{width}}  not asked: {of_reading.reason}", style="dim")
                continue
            score = test[0].score
            low, high = score.interval
            number = (
                "no score"
                if np.isnan(score.score)
                else f"{score.score:5.2f} [{low:.2f}, {high:.2f}]"
            )
            judgement = of_reading.judgement if judged else ""
            yield Text(f"  {name:<{width}}  {test[0].name}: {number}  {judgement}".rstrip())
            if judged and test[0].note:
                yield Text(f"  {'':<{width}}  {one_line(test[0].note)}", style="dim")


def _ranked(result: "ReadingAudits") -> Iterator[Text]:
    """What the top words of each reading tell beyond random ones."""
    from heedful import runs

    ranking = result.ranking
    yield Text(
        f"\ndrop in probability without the top words, minus that of random words; intervals that "
        f"hold for all {len(ranking)} readings together",
        style="bold",
    )
    width = max(len(row["reading"]) for row in ranking)
    for place, row in enumerate(ranking[:MOST_ROWS], start=1):
        tells = "" if row["tells"] else "  no better than random words"
        yield Text(
            f"{place:>3}  {row['reading']:<{width}}  {row['over_random']:6.3f} "
            f"[{row['low']:.3f}, {row['high']:.3f}]{tells}"
        )
    if len(ranking) > MOST_ROWS:
        yield Text(
            f"     and {len(ranking) - MOST_ROWS} more, in {runs.READINGS} with -o", style="dim"
        )
    best = ranking[0]["reading"]
    if best not in result.audits and ranking[0]["tells"]:
        yield Text(f"{best} ranks first, but was not audited. Audit it on other documents with")
        yield Text(f"--readout {best}")
