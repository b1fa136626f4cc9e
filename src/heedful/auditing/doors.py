"""Methods of an audit that show it: plain words, a report, a notebook view, a card, metrics.

Each calls the module that makes it. Those modules import audits, so they are imported on first use.
"""

from abc import ABC
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.errors import missing_packages_named
from heedful.runs import RunFolder

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

    from heedful.auditing.plain_words import PlainWords
    from heedful.auditing.results import Audit


class AuditDoors(ABC):
    """The methods of an audit that show it to people and tools."""

    about: dict[str, Any]

    @property
    def _audit(self) -> "Audit":
        return cast("Audit", self)

    @property
    def in_plain_words(self) -> "PlainWords":
        """What was asked, what came out, what it means for showing the heat map, what to do next.

        `print(audit.in_plain_words)` prints the paragraph.
        """
        from heedful.auditing.plain_words import in_plain_words

        return in_plain_words(self._audit)

    def to_html(self, path: str | Path) -> None:
        """Write the report: one HTML file that needs no network."""
        with missing_packages_named("the report"):
            from heedful.report import write_report

            write_report(path, {str(self.about.get("name", "model")): self._audit})
        RunFolder(Path(path).parent).enter_into_seal(Path(path).name)

    def to_metrics(self, prefix: str = "") -> dict[str, float]:
        """Every test's score and interval as floats by name, as `evaluate` and trackers have them.

        `may_be_shown` is 1 or 0; what has no number is left out.
        """
        from heedful.integrations.metrics import metrics_of

        return metrics_of(self._audit, prefix)

    def to_card(self, model_id: str = "") -> "ModelCard":
        """A model card with the verdict in its `model-index`, by huggingface_hub's own classes."""
        with missing_packages_named("the model card"):
            from heedful.integrations.model_card import card_of

        return card_of(self._audit, model_id)

    def _repr_html_(self) -> str:
        """The verdict in a notebook."""
        from heedful.notebook import audit_view

        return audit_view(self._audit)

    def __repr__(self) -> str:
        audit = self._audit
        name = audit.about.get("name", "model")
        return f"<Audit of {name!r} on {audit.documents:,} documents: {audit.verdict}>"
