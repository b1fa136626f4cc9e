"""What the default-token experiment found: the numbers of all arms, as rows and in a sentence."""

import io
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import runs, storage
from heedful.analysis.shortcuts.arms import MITIGATIONS, REFERENCE, arms
from heedful.analysis.shortcuts.outcomes import Finding
from heedful.auditing.bootstrap import Estimate
from heedful.auditing.results import plain
from heedful.runs import RunFolder
from heedful.text.documents import whole_characters

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = 1
BELOW = 0.01  # accuracy this far under the commonest label is called that


@dataclass(frozen=True)
class Probe:
    """The whole experiment."""

    labels: tuple[str, ...]
    documents: dict[str, int]  # train, dev, test
    majority_accuracy: float
    arms: dict[str, Finding]
    ordinary: Finding  # a classifier that may read the text
    falls: dict[str, Estimate]  # accuracy of learned less that of each mitigation, paired
    about: dict[str, Any]  # data and settings

    @property
    def conclusion(self) -> str:
        """What was found, in a sentence or a few."""
        learned = self.arms[REFERENCE]
        if learned.shows_label:
            return self._label_passes
        return self._no_label_passes if learned.is_above_commonest else self._did_not_learn

    @property
    def _label_passes(self) -> str:
        learned = self.arms[REFERENCE]
        told = ", and ".join(self._after(arm) for arm in MITIGATIONS)
        return (
            "On these documents a model can write the label into its attention pattern alone: "
            f"{learned.accuracy.mean:.1%} right without seeing a word, against {self._commonest}; "
            f"{told}.{self._label_passes_in(set(self.arms) - {REFERENCE, *MITIGATIONS})}"
        )

    @property
    def _no_label_passes(self) -> str:
        learned = self.arms[REFERENCE]
        return (
            "On these documents no label was seen to pass through the attention pattern alone: "
            f"{learned.accuracy.mean:.1%} right is more than {self._commonest}, but the weights "
            "alone do not tell one label from another, so it does not come from them."
            f"{self._label_passes_in(set(self.arms) - {REFERENCE})}"
        )

    @property
    def _did_not_learn(self) -> str:
        learned = self.arms[REFERENCE]
        has_read = (
            f"A classifier that reads the text gets {self.ordinary.accuracy.mean:.1%} right."
            if self.ordinary.is_above_commonest
            else "A classifier that reads the text learned nothing either."
        )
        return (
            f"On these documents the arm called {REFERENCE} did not learn: "
            f"{learned.accuracy.mean:.1%} right, against {self._commonest}. So it cannot show "
            "whether a label passes through the attention pattern."
            f"{self._label_passes_in(set(self.arms) - {REFERENCE})} {has_read} To find out more, "
            "train longer (--epochs) or on more documents (--documents)."
        )

    @property
    def _commonest(self) -> str:
        return f"{self.majority_accuracy:.1%} for always answering the commonest label"

    def _label_passes_in(self, others: Set[str]) -> str:
        """A sentence about the other arms in which the label passes; nothing if there are none."""
        found = [
            f"{name} ({arm.accuracy.mean:.1%} right)"
            for name, arm in self.arms.items()
            if name in others and arm.shows_label
        ]
        return f" In other arms the label passes: {', '.join(found)}." if found else ""

    def _after(self, arm: str) -> str:
        """What a mitigation does, in words."""
        names = {
            "random-pretrained": "training under random weights first",
            "mask-neutral": "mask-neutral weighting",
        }
        learned, mitigated = self.arms[REFERENCE], self.arms[arm]
        is_lower = self.falls[arm].interval[0] > 0
        said = f"{names[arm]} {'brings it down to' if is_lower else 'leaves it at'} "
        said += f"{mitigated.accuracy.mean:.1%}"
        if mitigated.leak.mean < -BELOW:
            said += ", below the commonest label,"
        if learned.gain.interval[0] > 0:
            kept = max(0.0, mitigated.gain.mean) / learned.gain.mean
            said += f" with {kept:.0%} of its certainty"
        return said

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per arm, seed, label and token."""
        for arm, finding in self.arms.items():
            for one in finding.seeds:
                for label, weights in zip(self.labels, one.mean_weights, strict=True):
                    for token, weight in enumerate(weights, start=1):
                        yield {
                            "arm": arm,
                            "seed": one.seed,
                            "label": whole_characters(label),
                            "token": token,
                            "mean_weight": weight,
                            "accuracy": one.accuracy,
                            "majority_accuracy": self.majority_accuracy,
                            "gain": one.gain,
                            "told": one.told,
                            "effective_documents": one.effective_documents,
                        }

    def to_frame(self) -> "DataFrame":
        """The rows, in the columns that docs/probe.md describes."""
        import pandas

        frame = pandas.DataFrame(self.rows())
        return frame.astype({"told": "float64", "effective_documents": "float64"})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "schema": SCHEMA,
            "probe": "shortcuts",
            "conclusion": self.conclusion,
            "labels": list(self.labels),
            "documents": self.documents,
            "majority_accuracy": self.majority_accuracy,
            "arms": {
                name: {"meaning": arms.summary(name), **_plain(arm)}
                for name, arm in self.arms.items()
            },
            "ordinary": _plain(self.ordinary),
            "falls": {name: plain(asdict(fall)) for name, fall in self.falls.items()},
            "about": plain(self.about),
        }

    def save(self, path: str | Path) -> None:
        """Write probe.json and probe.parquet into a folder."""
        folder = RunFolder(path)
        buffer = io.BytesIO()
        self.to_frame().to_parquet(buffer)
        with storage.held(path):
            folder.write_bytes(runs.PROBE_ROWS, buffer.getvalue())
            folder.write_json(runs.PROBE, self.to_dict())


def _plain(finding: Finding) -> dict[str, Any]:
    beside = {"told": finding.told, "effective_documents": finding.effective_documents}
    return plain({**asdict(finding), **beside})
