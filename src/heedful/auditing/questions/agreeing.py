"""Does attention rank words as measured importance does?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.metrics.ranking import kendall_tau, pearson, top_overlap, weighted_tau
from heedful.auditing.questions.base import (
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import Column

OF_INPUTS = ("gradient-x-input-held", "leave-one-out")  # Jain & Wallace's two
OF_STATES = ("state-gradient-norm", "leave-one-out-states")  # Meister et al. compare with these
Agreement = Callable[[np.ndarray, np.ndarray, np.ndarray], Column]
AGREEMENTS: dict[str, Agreement] = {
    "kendall_tau": kendall_tau,  # as published
    "weighted_tau": weighted_tau,  # the long tail of words that do not matter drowns the plain one
    "pearson": pearson,
    "top_overlap": top_overlap,
}
MEISTER = "Meister et al. 2021"
PAPERS = {"kendall_tau": "Jain & Wallace 2019"}  # all others are ours, beside it
COMPARED = ("kendall_tau", "weighted_tau")


def _test(agreement: str, measure: str) -> AuditTest:
    is_of_states, is_compared = measure in OF_STATES, agreement in COMPARED
    return AuditTest(
        f"{agreement} with {measure}",
        "higher",
        MEISTER if is_of_states else PAPERS.get(agreement, "ours, in addition to tau"),
        "random weights",
        "the other measure of importance",
        f"{agreement}_{measure}",
        # Weights times states decide, so attention may rank states rightly and words wrongly.
        is_settled_in_zoo=not is_of_states,
        is_compared=is_compared and measure == "leave-one-out",
        is_usual_column=(agreement, measure) == ("kendall_tau", "leave-one-out"),
    )


TESTS = {
    (agreement, measure): _test(agreement, measure)
    for agreement in AGREEMENTS
    for measure in (*OF_INPUTS, *(OF_STATES if agreement == "kendall_tau" else ()))
}


@questions.register("agreeing")
@dataclass(frozen=True)
class Agreeing(Question):
    """Rank agreement of attention with the absolute importance; attention has no sign."""

    name = "agreeing"
    place = 3
    asks = "Does attention rank words as importance measures do?"
    tests = tuple(TESTS.values())

    def measure(self, group: DocumentGroup) -> Measured:
        """Agreement with each measure, of attention, of random weights, of the other measure."""
        subject, reading = group.subject, group.reading
        noise = group.rng.random(reading.weights.shape)
        columns: dict[str, Column] = {}
        for pair, agreements in (
            (OF_INPUTS, AGREEMENTS),
            (OF_STATES, {"kendall_tau": kendall_tau}),
        ):
            importance = {
                measure: np.abs(group.importance(measure))
                for measure in pair
                if measure in subject.measures
            }
            for name, agree in agreements.items():
                for measure, scores in importance.items():
                    named = f"{name}_{measure}"
                    columns[named] = agree(reading.weights, scores, reading.is_token)
                    columns[f"{named}_random"] = agree(noise, scores, reading.is_token)
                    others = [other for key, other in importance.items() if key != measure]
                    for other in others:
                        columns[f"{named}_other"] = agree(other, scores, reading.is_token)
        return Measured(columns)

    def conclude(self, found: Findings) -> Conclusion:
        """Each agreement between random weights and the other measure of importance."""
        columns = found.columns
        tests = []
        for test in TESTS.values():
            named = str(test.column)
            if named in columns:
                ceiling = columns.get(f"{named}_other", 1.0)
                tests.append(found.test(test, columns[named], columns[f"{named}_random"], ceiling))
        return Conclusion(tuple(tests))
