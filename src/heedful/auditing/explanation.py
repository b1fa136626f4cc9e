"""One text explained by whatever can be audited: any subject, and what a subject is made of.

    pipeline, (model, tokenizer), ModuleAdapter, Subject ──> Subject ── text ──> Explanation

Unlike `importance.explanation`, nothing is known here of the inside of the model: a subject says
which measures it has, and words are deleted in its own way.
"""

import sys
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.subjects.base import Subject
from heedful.auditing.subjects.modules.adapter import ModuleAdapter
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.errors import ConfigError, DataError
from heedful.importance.base import Importance, Measure
from heedful.importance.explanation import (
    NO_WORDS,
    USUAL_MEASURES,
    Explanation,
    IsKept,
    with_deletions,
)


def explain_with(
    subject: Subject, text: str, measures: Sequence[Measure] | None = None
) -> Explanation:
    """Explain the class that a subject gives a text; by default with the usual measures it has."""
    subject, names = _with_named(subject, measures)
    reading = subject.read([text])
    offsets = reading.offsets[0]
    if not len(offsets):
        raise DataError(NO_WORDS)
    explanation = Explanation(
        text,
        offsets,
        subject.classes,
        reading.probabilities[0],
        {name: subject.importance(reading, name)[0, : len(offsets)] for name in names},
        (),
        unsigned=tuple(name for name in names if not subject.measure(name).is_signed),
    )

    def predict_kept(is_kept: IsKept) -> Float[ndarray, "variants classes"]:
        return subject.predict_kept(reading, np.zeros(len(is_kept), dtype=np.int64), is_kept)

    return with_deletions(explanation, predict_kept)


def subject_of_any(given: object, tokenizer: object = None, readout: str = "last-cls") -> Subject:
    """What can be asked of a model of somebody else's.

    It is a subject already, a `ModuleAdapter`, or a Hugging Face sequence classifier: a model with
    its `tokenizer`, a pair of them, or a pipeline, whose attention is read out as `readout` says.
    """
    if isinstance(given, Subject):
        return given
    if isinstance(given, ModuleAdapter):
        return ModuleSubject(given)
    if "transformers" in sys.modules:  # else nobody can have made a model of it
        from heedful.auditing.subjects.huggingface.loading import of_anything
        from heedful.auditing.subjects.huggingface.subject import subject_of
        from heedful.readouts import readouts

        if (loaded := of_anything(given, tokenizer)) is not None:
            return subject_of(loaded.model, readouts.make(readout), loaded.classes)
    raise DataError(
        f"{type(given).__name__} cannot be read: give a fitted heedful.Classifier, a Hugging "
        "Face sequence classifier with its tokenizer, a heedful.ModuleAdapter of any other module "
        "(docs/any-module.md), or a heedful Subject."
    )


def _with_named(subject: Subject, measures: Sequence[Measure] | None) -> tuple[Subject, list[str]]:
    """The subject with the measures that are wanted, and their names.

    A function (model, batch, target) is refused.
    """
    if measures is None:
        return subject, [name for name in USUAL_MEASURES if name in subject.measures]
    names = []
    for measure in measures:
        if isinstance(measure, str):
            names.append(measure)
        elif isinstance(measure, Importance):
            before = subject.further
            subject = subject.with_measures([measure])
            names += [name for name in subject.further if name not in before]
        else:
            raise ConfigError(
                "your own functions (model, batch, target) need a fitted heedful.Classifier; for "
                "this model, give measures by name, one of heedful.importance.Importance, or a "
                "Captum method through heedful.importance.from_captum. Available: "
                f"{', '.join(subject.measures)}."
            )
    return subject, names
