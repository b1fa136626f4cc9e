"""Take its top words away: does the decision fall? Keep only them: does it stand?

Attention has no sign, so words that speak against the decision are deleted last, in attention and
in random rankings alike (`WordEffects.opposing_last`); measures that have a sign rank as they are.
Each document's *picture* is judged by itself (`heedful.auditing.pictures`). Where even the best
ranking hardly moves the decision, no words carry it: the document is *silent*.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import score_share
from heedful.auditing.nearness import nearness
from heedful.auditing.pictures import (
    ATTENTION,
    Deleting,
    cheap_rankings,
    judge_pictures,
    numbers_of,
)
from heedful.auditing.questions.base import (
    LEAVE_ONE_OUT,
    AuditSettings,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    cross_fitted_best,
    questions,
)
from heedful.auditing.questions.erased import (
    BEAM,
    BEST_OF,
    CANDIDATES,
    FALL,
    GREEDY,
    OF_THE_JUDGE,
    TESTS,
    WORST,
    Rows,
    erasure_tests,
    named_columns,
)
from heedful.auditing.questions.other_judges import (
    FALL_DRAWS,
    OTHER_WAYS,
    judged_otherwise,
    other_tests,
)
from heedful.auditing.questions.other_readings import chosen_elsewhere, measured_readings
from heedful.auditing.questions.telling_evidence import (
    ON_CURVES,
    ceiling_sentence,
    ceiling_table,
    class_table,
    curve_table,
    curves,
    empty_curves,
    limit_facts,
    measure_table,
)
from heedful.auditing.results import Column, TestResult
from heedful.auditing.subjects.base import Words
from heedful.auditing.subjects.erasure import Ranking
from heedful.auditing.subjects.order_search import OrderSearch, search_orders
from heedful.auditing.subjects.retrained import MASKED_JUDGE, Twin, as_trained
from heedful.auditing.verdict import judge_pictures_of
from heedful.errors import counted
from heedful.training.settings import Settings

TRUE_PICTURES = AuditTest(
    "true pictures", "higher", "ours, after ERASER", "no document",
    "every document", "is_true_picture", is_compared=True, is_usual_column=True,
    dose="false-documents",
)  # fmt: skip


@questions.register("telling")
@dataclass(frozen=True)
class Telling(Question):
    """Predictions after erasing the top words, by the same model or by another judge."""

    name = "telling"
    place = 4
    asks = "Does the decision change without the top words, and stay the same with only them?"
    tests = (TRUE_PICTURES, *(way.test for way in OTHER_WAYS), *TESTS.values())

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """A judge that is used to texts with words replaced."""
        return (Twin(MASKED_JUDGE, as_trained(run), words="masked"),)

    def measure(self, group: DocumentGroup) -> Measured:
        """Every test for attention, each candidate of the ceiling, and random rankings.

        The sampled documents also get greedy erasure, every other measure, and curves.
        """
        subject, reading, settings = group.subject, group.reading, group.settings
        effects = group.effects_by(group.judge)
        everyone, sample = np.arange(len(reading.weights)), np.flatnonzero(group.is_sampled)
        rankings = cheap_rankings(reading, effects)
        if group.judge is not subject:  # of its own words, and the subject's is ranked beside it
            rankings[OF_THE_JUDGE] = rankings[LEAVE_ONE_OUT]
        rankings |= {
            measure: _ranking(group, measure, group.importance)
            for measure in BEST_OF
            if measure in subject.measures
        }
        further = {}
        if len(sample):
            further = _searched(group, sample) | {
                measure: _ranking(group, measure, group.importance_of_sample)
                for measure in subject.measures
                if measure not in rankings and measure != "random"
            }
        # Over all words: within the support of sparse attention there may be nothing to rank.
        draws = group.rng.random((settings.random_draws, *reading.weights.shape))
        at_random = [effects.opposing_last(draw) for draw in draws]
        numbers = numbers_of(reading, effects, settings.fractions)
        of_all = erasure_tests(group, everyone, list(rankings.values()), numbers)
        of_sample = erasure_tests(group, sample, list(further.values()), numbers) if further else []
        falls = {name: fall for name, (fall, _) in zip(rankings, of_all, strict=True)}
        falls |= {
            name: _spread(fall, sample, len(everyone))
            for name, (fall, _) in zip(further, of_sample, strict=True)
        }
        best = np.fmax.reduce([falls[name] for name in CANDIDATES if name in falls])
        deleting = Deleting(numbers, best)
        # What random rankings need not be asked for is left out: most of the cost is theirs.
        of_draws = erasure_tests(group, everyone, at_random[:FALL_DRAWS], deleting.counted_numbers)
        floor = np.mean([fall for fall, _ in of_draws], axis=0)
        tests_at_random = [tests for _, tests in of_draws]
        columns = {f"{FALL}_{name}": deleting.mean(fall) for name, fall in falls.items()}
        columns[f"{FALL}_random"] = deleting.mean(floor)
        columns |= named_columns([tests for _, tests in of_all], rankings)
        columns |= named_columns([_floor(group, sample, at_random, tests_at_random)], ["random"])
        columns |= {
            name: _spread(column, sample, len(everyone))
            for name, column in named_columns([tests for _, tests in of_sample], further).items()
        }
        columns |= _pictures(group, columns, deleting)
        columns |= measured_readings(group, columns, deleting)
        repeated = [name for name in BEST_OF if name in subject.measures and name != LEAVE_ONE_OUT]
        columns |= judged_otherwise(group, repeated)
        if group.judge is subject:  # another judge is not there when a single text is read
            columns["nearness"] = nearness(subject, reading, effects, numbers, falls).score
        if not len(sample):
            return Measured(columns, empty_curves(group))
        on_curves = {name: rankings[name] for name in rankings if name in ON_CURVES}
        return Measured(columns, curves(group, sample, on_curves | {"random": at_random[0]}))

    def conclude(self, found: Findings) -> Conclusion:
        """The share of true pictures, and each test between random rankings and the best."""
        columns = found.columns
        tests = [_true_pictures(found), *other_tests(found)]
        for name, test in TESTS.items():
            if np.isnan(columns[f"{name}_attention"]).all():
                continue  # accuracy needs labels
            known = {m: f"{name}_{m}" for m in CANDIDATES if m != ATTENTION}
            candidates = {m: column for m, column in known.items() if column in columns}
            rng = found.rng_for(f"best measure by {name}")
            best, chosen = cross_fitted_best(columns, candidates, test.better, rng)
            value, floor = columns[f"{name}_attention"], columns[f"{name}_random"]
            note = f"best measure: {chosen}"
            tests.append(found.test(test, value, floor, best, note=note))
        measures = measure_table(found, TRUE_PICTURES)
        evidence = {
            "curves": curve_table(found),
            "measures": measures,
            "instead": chosen_elsewhere(found, measures, TRUE_PICTURES),
            "classes": class_table(found),
            "ceiling": ceiling_table(found),
            "facts": (*limit_facts(found), *_no_judge(found)),
        }
        return Conclusion(tuple(tests), evidence)


def _no_judge(found: Findings) -> list[dict[str, object]]:
    """Why a deep audit has no judge that was trained on masked texts."""
    why = found.twins.why_no_judge
    return found.untrained(MASKED_JUDGE) + (
        [found.no_fact("judge trained on masked texts", why)] if why else []
    )


def _ranking(group: DocumentGroup, measure: str, importance: Callable[[str], Words]) -> Ranking:
    """A measure as a ranking; one without a sign has words against the decision last."""
    effects = group.effects_by(group.judge)
    if measure == LEAVE_ONE_OUT and group.judge is group.subject:
        return effects.lost  # in log-odds the order is the same, and holds where p is 1
    scores = importance(measure)
    return scores if group.subject.measure(measure).is_signed else effects.opposing_last(scores)


def _searched(group: DocumentGroup, sample: Rows) -> dict[str, Ranking]:
    """Orders of deletion of the sampled documents: greedy, and what a beam finds if asked for."""
    settings, effects = group.settings, group.effects_by(group.judge)
    greedy = OrderSearch(settings.greedy_words, settings.greedy_candidates)
    searches = {GREEDY: greedy}
    if settings.beam_width:
        beam = replace(greedy, width=settings.beam_width)
        searches[BEAM] = replace(beam, until_lost=True)
        searches[WORST] = replace(beam, is_slowest=True)
    return {
        name: search_orders(
            group.judge, group.reading, sample, effects.lost, effects.lost_at, search
        )
        for name, search in searches.items()
    }


def _floor(
    group: DocumentGroup,
    sample: Rows,
    at_random: Sequence[Ranking],
    of_first: Sequence[Float[ndarray, "tests documents"]],
) -> Float[ndarray, "tests documents"]:
    """The mean tests of random rankings: of all in the sampled documents, of the first elsewhere.

    A test's floor is a mean over documents, too. Beyond the sample, more documents make it as sure
    as more rankings of each would.
    """
    floor = np.mean(of_first, axis=0)
    if len(sample):
        of_more = erasure_tests(group, sample, at_random[len(of_first) :])
        of_all = [tests[:, sample] for tests in of_first] + [tests for _, tests in of_more]
        floor[:, sample] = np.mean(of_all, axis=0)
    return floor


def _pictures(
    group: DocumentGroup, columns: Mapping[str, Column], deleting: Deleting
) -> dict[str, Column]:
    """How true each document's picture is, and which are false; NaN of a silent document."""
    effects = group.effects_by(group.judge)
    fall, floor = columns[f"{FALL}_{ATTENTION}"], columns[f"{FALL}_random"]
    found = judge_pictures(group.judge, group.reading, effects, deleting, fall, floor)
    return {
        f"{FALL}_best": found.best,
        "picture": found.place,
        "is_true_picture": found.is_true,
        "is_silent": found.is_silent.astype(np.float64),
    }


def _spread(
    values: Float[ndarray, "some ..."], sample: Rows, documents: int
) -> Float[ndarray, "documents ..."]:
    """What was found of the sample, among all documents; NaN of the others."""
    spread = np.full((documents, *values.shape[1:]), np.nan)
    spread[sample] = values
    return spread


def _true_pictures(found: Findings) -> TestResult:
    is_silent = found.columns["is_silent"]
    silent, asked = int(np.nansum(is_silent)), int((~np.isnan(is_silent)).sum())
    notes = [ceiling_sentence(found)]
    if silent:
        notes += [f"{counted(silent, 'silent document')}: no words carry the decision there"]
    shown = score_share(found.columns["is_true_picture"], found.settings.bootstrap)
    judged = found.judged(TRUE_PICTURES, shown, note="; ".join(filter(None, notes)))
    return replace(judged, judgement=judge_pictures_of(judged.judgement, silent, asked))
