"""Does attention rank words as measured importance does? (Jain & Wallace 2019, Meister et al. 2021)

Documents -> weights and importances of their words -> a few numbers per document -> means.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.auditing.bootstrap import estimate
from heedful.auditing.metrics.divergence import normalised_entropy
from heedful.auditing.metrics.ranking import kendall_tau, kendall_test
from heedful.auditing.metrics.rows import divide
from heedful.config import at_least
from heedful.errors import ConfigError, DataError, counted
from heedful.importance.base import Importance, ready
from heedful.model.classifier import AttentionClassifier
from heedful.model.precision import in_full
from heedful.text.batching import Batch, Batches
from heedful.text.documents import Documents
from heedful.training.trained import Trained

ALL = "all"  # documents, whatever the prediction
DOCUMENTS_AT_ONCE = 64
SIGNIFICANT = 0.05  # largest p-value of an agreement that is called significant
PRINTED = ("measure", "predicted", "tau", "tau_low", "tau_high", "tau_sd", "significant",
           "tau_support", "entropy", "documents")  # fmt: skip

Words = Float[ndarray, "documents words"]
IsToken = Bool[ndarray, "documents words"]
PerDocument = Float[ndarray, " documents"]
Columns = dict[str, PerDocument]


@analyses.register("agreement")
@dataclass(frozen=True)
class Agreement(OfRun):
    """Kendall's tau of attention and importance, by predicted class (Jain & Wallace; Meister).

    Importance is taken absolute. Also on the words with any weight alone, for sparse attention
    ties all others at 0; how evenly importance and weights are spread (1: uniform); and whether
    the measures agree with each other.
    """

    name = "agreement"
    asks = "Does attention rank words as measured importance does?"
    figures = (FigureSpec("agreement_by_class"),)

    measures: tuple[str, ...] = ("gradient-x-input-held", "leave-one-out")
    fewest_words: int = 2  # of a document, as the model's tokenizer counts them
    most_words: int | None = None
    documents: int | None = None  # at most, drawn at random

    def __post_init__(self) -> None:
        at_least(1, fewest_words=self.fewest_words, documents=self.documents)
        at_least(self.fewest_words, most_words=self.most_words)
        if not ready(self.measures):
            raise ConfigError(
                "agreement compares attention with importance measures: give at least one."
            )

    @in_full()
    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Every measure, over all documents and over those of each predicted class."""
        model = needs_attention(trained, self.name)
        rng = np.random.default_rng(seed)
        words = trained.tokenizer.encode(documents.texts).lengths
        kept, notes = self._choose(words, rng)
        texts = documents.take(kept.tolist()).texts
        encoded = trained.tokenizer.encode(texts)
        batches = Batches(encoded, batch_size=DOCUMENTS_AT_ONCE, device=trained.device)
        prediction, found = _compare_all(model, batches, ready(self.measures))
        names = [str(name) for name in trained.classes]
        measures = tuple(_measure_rows(found, prediction, names, self.measures, rng))
        pairs = tuple(_pair_rows(found, self.measures, rng))
        attention = {
            **with_interval("entropy", estimate(found["weight_entropy"], rng)),
            **with_interval("support", estimate(found["support"], rng)),
            "documents": len(texts),
        }
        if encoded.cut:
            cut = counted(encoded.cut, "document")
            notes.append(f"{cut} cut at {trained.longest_text}.")
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple({name: row[name] for name in PRINTED} for row in measures),
            tables={"measures": measures, "pairs": pairs, "attention": (attention,)},
            rows={
                "text": texts,
                "words": words[kept].tolist(),
                "prediction": [names[place] for place in prediction],
                **{name: column.tolist() for name, column in found.items()},
            },
            notes=(*notes, *_explained(measures, pairs, attention)),
            about={"documents_read": len(texts)},
            figures=self.figures,
        )

    def _choose(
        self, words: Int[ndarray, " documents"], rng: np.random.Generator
    ) -> tuple[Int[ndarray, " kept"], list[str]]:
        """Documents within the limits, or a sample of them in their order; what was left out."""
        is_short = words < self.fewest_words
        is_long = words > (self.most_words or np.inf)
        within = np.flatnonzero(~is_short & ~is_long)
        bounds = {"fewer": (is_short, self.fewest_words), "more": (is_long, self.most_words)}
        notes = [
            f"{counted(int(is_out.sum()), 'document')} with {which} than {bound} words left out."
            for which, (is_out, bound) in bounds.items()
            if is_out.any()
        ]
        if not len(within):
            limit = "" if self.most_words is None else f" and at most {self.most_words}"
            raise DataError(
                f"agreement needs documents of at least {self.fewest_words}{limit} words; none of "
                f"the {len(words):,} given documents has. Give other documents or other limits."
            )
        if self.documents is None or self.documents >= len(within):
            return within, notes
        notes.append(f"{self.documents:,} of {len(within):,} documents, drawn at random.")
        return np.sort(rng.permutation(within)[: self.documents]), notes


def compare(weights: Words, importance: Mapping[str, Words], is_token: IsToken) -> Columns:
    """Per document: how evenly weights and |importance| are spread, and how alike they rank.

    tau_m, p_m      Kendall's tau-b of weights and |importance|, and its p-value
    support_tau_m   the same over words with any weight
    entropy_m       H / log n of |importance| divided by its sum
    m_with_n        Kendall's tau-b of two measures

    NaN where nothing can be ranked (fewer than two words, or all tied) or shared (all 0).
    """
    has_weight = is_token & (weights > 0)
    sizes = {name: np.where(is_token, np.abs(signed), 0.0) for name, signed in importance.items()}
    found = {
        "weight_entropy": normalised_entropy(weights, is_token),
        "support": divide(has_weight.sum(axis=1), is_token.sum(axis=1)),
    }
    for name, size in sizes.items():
        test = kendall_test(weights, size, is_token)
        found[f"tau_{name}"], found[f"p_{name}"] = test.tau, test.p_value
        found[f"support_tau_{name}"] = kendall_tau(weights, size, has_weight)
        found[f"entropy_{name}"] = normalised_entropy(_shares(size), is_token)
    for first, second in combinations(sizes, 2):
        found[_pair(first, second)] = kendall_tau(sizes[first], sizes[second], is_token)
    return found


def _shares(sizes: Words) -> Words:
    """Rows divided by their sums; rows of zeros stay."""
    total = sizes.sum(axis=1, keepdims=True)
    return sizes / np.where(total == 0, 1.0, total)


def _pair(first: str, second: str) -> str:
    return f"{first}_with_{second}"


def _compare_all(
    model: AttentionClassifier, batches: Batches, measures: Mapping[str, Importance]
) -> tuple[Int[ndarray, " documents"], Columns]:
    """Predictions and what `compare` finds, in the order of the documents."""
    prediction = np.zeros(len(batches), dtype=np.int64)
    found: Columns = {}
    for batch in batches.by_length():
        predicted, columns = _compare_batch(model, batch, measures)
        prediction[batch.indices] = predicted
        for name, values in columns.items():
            found.setdefault(name, np.full(len(batches), np.nan))[batch.indices] = values
    return prediction, found


def _compare_batch(
    model: AttentionClassifier, batch: Batch, measures: Mapping[str, Importance]
) -> tuple[Int[ndarray, " documents"], Columns]:
    with torch.no_grad():
        trace = model(batch)
    target = trace.logits.argmax(dim=-1)
    importance = {
        name: measure(model, batch, target).detach().double().cpu().numpy()
        for name, measure in measures.items()
    }
    weights = trace.weights.double().cpu().numpy()
    return target.cpu().numpy(), compare(weights, importance, batch.is_token.cpu().numpy())


def _measure_rows(
    found: Columns,
    prediction: Int[ndarray, " documents"],
    names: Sequence[str],
    measures: Sequence[str],
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """A row per measure for all documents, and one for each class that is ever predicted."""
    groups = [(ALL, np.ones(len(prediction), dtype=bool))]
    groups += [(names[place], prediction == place) for place in np.unique(prediction)]
    for measure in measures:
        for predicted, is_in in groups:
            tau, p_value, support_tau, entropy = (
                found[f"{column}_{measure}"][is_in]
                for column in ("tau", "p", "support_tau", "entropy")
            )
            of_tau = estimate(tau, rng)
            is_significant = np.where(np.isnan(p_value), np.nan, p_value <= SIGNIFICANT)
            yield {
                "measure": measure,
                "predicted": predicted,
                **with_interval("tau", of_tau),
                "tau_sd": _spread(tau),
                "significant": estimate(is_significant, rng).mean,
                **with_interval("tau_support", estimate(support_tau, rng)),
                **with_interval("entropy", estimate(entropy, rng)),
                "entropy_sd": _spread(entropy),
                "documents": len(tau),
                "left_out": of_tau.left_out,
            }


def _pair_rows(
    found: Columns, measures: Sequence[str], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """A row per pair of measures, over all documents."""
    for first, second in combinations(measures, 2):
        of_tau = estimate(found[_pair(first, second)], rng)
        both = {"first": first, "second": second, **with_interval("tau", of_tau)}
        yield both | {"documents": of_tau.documents + of_tau.left_out, "left_out": of_tau.left_out}


def _spread(values: PerDocument) -> float:
    """Standard deviation over the documents that have a number."""
    kept = values[~np.isnan(values)]
    return float(kept.std()) if len(kept) else float("nan")


def _explained(
    measures: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    attention: Mapping[str, Any],
) -> Iterator[str]:
    """What the printed table does not show, and how to read it."""
    for row in measures:
        if row["predicted"] == ALL and row["left_out"]:
            yield (
                f"{row['measure']}: {counted(row['left_out'], 'document')} left out of tau: all "
                "words have the same weight or the same importance."
            )
    for row in pairs:
        yield f"{row['first']} and {row['second']} agree with each other: {_said('tau', row)}."
    yield (
        f"Normalised {_said('entropy', attention)} of the weights (1 is uniform); "
        f"{attention['support']:.1%} of the words have any weight."
    )
    yield (
        "Tau is Kendall's tau-b of the weights and the absolute importance, averaged over "
        f"documents. Significant is the share of documents with p at most {SIGNIFICANT}. Tau "
        "support uses only the words with any weight. Entropy is the normalised entropy of the "
        "absolute importance."
    )


def _said(name: str, row: Mapping[str, Any]) -> str:
    return f"{name} {row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]"
