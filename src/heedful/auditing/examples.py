"""Which documents of an audit are drawn as heat maps, and their scores."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.alternatives import SIGNED
from heedful.auditing.results import Audit, ShownDocument
from heedful.auditing.subjects.base import Subject
from heedful.text.documents import Span

EACH = 3  # documents of each kind
MOST_WORDS = 400  # a longer heat map is not read
AT_RANDOM = "drawn at random"
WORST = "attention misses most of the decisive words"


def show_documents(
    subject: Subject,
    audit: Audit,
    order: Int[ndarray, " documents"],
    marked: Sequence[Sequence[Span] | None],
) -> tuple[ShownDocument, ...]:
    """A few documents in random order, and those where attention misses most.

    `marked` is what people marked as the reason in each document, or None.
    """
    words = audit.columns["words"]
    fits = (words >= 2) & (words <= MOST_WORDS)
    if (withheld := audit.columns.get("is_withheld")) is not None:
        fits &= withheld != 1  # a run that withholds a heat map is not drawn here either
    picked = [(AT_RANDOM, int(place)) for place in order[fits[order]][:EACH]]
    told, best = (
        audit.columns.get(f"comprehensiveness_{m}") for m in ("attention", "leave-one-out")
    )
    if told is not None and best is not None:
        missed = np.where(fits, best - told, -np.inf)
        worst = np.argsort(-np.nan_to_num(missed, nan=-np.inf), kind="stable")[:EACH]
        picked += [(WORST, int(place)) for place in worst if missed[place] > 0]
    return tuple(_shown(subject, audit, why, place, marked[place] or ()) for why, place in picked)


def _measures(subject: Subject, audit: Audit) -> list[str]:
    """Attention, leave-one-out, the measure that told most, and attention with a sign if it may be
    shown where attention may not."""
    rows = audit.evidence.get("measures", ())
    ranked = [row["measure"] for row in rows]
    best = next((m for m in ranked if m not in ("attention", "leave-one-out", "random")), None)
    wanted = ["attention", "leave-one-out", best or "gradient-x-input"]
    if audit.verdict != "may":
        wanted += [SIGNED for row in rows if (row["measure"], row["verdict"]) == (SIGNED, "may")]
    return [measure for measure in dict.fromkeys(wanted) if measure in subject.measures]


def _shown(
    subject: Subject, audit: Audit, why: str, place: int, marked: Sequence[Span]
) -> ShownDocument:
    reading = subject.read([audit.texts[place]])
    offsets = tuple((int(start), int(end)) for start, end in reading.offsets[0])
    scores = {
        measure: tuple(subject.importance(reading, measure)[0][: len(offsets)].tolist())
        for measure in _measures(subject, audit)
    }
    return ShownDocument(
        why=why,
        place=place,
        text=audit.texts[place],
        label=audit.labels[place],
        prediction=audit.predictions[place],
        probability=float(audit.columns["probability"][place]),
        offsets=offsets,
        scores=scores,
        unsigned=tuple(name for name in scores if not subject.measure(name).is_signed),
        marked=tuple(marked),
    )
