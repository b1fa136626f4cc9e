"""Are the words attended to most the ones that carry the sentiment? (Zhou et al. 2021)"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.auditing.bootstrap import estimate, paired_difference
from heedful.auditing.metrics.corpus import ratio_terms
from heedful.auditing.metrics.plausibility import f1_at_k, precision_at_k, recall_at_k
from heedful.auditing.metrics.top import chance_in_top
from heedful.config import at_least
from heedful.errors import DataError, counted
from heedful.importance import importances, predicted
from heedful.text.documents import Document, Documents, words_in_spans
from heedful.training.trained import Trained

POSITIVE, NEGATIVE = "positive", "negative"
USUAL_LABELS = {"1": POSITIVE, "pos": POSITIVE, "0": NEGATIVE, "neg": NEGATIVE}
GRADES, MIDDLE = ("0", "1", "2", "3", "4"), "2"  # of the Stanford treebank's words
FIGURES = ("precision", "recall", "f1")

PerDocument = Float[ndarray, " documents"]
Rows = Float[ndarray, "documents words"]
IsWord = Bool[ndarray, "documents words"]


@dataclass(frozen=True)
class Ranked:
    """Documents of one polarity: importance and gold words, padded to one width."""

    importance: Rows
    is_gold: IsWord
    is_token: IsWord

    def __len__(self) -> int:
        return len(self.importance)


@analyses.register("word-sentiment")
@dataclass(frozen=True)
class WordSentiment(OfRun):
    """Precision, recall and F1 of the top attended words as sentiment words (Zhou et al.).

    Gold words are those that people gave the polarity of their document. Micro: over all words of
    the documents of one polarity; macro: mean of documents. Random ranking is taken exactly: every
    word is in the top k of n with chance k / n.
    """

    name = "word-sentiment"
    asks = "Are the words attended to most the ones that carry the sentiment?"
    figures = (FigureSpec("word_sentiment", "figures"),)

    k: tuple[int, ...] = (1, 5)
    measure: str = "attention"  # or any other measure of importance

    def __post_init__(self) -> None:
        for k in self.k:
            at_least(1, k=k)
        importances[self.measure]

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Both polarities, every k, both averages."""
        needs_attention(trained, self.name)
        rng = np.random.default_rng(seed)
        rows: list[dict[str, Any]] = []
        notes: list[str] = []
        columns: dict[str, list[Any]] = {}
        for polarity in (POSITIVE, NEGATIVE):
            chosen = [d for d in documents if polarity_of(d.label) == polarity and d.word_labels]
            marked = [d for d in chosen if gold_spans(d, polarity)]
            if left_out := len(chosen) - len(marked):
                notes.append(
                    f"{counted(left_out, f'{polarity} document')} without a {polarity} word "
                    "left out: there is nothing to find."
                )
            if not marked:
                continue
            ranked = self._rank(trained, marked, polarity)
            for k in self.k:
                found = figures_at(ranked, k)
                rows += _averaged(found, polarity, k, rng)
                _extend(columns, found, marked, polarity, k)
        if not rows:
            raise DataError(
                "no document has a positive or negative label and words that people marked with "
                "that polarity. Expected token_labels for each text (as in sst2), or semeval:FILE."
            )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(_printed(row) for row in rows if row["average"] == "micro"),
            tables={"figures": tuple(rows)},
            rows=columns,
            notes=(
                *notes,
                "F1 gain: F1 above random ranking on the same documents. Intervals are over "
                "documents. Averages are micro; macro averages are in analysis.json.",
            ),
            figures=self.figures,
        )

    def _rank(self, trained: Trained, documents: Sequence[Document], polarity: str) -> Ranked:
        measure = importances.make(self.measure)
        model = needs_attention(trained, self.name)
        batches = trained.batches([document.text for document in documents])
        width = max(1, int(batches.documents.lengths.max(initial=0)))
        importance = np.zeros((len(documents), width))
        is_token, is_gold = np.zeros((2, len(documents), width), dtype=bool)
        for batch in batches.by_length():
            with torch.no_grad():
                target = predicted(model, batch)
            scores = measure(model, batch, target).double().cpu().numpy()
            words = batch.is_token.cpu().numpy()
            importance[batch.indices, : words.shape[1]] = np.where(words, scores, 0.0)
            is_token[batch.indices, : words.shape[1]] = words
        for number, document in enumerate(documents):
            offsets = trained.tokenizer.offsets(document.text)
            is_inside = words_in_spans(offsets, gold_spans(document, polarity))
            is_gold[number, : len(is_inside)] = is_inside
        return Ranked(importance, is_gold & is_token, is_token)


def polarity_of(label: str | None) -> str | None:
    """Positive or negative, if a label says so: by its name, or 1 and 0."""
    name = str(label).strip().lower()
    name = USUAL_LABELS.get(name, name)
    return name if name in (POSITIVE, NEGATIVE) else None


def gold_spans(document: Document, polarity: str) -> list[tuple[int, int]]:
    """Where the words stand that people gave this polarity.

    A word's label is a polarity, or a number from 0 to 4: below 2 negative, above positive.
    """
    labelled = document.word_labels or ()
    return [span for span, label in labelled if _word_polarity(label) == polarity]


def _word_polarity(label: str) -> str | None:
    if label not in GRADES:
        return polarity_of(label)
    above = GRADES.index(label) - GRADES.index(MIDDLE)
    return POSITIVE if above > 0 else NEGATIVE if above < 0 else None


def figures_at(ranked: Ranked, k: int) -> dict[str, PerDocument]:
    """Per document: words chosen, gold, and both, of the ranking and of a random one; P, R, F1."""
    ks = np.full(len(ranked), k, dtype=np.int64)
    no_order = np.zeros_like(ranked.importance)
    gold = ranked.is_gold.sum(axis=1).astype(np.float64)
    chosen = np.minimum(k, ranked.is_token.sum(axis=1)).astype(np.float64)
    found = {"chosen": chosen, "gold": gold}
    for name, importance in (("", ranked.importance), ("random_", no_order)):
        chance = chance_in_top(importance, ranked.is_token, ks)
        found[f"{name}hits"] = (chance * ranked.is_gold).sum(axis=1)
        for figure, compute in zip(FIGURES, (precision_at_k, recall_at_k, f1_at_k), strict=True):
            found[f"{name}{figure}"] = compute(importance, ranked.is_gold, ranked.is_token, ks)
    return found


def micro_terms(found: dict[str, PerDocument], hits: str) -> dict[str, PerDocument]:
    """Terms per document of P, R and F1 over all words together.

    P = hits / chosen,  R = hits / gold,  F1 = 2 hits / (chosen + gold)
    """
    chosen, gold = found["chosen"], found["gold"]
    return {
        "precision": ratio_terms(found[hits], chosen),
        "recall": ratio_terms(found[hits], gold),
        "f1": ratio_terms(2 * found[hits], chosen + gold),
    }


def _printed(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what the figure shows better."""
    left_out = ("average", "random_precision", "random_recall")
    return {name: value for name, value in row.items() if name not in left_out}


def _averaged(
    found: dict[str, PerDocument], polarity: str, k: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """A row of means with intervals per way of averaging."""
    macro = {name: found[name] for name in FIGURES}
    random_macro = {name: found[f"random_{name}"] for name in FIGURES}
    for average, terms, random in (
        ("micro", micro_terms(found, "hits"), micro_terms(found, "random_hits")),
        ("macro", macro, random_macro),
    ):
        row: dict[str, Any] = {"documents_are": polarity, "k": k, "average": average}
        for name in FIGURES:
            row |= with_interval(name, estimate(terms[name], rng))
        row["random_f1"] = float(np.mean(random["f1"]))
        row["random_precision"] = float(np.mean(random["precision"]))
        row["random_recall"] = float(np.mean(random["recall"]))
        row |= with_interval("f1_gain", paired_difference(terms["f1"], random["f1"], rng))
        yield row | {"documents": len(found["gold"])}


def _extend(
    columns: dict[str, list[Any]],
    found: dict[str, PerDocument],
    documents: Sequence[Document],
    polarity: str,
    k: int,
) -> None:
    """Add a row per document to the columns of the Parquet file."""
    rows: dict[str, list[Any]] = {
        "text": [document.text for document in documents],
        "polarity": [polarity] * len(documents),
        "k": [k] * len(documents),
        **{name: found[name].tolist() for name in ("chosen", "gold", "hits", "random_hits")},
    }
    for name, values in rows.items():
        columns.setdefault(name, []).extend(values)
