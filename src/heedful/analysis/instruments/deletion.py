"""What deleting the top words costs, and what they alone are worth, over k (Zhou et al. 2021)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.auditing.bootstrap import estimate, paired_difference
from heedful.auditing.subjects.base import Judge, Probabilities, Reading
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.erasure import Ranking, predict_sets, tops_of_size
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.config import at_least
from heedful.errors import ConfigError, DataError, counted
from heedful.importance import importances
from heedful.model.classifier import AttentionClassifier
from heedful.model.outputs import BottleneckOutput
from heedful.model.precision import in_full
from heedful.text.documents import Documents
from heedful.training.trained import Trained

DOCUMENTS_AT_ONCE = 64
RANDOM = "random"
FIGURES = ("accuracy_drop", "probability_drop", "kept_gold", "kept_own")

Labels = Int[ndarray, " documents"]
PerDocument = Float[ndarray, " documents"]
Curves = Float[ndarray, "figures documents steps"]  # in the order of FIGURES
BySteps = Float[ndarray, "documents steps classes"]


@dataclass(frozen=True)
class Judged:
    """What was found of some documents: per document, and per figure and k."""

    prediction: Labels  # of the model
    words: Labels
    right: dict[str, PerDocument]  # 1 where the model, its judge, its learner's head is right
    ranked: Curves
    at_random: Curves  # means over the draws


@analyses.register("deletion")
@dataclass(frozen=True)
class Deletion(OfRun):
    """Accuracy without the top k words (AOPC) and from only them (post-hoc), by k (Zhou et al.).

    The paper takes a twin without attention, trained apart, as judge: `judge` is its run folder.
    Without one the model judges itself. Random words of the same documents are the control.
    """

    name = "deletion"
    asks = "How much accuracy is lost without the top words, and how much is kept with only them?"
    figures = (FigureSpec("deletion", "curve"),)

    k: tuple[int, ...] = (1, 2, 3, 5, 10, 20)
    measure: str = "attention"  # or any other measure of importance, highest first
    judge: str | None = None  # a run folder; None: the model itself
    documents: int | None = None  # at most, drawn at random; None: all
    random_draws: int = 5

    def __post_init__(self) -> None:
        at_least(1, k=min(self.k, default=0), documents=self.documents)
        at_least(1, random_draws=self.random_draws)
        importances.make(self.measure)
        if self.measure == RANDOM:
            raise ConfigError("deletion always includes random words: give another measure.")

    @in_full()
    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Every document once whole, and for each k without and with only the chosen words."""
        needs_attention(trained, self.name)
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.permutation(len(documents))[: self.documents])
        documents = documents.take(chosen.tolist())
        labels = label_numbers(trained, documents)
        subject = ClassifierSubject(trained, precision="fp32")
        judge: Judge = subject
        if self.judge is not None:
            twin = Trained.load(self.judge, str(trained.device))
            judge = TrainedJudge(twin, trained.classes)
        steps = sorted(set(self.k))
        order = np.argsort([-len(text) for text in documents.texts], kind="stable")
        groups = np.split(order, range(DOCUMENTS_AT_ONCE, len(order), DOCUMENTS_AT_ONCE))
        found = in_order(
            [
                self._of_group(subject, judge, documents.take(g.tolist()), labels[g], steps, rng)
                for g in groups
            ],
            order,
        )
        curve = tuple(self._curve(found, steps, rng))
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(_printed(row) for row in curve),
            tables={"curve": curve, "whole": (_whole(found, rng),)},
            rows=_rows(found, documents, [str(label) for label in trained.classes], steps),
            notes=(*self._notes(found, steps[-1]), *subject.notes),
            about={"documents_judged": len(documents)},
            figures=self.figures,
        )

    def _of_group(
        self,
        subject: ClassifierSubject,
        judge: Judge,
        documents: Documents,
        labels: Labels,
        steps: Sequence[int],
        rng: np.random.Generator,
    ) -> Judged:
        reading = subject.read(documents.texts)
        rankings = [subject.importance(reading, self.measure)]
        rankings += [rng.random(rankings[0].shape) for _ in range(self.random_draws)]
        ranked, *draws = curves_of(judge, reading, rankings, labels, steps)
        predictions = {
            "accuracy": reading.prediction,
            "judge_accuracy": judge.judged(reading).argmax(axis=1),
        }
        if (learner := learner_of(subject.model)) is not None:
            with torch.inference_mode():
                logits = learner(reading.inner[0]).logits
            predictions["learner_accuracy"] = logits.argmax(dim=-1).cpu().numpy()
        return Judged(
            prediction=reading.prediction,
            words=reading.is_token.sum(axis=1),
            right={who: (said == labels).astype(np.float64) for who, said in predictions.items()},
            ranked=ranked,
            at_random=np.mean(draws, axis=0),
        )

    def _curve(
        self, found: Judged, steps: Sequence[int], rng: np.random.Generator
    ) -> Iterator[dict[str, Any]]:
        """A row for the ranking and one for random words at each k."""
        judge_accuracy = float(found.right["judge_accuracy"].mean())
        for step, k in enumerate(steps):
            for by, curves in ((self.measure, found.ranked), (RANDOM, found.at_random)):
                row: dict[str, Any] = {"k": k, "by": by}
                for name, values in zip(FIGURES, curves[:, :, step], strict=True):
                    row |= with_interval(name, estimate(values, rng))
                if by != RANDOM:
                    both = zip(
                        FIGURES, curves[:, :, step], found.at_random[:, :, step], strict=True
                    )
                    for name, values, at_random in both:
                        gain = paired_difference(values, at_random, rng)
                        row |= with_interval(f"{name}_gain", gain)
                yield row | {"judge_accuracy": judge_accuracy, "documents": curves.shape[1]}

    def _notes(self, found: Judged, largest: int) -> Iterator[str]:
        judge = "The model itself judged" if self.judge is None else f"Judged by {self.judge}"
        spoken = {"accuracy": "the model", "judge_accuracy": "the judge"}
        spoken["learner_accuracy"] = "the learner's head"
        shares = [
            f"{spoken[who]} {right.mean():.1%}"
            for who, right in found.right.items()
            if not (who == "judge_accuracy" and self.judge is None)
        ]
        yield f"{judge}. Accuracy on whole texts: {', '.join(shares)}."
        yield (
            f"Words are removed from the text, not masked. Random: "
            f"mean of {counted(self.random_draws, 'draw')} per document. Intervals are over "
            "documents."
        )
        if short := int((found.words <= largest).sum()):
            yield (
                f"{short:,} of {counted(len(found.words), 'document')} have no more than {largest} "
                f"words: there the top {largest} are the whole text."
            )


def label_numbers(trained: Trained, documents: Documents) -> Labels:
    """The gold label of each document as the model counts its classes; else a sentence."""
    number_of = {str(label): number for number, label in enumerate(trained.classes)}
    if not len(documents):
        raise DataError("deletion needs at least one document.")
    strange = [label for label in documents.labels if label not in number_of]
    if strange:
        raise DataError(
            "deletion measures accuracy, so every document needs a label that the model knows "
            f"({', '.join(list(number_of)[:10])}). Of {counted(len(documents), 'document')} "
            f"{len(strange):,} have none of these; the first has {strange[0] or 'no label'}."
        )
    return np.array([number_of[str(label)] for label in documents.labels], dtype=np.int64)


def learner_of(model: AttentionClassifier) -> AttentionClassifier | None:
    """A VAT model with its learner's head in place of its compressor's; None for any other."""
    if not isinstance(model.output, BottleneckOutput):
        return None
    return model.seen_with(output=model.output.learner).eval()


def curves_of(
    judge: Judge,
    reading: Reading,
    rankings: Sequence[Ranking],
    labels: Labels,
    steps: Sequence[int],
) -> list[Curves]:
    """What a judge says without, and from only, the top k words of each ranking."""
    sizes = np.tile(np.array(steps, dtype=np.int64), (len(labels), 1))
    tops = [tops_of_size(reading, ranking, sizes) for ranking in rankings]
    rest = [reading.is_token[:, None] & ~top for top in tops]
    said = predict_sets(judge, reading, np.arange(len(labels)), [*rest, *tops])
    whole = judge.judged(reading)
    without, only = said[: len(tops)], said[len(tops) :]
    return [figures(whole, labels, *both) for both in zip(without, only, strict=True)]


def figures(whole: Probabilities, labels: Labels, without: BySteps, only: BySteps) -> Curves:
    """Per document and k, from probabilities of the whole text, the rest and the chosen words.

    accuracy_drop     [whole = label] - [rest = label]; below 0: deleting corrected a mistake
    probability_drop  p(prediction | whole) - p(prediction | rest)
    kept_gold         [chosen words alone = label]
    kept_own          [chosen words alone = prediction of the whole]
    """
    label, own = labels[:, None], whole.argmax(axis=1)[:, None]
    left = np.take_along_axis(without, own[:, :, None], axis=2)[:, :, 0]
    alone = only.argmax(axis=2)
    return np.stack(
        [
            (own == label).astype(np.float64) - (without.argmax(axis=2) == label),
            whole.max(axis=1)[:, None] - left,
            (alone == label).astype(np.float64),
            (alone == own).astype(np.float64),
        ]
    )


def in_order(parts: Sequence[Judged], order: Labels) -> Judged:
    """Groups of documents as one, each document at its place in `order`."""
    back = np.argsort(order)
    return Judged(
        prediction=np.concatenate([part.prediction for part in parts])[back],
        words=np.concatenate([part.words for part in parts])[back],
        right={
            who: np.concatenate([part.right[who] for part in parts])[back] for who in parts[0].right
        },
        ranked=np.concatenate([part.ranked for part in parts], axis=1)[:, back],
        at_random=np.concatenate([part.at_random for part in parts], axis=1)[:, back],
    )


def _whole(found: Judged, rng: np.random.Generator) -> dict[str, Any]:
    """Shares of documents that are right when nothing is deleted."""
    row: dict[str, Any] = {"documents": len(found.words)}
    for who, right in found.right.items():
        row |= with_interval(who, estimate(right, rng))
    return row


def _printed(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what the figure and the notes tell."""
    left_out = ("judge_accuracy", "documents")
    return {n: value for n, value in row.items() if n not in left_out and "_gain" not in n}


def _rows(
    found: Judged, documents: Documents, classes: Sequence[str], steps: Sequence[int]
) -> dict[str, Sequence[Any]]:
    """A row per document; figures are those of the ranking."""
    rows: dict[str, Sequence[Any]] = {
        "text": documents.texts,
        "label": documents.labels,
        "prediction": [classes[number] for number in found.prediction.tolist()],
    }
    for who, right in found.right.items():
        rows[who.replace("accuracy", "right")] = (right == 1).tolist()
    for name, curves in zip(FIGURES, found.ranked, strict=True):
        for step, k in enumerate(steps):
            rows[f"{name}_{k}"] = curves[:, step].tolist()
    return rows
