"""A run under audit: which documents are new to it, what it is, what tells its audits apart."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from heedful import runs
from heedful.auditing.questions import AuditSettings
from heedful.auditing.record import plain
from heedful.model.alignments import alignments
from heedful.model.encoders import encoders
from heedful.model.precision import Precision
from heedful.model.projections import projections
from heedful.text.documents import Documents
from heedful.training.trained import Trained


def unseen(
    trained: Trained, documents: Documents, include_trained: bool = False
) -> tuple[Documents, int]:
    """The documents that were not trained on, if there are any; how many of the result were."""
    was_seen = trained.was_trained_on(documents.texts)
    if include_trained or was_seen.all():
        return documents, int(was_seen.sum())
    return documents.take(np.flatnonzero(~was_seen).tolist()), 0


def described(trained: Trained) -> dict[str, object]:
    """What the model under audit is, for the report."""
    model = trained.settings.model
    digest = trained.provenance.get("sha256", {}).get(runs.MODEL)
    return {
        "encoder": encoders.spec(model.encoder),
        "alignment": alignments.spec(model.alignment),
        "projection": projections.spec(model.projection),
        "trained_on": trained.provenance.get("data", {}).get("name"),
        **({} if digest is None else {"weights": digest[:12]}),  # which model of that make
    }


def request_of(
    trained: Trained,
    documents: Documents,
    settings: AuditSettings,
    asked: Sequence[str] | None,
    sample: int | None,
    *,
    has_budget: bool = False,
    judge: str = "self",
    twins: Sequence[str] = (),
    precision: Precision = "auto",
) -> dict[str, Any]:
    """What is audited and how: an audit that was cut off goes on only with the same."""
    said = [(d.text, d.label, d.rationale) for d in documents]
    return {
        "model": trained.provenance.get("sha256", {}).get(runs.MODEL),
        "documents": hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:16],
        "sample": sample,
        "budget": has_budget,
        "judge": judge,
        "questions": list(asked) if asked else "all",
        "twins": list(twins),
        "precision": precision,
        **plain(asdict(settings)),
    }
