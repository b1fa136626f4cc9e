"""What the default-token experiment found: the numbers of all arms, as rows and in a sentence."""

import math
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.analysis.shortcuts.arms import MITIGATIONS, ORDINARY, REFERENCE
from heedful.analysis.shortcuts.outcomes import Finding
from heedful.auditing.bootstrap import Estimate
from heedful.errors import counted

NAME = "shortcuts"
ASKS = "Can a model write the label into its attention pattern?"
FIGURES = (FigureSpec("arm_accuracies", "accuracies"), FigureSpec("mask_by_label"))
HOW_TO_READ = (
    "The text decides how attention is shared among a few default tokens, which are the same for "
    "every text: only the weights carry information from the text (Bai et al. 2021).",
    "leak: accuracy above that of the most common label. gain: log probability of the true label "
    "above its share in training, in nats per document. weights tell: the information about the "
    "label "
    "that a classifier reads from the weights alone, in nats. effective documents: number of "
    "documents of equal weight that the reweighted ones are worth in the last epoch. Intervals "
    "are 95%, over documents and seeds.",
)
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
            f"accuracy {learned.accuracy.mean:.1%} without seeing a word, against "
            f"{self._commonest}; "
            f"{told}.{self._label_passes_in(set(self.arms) - {REFERENCE, *MITIGATIONS})}"
        )

    @property
    def _no_label_passes(self) -> str:
        learned = self.arms[REFERENCE]
        return (
            "On these documents no label was found in the attention pattern alone: accuracy "
            f"{learned.accuracy.mean:.1%} is above {self._commonest}, but the weights alone do "
            "not separate the labels, so it does not come from them."
            f"{self._label_passes_in(set(self.arms) - {REFERENCE})}"
        )

    @property
    def _did_not_learn(self) -> str:
        learned = self.arms[REFERENCE]
        has_read = (
            f"A classifier that reads the text has accuracy {self.ordinary.accuracy.mean:.1%}."
            if self.ordinary.is_above_commonest
            else "A classifier that reads the text learned nothing either."
        )
        return (
            f"On these documents the arm called {REFERENCE} did not learn: "
            f"accuracy {learned.accuracy.mean:.1%}, against {self._commonest}. So it cannot show "
            "whether a label passes through the attention pattern."
            f"{self._label_passes_in(set(self.arms) - {REFERENCE})} {has_read} To find out more, "
            "train longer (--epochs) or on more documents (--documents)."
        )

    @property
    def _commonest(self) -> str:
        return f"{self.majority_accuracy:.1%} for always predicting the most common label"

    def _label_passes_in(self, others: Set[str]) -> str:
        """A sentence about the other arms in which the label passes; nothing if there are none."""
        found = [
            f"{name} (accuracy {arm.accuracy.mean:.1%})"
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
        said = f"{names[arm]} {'lowers it to' if is_lower else 'leaves it at'} "
        said += f"{mitigated.accuracy.mean:.1%}"
        if mitigated.leak.mean < -BELOW:
            said += ", below the most common label,"
        if learned.gain.interval[0] > 0:
            kept = max(0.0, mitigated.gain.mean) / learned.gain.mean
            said += f" with {kept:.0%} of its certainty"
        return said

    @property
    def findings(self) -> dict[str, Finding]:
        """The classifier that may read the text, then every arm."""
        return {ORDINARY: self.ordinary, **self.arms}

    def to_result(self) -> Result:
        """The same as what an analysis found."""
        masks = list(self._masks())
        return Result(
            analysis=NAME,
            asks=ASKS,
            summary=tuple(_row(name, finding) for name, finding in self.findings.items()),
            tables={
                "accuracies": tuple(self._accuracies()),
                "falls": tuple(
                    {"arm": arm, **with_interval("fall", fall)} for arm, fall in self.falls.items()
                ),
            },
            rows={name: [row[name] for row in masks] for name in (masks[0] if masks else ())},
            notes=(
                f"{self.documents['test']:,} test documents, {self.documents['train']:,} to train "
                f"on, {counted(len(self.ordinary.seeds), 'seed')}. Always predicting the most "
                f"common label has accuracy {self.majority_accuracy:.1%}.",
                *HOW_TO_READ,
            ),
            about={
                **self.about,
                "documents": self.documents,
                "labels": list(self.labels),
                "majority_accuracy": self.majority_accuracy,
            },
            figures=FIGURES,
            conclusion=self.conclusion,
        )

    def _accuracies(self) -> Iterator[dict[str, Any]]:
        """A row for each arm, with its interval, and one for each of its seeds."""
        for arm, finding in self.findings.items():
            of_arm = {"arm": arm, "majority_accuracy": self.majority_accuracy}
            low, high = finding.accuracy.interval
            yield {**of_arm, "accuracy": finding.accuracy.mean, "low": low, "high": high}
            yield from (
                {**of_arm, "seed": one.seed, "accuracy": one.accuracy} for one in finding.seeds
            )

    def _masks(self) -> Iterator[dict[str, Any]]:
        """One row per arm, seed, label and token."""
        for arm, finding in self.arms.items():
            for one in finding.seeds:
                for label, weights in zip(self.labels, one.mean_weights, strict=True):
                    for token, weight in enumerate(weights, start=1):
                        yield {
                            "arm": arm,
                            "seed": one.seed,
                            "label": label,
                            "token": token,
                            "mean_weight": weight,
                            "accuracy": one.accuracy,
                            "majority_accuracy": self.majority_accuracy,
                            "gain": one.gain,
                            "told": _or_nan(one.told),
                            "effective_documents": _or_nan(one.effective_documents),
                        }


def _row(arm: str, finding: Finding) -> dict[str, Any]:
    return {
        "arm": arm,
        **with_interval("accuracy", finding.accuracy),
        **with_interval("leak", finding.leak),
        "gain": finding.gain.mean,
        "weights_tell": finding.told,
        "effective_documents": round(finding.effective_documents or 0) or math.nan,
    }


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
