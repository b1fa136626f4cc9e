"""What commands show: notes and progress on standard error, results on standard output."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from rich.text import Text

from heedful.auditing.alternatives import other_readings
from heedful.auditing.next_step import LEAD, next_steps
from heedful.auditing.operating_points import NOT_CALIBRATED
from heedful.auditing.plain_words import cut_in_words, far_outside, in_plain_words
from heedful.auditing.progress import MEASURING, AuditWatcher
from heedful.auditing.scope import scope
from heedful.auditing.time_budget import duration, elapsed
from heedful.auditing.verdict import GAIN
from heedful.errors import MissingPackage, counted, missing_packages_named, percent
from heedful.progress import Clock, Completed, RegularLines, about
from heedful.runs import RunFolder
from heedful.terminal import Terminal, write_json
from heedful.training.progress import documents_bar
from heedful.visible import one_line as one_line
from heedful.visible import places, written_out

if TYPE_CHECKING:
    from heedful.auditing.comparison import Comparison
    from heedful.auditing.results import Audit, TestResult
    from heedful.importance.explanation import Explanation
    from heedful.training.trained import Trained


def note(sentence: str) -> None:
    """A sentence on standard error."""
    Terminal(stderr=True).say(sentence)


def result(line: str | Text) -> None:
    """A line of the answer on standard output."""
    Terminal().say(line)


def as_json(value: object) -> None:
    """The answer for machines: one JSON value per line."""
    write_json(value)


def score_line(trained: "Trained") -> str:
    """The most honest score there is, in a sentence."""
    part = "test" if "test" in trained.metrics else "dev"
    if part not in trained.metrics:
        return "no documents were held out, so there is no score"
    scores = trained.metrics[part]
    low, high = (percent(bound) for bound in scores["accuracy_interval"])
    chosen = "" if part == "test" else " (also used to choose the epoch, so this is optimistic)"
    return (
        f"{part} accuracy {percent(scores['accuracy'])} on {scores['documents']:,} documents"
        f"{chosen}; 95% interval {low} to {high}; "
        f"always predicting the most common label: {percent(scores['majority_accuracy'])}"
    )


ORANGE, BLUE = (255, 150, 40), (90, 160, 255)  # told apart by every kind of colour vision
GREEN = (60, 190, 145)  # of scores without a sign; apart from both for every colour vision
GREY = (150, 150, 150)  # no strength: stands out neither on a dark nor on a light terminal


def shaded(
    text: str,
    offsets: Int[ndarray, "words 2"],
    scores: Float[ndarray, " words"],
    is_signed: bool = True,
) -> Text:
    """The text with each word's background as strong as its score; the largest is full.

    Orange above zero, blue below; green if the scores have no sign.
    """
    largest = np.abs(scores).max(initial=0.0) or 1.0
    spaced = re.sub(r"\s", " ", text)  # one for one, so that offsets hold
    line = Text(written_out(spaced))
    place = places(spaced)
    for (start, end), score in zip(offsets.tolist(), scores.tolist(), strict=True):
        strength = abs(score) / largest
        if strength >= 0.1:
            full = GREEN if not is_signed else ORANGE if score > 0 else BLUE
            red, green, blue = (
                round(weak + strength * (tone - weak))
                for weak, tone in zip(GREY, full, strict=True)
            )
            line.stylize(f"black on rgb({red},{green},{blue})", place[start], place[end])
    return line


def strongest(words: Sequence[str], scores: Float[ndarray, " words"], count: int = 3) -> str:
    """The words furthest from zero with their scores, for where colours do not show."""
    places = np.argsort(-np.abs(scores), kind="stable")[:count].tolist()
    return " · ".join(f"{one_line(words[place])} {scores[place]:.2f}" for place in places)


def explained(explanation: "Explanation", anyway: bool = False) -> Iterator[Text]:
    """Prediction, the text once per measure, and what deleting top words does.

    `anyway`: a heat map that is withheld is shown too, and said to be not safe.
    """
    probability = explanation.probabilities.max()
    yield Text(f"{one_line(str(explanation.prediction))} {probability:.3f}\n")
    if explanation.withheld:
        yield Text(one_line(explanation.text))
        yield Text(one_line(explanation.withheld))
        return
    if explanation.shown is not None:
        may = "may" if explanation.shown else "should not"
        yield Text(f"The heat map of attention {may} be shown. {one_line(explanation.why)}\n")
    width = max(map(len, explanation.scores))
    for measure, scores in explanation.scores.items():
        if measure not in explanation.drawn and not anyway:
            yield Text(f"{measure:<{width}}  withheld; --anyway shows it", style="dim")
            continue
        is_signed = measure not in explanation.unsigned
        line = shaded(explanation.text, explanation.offsets, scores, is_signed)
        yield Text(f"{measure:<{width}}  ") + line
        yield Text(f"{'':<{width}}  {strongest(explanation.words, scores)}", style="dim")
    deletions = explanation.deletions if anyway else explanation.drawn_deletions
    if deletions:
        yield Text(
            f"\nprobability of {one_line(str(explanation.prediction))} without the top words"
        )
    for deletion in deletions:
        gone = one_line(" · ".join(deletion.words))
        yield Text(f"{deletion.measure:<{width}}  {deletion.probability:.3f}  without {gone}")


def audited(audit: "Audit") -> Iterator[Text]:
    """The verdicts, then every answer with its tests between their controls."""
    for sentence in audit.given_sentences:
        yield Text(one_line(sentence), style="bold")
    yield Text(audit.sentence, style="bold")
    yield Text(f"{one_line(str(audit.in_plain_words))}\n")
    if said := scope(audit):
        yield Text(one_line(said))
    if rule := audit.single_texts():
        yield Text(rule.sentence)
    yield Text(one_line(audit.caveat) + "\n")
    yield Text(f"{audited_documents(audit)}. A score of 0 is worthless, 1 the best known.")
    if audit.accuracies:
        yield Text(f"accuracy {'; '.join(audit.accuracies.values())}")
    if audit.chance:
        yield Text(one_line(audit.chance), style="bold")
    for answer in audit.answers:
        judgement = answer.judgement or f"not asked: {answer.reason}"
        yield Text(f"\n{answer.question}: {judgement}", style="bold")
        yield Text(f"  {answer.asks}", style="dim")
        for test in answer.tests:
            yield Text(f"  {_test_line(test)}")
            yield Text(f"    {_right_line(test, audit)}", style="dim")
            if explained_cut := cut_in_words(test, audit):
                yield Text(f"    {explained_cut}", style="dim")
            if test.note and not np.isnan(test.score.ceiling):
                yield Text(f"    {one_line(test.note)}", style="dim")
        for fact in audit.evidence.get("facts", ()):
            if fact["question"] == answer.question:
                yield Text(f"  {_fact_line(fact)}", style="dim")
    if audit.instead:
        yield Text(f"\n{audit.instead}", style="bold")
    yield from _other_readings(audit)
    yield from what_next([audit])
    if audit.calibration.track_record:
        yield Text(f"\n{audit.calibration.track_record}")


def _other_readings(audit: "Audit") -> Iterator[Text]:
    """A line for each reading that is no attention."""
    rows = other_readings(audit.evidence.get("measures", ()))
    width = max((len(name) for name, *_ in rows), default=0)
    for name, share, _, _, verdict in rows:
        yield Text(f"  {one_line(name):<{width}}  false on {share}: {verdict}", style="dim")


def what_next(audits: "Iterable[Audit]") -> Iterator[Text]:
    """The commands after a no."""
    if steps := next_steps(*audits):
        yield Text(f"\n{LEAD}", style="bold")
        yield from (Text(f"  {step}") for step in steps)


def audited_documents(audit: "Audit") -> str:
    """How many documents, and what was left out or cut."""
    parts = [f"{audit.documents:,} documents"]
    if audit.documents < audit.available:
        wider = (audit.available / audit.documents) ** 0.5
        parts = [
            f"a random sample of {audit.documents:,} of {audit.available:,} documents, so "
            f"intervals are about {wider:.1f} times as wide as with all"
        ]
    if trained_on := audit.about.get("documents_trained_on"):
        parts.append(f"{trained_on:,} of them used in training, so this says little about new text")
    if audit.single_words:
        parts.append(counted(audit.single_words, "document") + " of one word left out")
    if cut := audit.about.get("documents_cut"):
        parts.append(counted(cut, "document") + " cut to the length the model reads")
    if windowed := audit.about.get("documents_in_windows"):
        parts.append(counted(windowed, "document") + " read in windows")
    return "; ".join(parts)


def compared(comparison: "Comparison") -> Iterator[Text]:
    """Accuracy and verdict of each run, then scores, then paired differences."""
    width = max(map(len, comparison.audits))
    for name, audit in comparison.audits.items():
        accuracy, on_test = audit.about.get("accuracy"), audit.about.get("test_accuracy")
        right = "accuracy unknown" if accuracy is None else f"accuracy {percent(float(accuracy))}"
        right += "" if on_test is None else f" (test accuracy {percent(float(on_test))})"
        yield Text(f"{name:<{width}}  {right}  {audit.sentence}")
        what_now = in_plain_words(audit, commands_follow=False).next
        for sentence in filter(None, (scope(audit), what_now)):
            yield Text(f"{'':<{width}}  {one_line(sentence)}", style="dim")
    judged_by = [audit.cuts for audit in comparison.audits.values()]
    if any(cuts != judged_by[0] for cuts in judged_by):
        yield Text("\nverdicts may differ because the audits were judged by different cuts:")
        for name, audit in comparison.audits.items():
            yield Text(f"{name:<{width}}  {one_line(audit.calibration.origin)}")
    yield Text("\nscores between floor 0 and ceiling 1, with 95% intervals", style="bold")
    by_test: dict[tuple[str, str], dict[str, str]] = {}
    for row in comparison.scores:
        has_score = not np.isnan(row["score"])
        cell = (
            f"{row['score']:5.2f} [{row['low']:.2f}, {row['high']:.2f}]"
            if has_score
            else "no score"
        )
        by_test.setdefault((row["question"], row["test"]), {})[row["run"]] = cell
    yield Text(f"{'':<52}" + "".join(f"{name:<24}" for name in comparison.audits), style="dim")
    for (question, test), cells in by_test.items():
        shown = "".join(f"{cells.get(name, 'not asked'):<24}" for name in comparison.audits)
        yield Text(f"{question:<11} {test:<40}{shown}".rstrip())
    yield Text("\npaired differences on the same documents", style="bold")
    for row in comparison.differences:
        verdict = f"favours {row['favours']}" if row["favours"] else "no clear difference"
        yield Text(
            f"{row['test']:<40}{row['first']} - {row['second']}: {row['difference']:+.3f} "
            f"[{row['low']:+.3f}, {row['high']:+.3f}]  {verdict}"
        )


def _test_line(test: "TestResult") -> str:
    score = test.score
    low, high = score.interval
    judged = "" if test.judgement == "reported" else f"  {test.judgement}"
    if np.isnan(score.value):
        return f"{test.name:<40} no number: nothing to measure in these documents{judged}"
    between = (
        f"{test.name:<40} {score.value:6.3f} between {score.floor:6.3f} and {score.ceiling:6.3f}: "
    )
    if np.isnan(score.ceiling):
        return f"{test.name:<40} {score.value:6.3f} against {score.floor:6.3f}: {test.note}{judged}"
    if np.isnan(score.score):
        is_apart = score.separates(test.better)
        why = "the control failed" if is_apart else "floor and ceiling do not separate here"
        return f"{between}no score, {why}{judged}"
    outside = f"  ({far_outside(score)})" if far_outside(score) else ""
    return f"{between}score {score.score:5.2f} [{low:.2f}, {high:.2f}]{judged}{outside}"


def _right_line(test: "TestResult", audit: "Audit") -> str:
    """A judged test's cut, and how often the test is right on models with a known answer."""
    if test.judgement == "reported" or test.name in audit.cuts:
        return one_line(audit.said_of(test.name))
    point = audit.calibration.of(test.name)
    known = NOT_CALIBRATED if point is None else one_line(point.known)
    return f"cut {100 * GAIN:.1f} points of accuracy · {known}"


def _fact_line(fact: Mapping[str, Any]) -> str:
    note = f"  {fact['note']}" if fact["note"] else ""
    if fact["mean"] is None or np.isnan(fact["mean"]):
        return f"{fact['name']:<40} no number{note}"
    between = f"[{fact['low']:.3f}, {fact['high']:.3f}]"
    return f"{fact['name']:<40} {fact['mean']:6.3f} {between}{note}"


def report(path: Path, write: Callable[[Path], None], is_silent: bool = False) -> None:
    """Write the report of results that are saved and shown already, and say where it is.

    It comes last, so that a package which only the report needs can be missing without loss.
    """
    # That of a finished audit is there already, unless it was killed while it sealed the report.
    if not path.exists() or RunFolder(path.parent).is_outside_seal(path.name):
        try:
            with missing_packages_named("the report"):
                write(path)
        except MissingPackage as error:
            saved = f"The results are saved in {path.parent}; only the report is missing."
            raise MissingPackage(f"{error} {saved}") from error
    if not is_silent:
        result(f"\nreport: {path}")


class DocumentBar(AuditWatcher):
    """Documents that are audited and the time left: a bar on a terminal, lines elsewhere.

    `audits` of the same documents are shown as one. With a budget in `seconds` the line says how
    much of it is used.
    """

    def __init__(
        self,
        documents: int,
        is_shown: bool,
        *,
        audits: int = 1,
        seconds: float | None = None,
        console: Terminal | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.console = console or Terminal(stderr=True)
        self._is_shown, self._audits, self._seconds = is_shown, audits, seconds
        self._progress = documents_bar(self.console, is_shown and self.console.is_terminal)
        self._task = self._progress.add_task(MEASURING, total=documents)
        self._completed = Completed(documents, clock)
        self._measured = 0  # documents, in all audits together
        self._is_planned = seconds is None
        self._phase = MEASURING
        self.lines = RegularLines(self._line, self._print, clock=clock)

    def __enter__(self) -> "DocumentBar":
        self._progress.start()
        if self._is_shown and not self.console.is_terminal:
            self.lines.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self.lines.__exit__(*failure)
        self._progress.stop()

    def begin_phase(self, phase: str) -> None:
        """Name what is under way."""
        self._phase = phase
        self._progress.update(self._task, description=phase)

    def expect(self, documents: int) -> None:
        """Change the length of the bar."""
        self._is_planned = True
        self._completed.total = documents // self._audits
        self._progress.update(self._task, total=self._completed.total)

    def advance(self, documents: int) -> None:
        """So many more documents are done."""
        self._measured += documents
        self._completed.done = self._measured // self._audits
        self._progress.update(self._task, completed=self._completed.done)

    def note(self, sentence: str) -> None:
        """Print it."""
        if self._is_shown:
            self._print(f"note: {sentence}")

    def _line(self) -> str:
        completed = self._completed
        if self._seconds is None:
            is_measuring = self._phase == MEASURING
            words = completed.words if is_measuring else f"{about(completed.seconds)} so far"
            return f"{self._phase}: {words}"
        used = f"{elapsed(completed.seconds)} of {duration(self._seconds)} used"
        if self._phase != MEASURING:
            return f"{self._phase}: {used}"
        if not self._is_planned:
            return f"{self._phase}: the first document, {used}"
        return f"{self._phase}: {completed.done:,} of about {completed.total:,} documents, {used}"

    def _print(self, line: str) -> None:
        self.console.say(line)
        self.lines.restart()
