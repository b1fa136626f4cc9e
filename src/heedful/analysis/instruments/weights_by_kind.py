"""Attention weights in unseen texts by kind of word, and words that are only locally important."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.instruments.word_scores import global_scores
from heedful.analysis.result import FigureSpec, Result
from heedful.analysis.word_classes import kind_of_words, words_by_kind
from heedful.auditing.results import Table
from heedful.config import at_least
from heedful.errors import DataError
from heedful.model.classifier import AttentionClassifier
from heedful.text.batching import Batches
from heedful.text.documents import Documents
from heedful.text.token_classes import classify_tokens
from heedful.training.trained import Trained

WHISKER = 1.5  # times the middle half: what lies beyond is an outlier (Tukey)
MOST_OUTLIERS = 200  # drawn for a kind, the farthest; all are counted

Weights = Float[ndarray, " occurrences"]


@dataclass(frozen=True)
class Occurrences:
    """Every word of some documents, one after the other."""

    word: Int[ndarray, " occurrences"]
    document: Int[ndarray, " occurrences"]
    weight: Weights


@analyses.register("weights-by-kind")
@dataclass(frozen=True)
class WeightsByKind(OfRun):
    """Weights of words in test documents by kind, and words only locally important (Sun & Lu).

    A score says how important a word is anywhere, a weight how important it is beside the others
    of its text: a word of low score gets a high weight where the others' are lower still. Low: the
    score of the word alone is below the median of the words that occur.
    """

    name = "weights-by-kind"
    asks = "Which words get weight in unseen texts, and would they elsewhere?"
    part = "test"
    figures = (FigureSpec("weight_boxes", "boxes"),)

    words: int = 20  # at most, of those that are only locally important

    def __post_init__(self) -> None:
        at_least(1, words=self.words)

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Boxes by kind, and the documents whose top word has a low score."""
        model = needs_attention(trained, self.name)
        vocabulary = trained.tokenizer.words
        kinds = words_by_kind(trained.classes, classify_tokens(trained.label_counts))
        kind = np.array(kind_of_words(kinds, len(vocabulary)))
        found = occurrences_of(model, trained.batches(documents.texts))
        if not len(found.word):
            raise DataError("weights-by-kind needs documents with words, and there are none.")
        score = global_scores(model, len(vocabulary), kinds).attention_score
        summary = tuple(
            {"kind": name, **box(found.weight[kind[found.word] == name])}
            for name in kinds
            if (kind[found.word] == name).any()
        )
        outliers = [row for one in summary for row in _outliers(one, found, kind)]
        tops = _tops(found)
        rank = _percentiles(score, np.unique(found.word))
        is_low = rank[found.word[tops]] < 0.5
        local = {
            "documents": len(tops),
            "low_top_share": float(is_low.mean()) if len(tops) else 0.0,
        }
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=summary,
            tables={
                "weights": summary,
                "boxes": (*summary, *outliers),
                "local": (local,),
                "locally_important": self._words(
                    found, tops[is_low], vocabulary, kind, score, rank
                ),
            },
            rows={},
            notes=(
                "Each weight is that of one occurrence in the given documents; outliers lie more "
                "than "
                "1.5 times the middle half beyond it. In "
                f"{local['low_top_share']:.0%} of {len(tops):,} documents the word of most weight "
                "has an attention score below the median. Such a word is important only compared "
                "with its neighbours: its weight says nothing about it elsewhere.",
            ),
            figures=self.figures,
        )

    def _words(
        self,
        found: Occurrences,
        tops: Int[ndarray, " tops"],
        vocabulary: list[str],
        kind: Any,
        score: Float[ndarray, " vocabulary"],
        rank: Float[ndarray, " vocabulary"],
    ) -> Table:
        """Words of low score that are often on top, with what they weigh there."""
        words, times = np.unique(found.word[tops], return_counts=True)
        chosen = words[np.argsort(-times, kind="stable")][: self.words]
        occurs = np.bincount(found.word, minlength=len(vocabulary))
        return tuple(
            {
                "word": vocabulary[word],
                "kind": str(kind[word]) or "–",
                "score": float(score[word]),
                "score_percentile": float(rank[word]),
                "times_on_top": int((found.word[tops] == word).sum()),
                "occurrences": int(occurs[word]),
                "weight_on_top": float(found.weight[tops][found.word[tops] == word].mean()),
            }
            for word in chosen
        )


def occurrences_of(model: AttentionClassifier, batches: Batches) -> Occurrences:
    """Words, their documents and their weights."""
    words, documents, weights = [], [], []
    with torch.inference_mode():
        for batch in batches.by_length():
            weight = model(batch).weights
            row = torch.from_numpy(np.asarray(batch.indices)).unsqueeze(1)
            is_token = batch.is_token.cpu()
            words.append(batch.token_ids.cpu()[is_token].numpy())
            documents.append(row.expand(is_token.shape)[is_token].numpy())
            weights.append(weight.double().cpu()[is_token].numpy())
    if not words:
        nothing = np.empty(0, np.int64)
        return Occurrences(nothing, nothing, np.empty(0))
    return Occurrences(*map(np.concatenate, (words, documents, weights)))


def box(weights: Weights) -> dict[str, float | int]:
    """The five numbers of a box plot, its outliers and the mean."""
    first, median, third = np.quantile(weights, [0.25, 0.5, 0.75])
    reach = WHISKER * (third - first)
    inside = weights[(weights >= first - reach) & (weights <= third + reach)]
    return {
        "occurrences": len(weights),
        "min": float(weights.min()),
        "low": float(inside.min()),
        "first": float(first),
        "median": float(median),
        "third": float(third),
        "high": float(inside.max()),
        "max": float(weights.max()),
        "outliers": len(weights) - len(inside),
        "mean_weight": float(weights.mean()),
    }


def _outliers(one: dict[str, Any], found: Occurrences, kind: Any) -> Iterator[dict[str, Any]]:
    weights = found.weight[kind[found.word] == one["kind"]]
    beyond = weights[(weights < one["low"]) | (weights > one["high"])]
    far = np.argsort(-np.abs(beyond - one["median"]), kind="stable")[:MOST_OUTLIERS]
    yield from ({"kind": one["kind"], "weight": float(weight)} for weight in beyond[far])


def _tops(found: Occurrences) -> Int[ndarray, " documents"]:
    """Where the word of most weight stands, of every document that has two words at least."""
    order = np.lexsort((-found.weight, found.document))
    document = found.document[order]
    is_first = np.concatenate([[True], document[1:] != document[:-1]])
    counts = np.bincount(found.document)
    tops = order[is_first]
    return tops[counts[found.document[tops]] > 1]


def _percentiles(
    score: Float[ndarray, " vocabulary"], occurring: Int[ndarray, " words"]
) -> Float[ndarray, " vocabulary"]:
    """The share of occurring words whose score is lower."""
    known = np.sort(score[occurring])
    return np.searchsorted(known, score) / max(len(known), 1)
