"""What a test of an audit is: one definition that report, compare, page, calibration and docs read.

A question declares its tests (`Question.tests`); `heedful.auditing.questions.audit_tests()` has all
of them by name. A test that measures a dose is judged, once `heedful calibrate` has found the score
at which the dose becomes intolerable, for the kinds of models that it found it on.
"""

from dataclasses import dataclass

from heedful.auditing.metrics.base import Better
from heedful.auditing.operating_points import BYPASS, FALSE_DOCUMENTS, WRITTEN_CHOICE

# What the dose of a judged test is a share of, and how much of it is tolerable.
DOSES = {
    FALSE_DOCUMENTS: ("documents with a false picture", 0.15),
    BYPASS: ("the decision, in log-odds, that reaches the output past the weights", 0.45),
    WRITTEN_CHOICE: ("documents whose top word is chosen to say the label", 0.3),
}


@dataclass(frozen=True)
class AuditTest:
    """One test of a question, read between a floor and a ceiling on the same documents."""

    name: str  # as audit.json and the operating points name it
    better: Better
    paper: str  # where the test comes from; "ours, beside …" if it is from none
    floor: str  # what a worthless explanation scores, in words
    ceiling: str  # what the best available one scores, in words
    column: str | None = None  # a number per document in per_example.parquet; None: corpus-level
    needs_retraining: bool = False  # asked only in deep audits
    is_compared: bool = False  # `compare` tests its paired differences
    is_usual_column: bool = False  # the page's table of documents shows it unasked
    # What the zoo checks its models by. A test that measures the same thing defines the truth there
    # and has no power of its own.
    defined_by: tuple[str, ...] = ()
    dose: str = ""  # what of a model its score measures, if that can be said as a share (`DOSES`)
    # The test whose cuts judge it too where the zoo has none of its own: the same dose, measured
    # another way.
    repeats: str = ""
    judged_for: tuple[str, ...] = ("classifier", "module", "transformer", "function")
    is_settled_in_zoo: bool = True  # whether what is known of the zoo's models says how it must end
