"""Attention and polarity scores of words, in their texts and alone, whatever the encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.stats import spearmanr
from torch import Tensor

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.analysis.word_classes import (
    NEUTRAL,
    NO_KIND,
    Kinds,
    kind_of_words,
    read_labels,
    words_by_kind,
)
from heedful.auditing.bootstrap import estimate
from heedful.auditing.results import Table
from heedful.errors import DataError
from heedful.importance.attention import state_margins
from heedful.model.alignments import DotScores, LearnedQuery
from heedful.model.classifier import AttentionClassifier
from heedful.model.outputs import Output
from heedful.text.batching import Batches
from heedful.text.documents import Documents
from heedful.text.token_classes import classify_tokens
from heedful.text.vocabulary import Encoded
from heedful.training.recipes.vw_penalty import query_times_output
from heedful.training.trained import Trained

PerWord = Float[ndarray, " vocabulary"]


@dataclass(frozen=True)
class WordScores:
    """Means per word of the vocabulary; NaN for words that did not occur."""

    attention_score: PerWord
    polarity: PerWord
    weight: PerWord
    occurrences: Int[ndarray, " vocabulary"]


def _scatter(where: str, title: str) -> FigureSpec:
    """The scatter of words by their local or their global scores."""
    columns = {f"{where}_{name}": name for name in ("attention_score", "polarity")}
    return FigureSpec("word_scatter", columns=columns, options={"title": title})


@analyses.register("word-scores")
@dataclass(frozen=True)
class LocalAndGlobal(OfRun):
    """Attention and polarity scores of words, in their texts and each alone (Sun & Lu).

    Local: the mean over the occurrences in the documents. Global: the word as a text of its own.
    Without context the two are the same.
    """

    name = "word-scores"
    asks = "Do words tied to a label get higher scores, in their texts and alone?"
    part = "train"
    figures = (
        _scatter("local", "Words in their texts"),
        _scatter("global", "Words alone"),
        FigureSpec("local_against_global"),
        FigureSpec("word_weights"),
    )

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Scores of all words of a kind that occur in the documents."""
        model = needs_attention(trained, self.name)
        words = trained.tokenizer.words
        kinds = words_by_kind(trained.classes, classify_tokens(trained.label_counts))
        local = local_scores(model, trained.batches(documents.texts), len(words), kinds)
        alone = global_scores(model, len(words), kinds)
        kind = np.array(kind_of_words(kinds, len(words)))
        is_shown = (kind != NO_KIND) & (local.occurrences > 0)
        if not is_shown.any():
            raise DataError("no polar or neutral word of the training occurs in these documents.")
        rng = np.random.default_rng(seed)
        summary = []
        for name in kinds:
            of_kind = is_shown & (kind == name)
            if not of_kind.any():
                continue
            row = {"kind": name, "words": int(of_kind.sum())}
            for where, scores in (("local", local), ("global", alone)):
                for what in ("attention_score", "polarity"):
                    values = getattr(scores, what)[of_kind]
                    row |= with_interval(f"{where}_{what}", estimate(values, rng))
            summary.append(row | {"weight": float(local.weight[of_kind].mean())})
        agreement = tuple(
            {
                "score": what.replace("_", " "),
                "rank_correlation": _rank_correlation(
                    getattr(local, what)[is_shown], getattr(alone, what)[is_shown]
                ),
                "words": int(is_shown.sum()),
            }
            for what in ("attention_score", "polarity")
        )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables={
                "kinds": tuple(summary),
                "agreement": agreement,
                "balance": _balance(summary, model),
            },
            rows={
                "word": [word for word, shown in zip(words, is_shown, strict=True) if shown],
                "kind": kind[is_shown].tolist(),
                "occurrences": local.occurrences[is_shown].tolist(),
                "local_attention_score": local.attention_score[is_shown].tolist(),
                "local_polarity": local.polarity[is_shown].tolist(),
                "global_attention_score": alone.attention_score[is_shown].tolist(),
                "global_polarity": alone.polarity[is_shown].tolist(),
                "weight": local.weight[is_shown].tolist(),
            },
            notes=(
                "Local scores are means over occurrences in the given documents; global scores are "
                "those of the word as a whole text. Their rank correlation is "
                + " and ".join(f"{r['rank_correlation']:.2f} ({r['score']})" for r in agreement)
                + ". Intervals are over words.",
            ),
            about={"words": {kind: len(members) for kind, members in kinds.items()}},
            figures=self.figures,
        )


def _balance(kinds: Sequence[Mapping[str, Any]], model: AttentionClassifier) -> Table:
    """Whether words of one label get the higher attention scores; V · W, which decides it.

    split = |first - second| / (|first - neutral| + |second - neutral|)

    is 1 where neutral words stand between the two labels', 0 where these are alike. Two labels
    only; V · W where there is a learned query and a linear output, else nothing.
    """
    scores = {row["kind"]: row["global_attention_score"] for row in kinds}
    labels = [kind for kind in scores if kind != NEUTRAL]
    if len(labels) != 2:
        return ()
    gap = scores[labels[1]] - scores[labels[0]]
    is_dot = isinstance(model.alignment, DotScores) and isinstance(model.output, Output)
    has_query = is_dot and isinstance(model.alignment.query, LearnedQuery)
    product = float(query_times_output(model)[0].detach()) if has_query else None
    row = {"attention_score_gap": gap, "attention_score_distance": abs(gap)}
    return ({**row, "attention_score_split": score_split(scores), "query_times_output": product},)


def score_split(scores: Mapping[str, float]) -> float | None:
    """The split of two labels from their kinds' mean scores; None for more labels."""
    labels = [kind for kind in scores if kind != NEUTRAL]
    if len(labels) != 2 or NEUTRAL not in scores:
        return None
    away = sum(abs(scores[label] - scores[NEUTRAL]) for label in labels)
    return abs(scores[labels[1]] - scores[labels[0]]) / away if away else None


def local_scores(
    model: AttentionClassifier, batches: Batches, vocabulary: int, kinds: Kinds
) -> WordScores:
    """Means over the occurrences of each word; polarity for the label on which it is read."""
    device = next(model.parameters()).device
    counts = torch.zeros(vocabulary, dtype=torch.int64, device=device)
    sums: Tensor | None = None  # attention score, weight, then a margin for each label
    with torch.inference_mode():
        for batch in batches.by_length():
            trace = model(batch)
            ids = batch.token_ids[batch.is_token]
            margins = state_margins(model, trace.hidden)
            both = torch.stack([trace.scores, trace.weights], dim=-1)
            values = torch.cat([both, margins], dim=-1)[batch.is_token].double()
            if sums is None:
                sums = values.new_zeros(vocabulary, values.shape[1])
            sums.index_add_(0, ids, values)
            counts.index_add_(0, ids, torch.ones_like(ids))
    if sums is None:
        raise DataError("there are no documents to take the scores of words from.")
    occurrences = counts.cpu().numpy()
    has_occurred = (occurrences > 0)[:, None]
    means = np.where(has_occurred, sums.cpu().numpy() / np.maximum(occurrences, 1)[:, None], np.nan)
    score, weight, margin = means[:, 0], means[:, 1], means[:, 2:]
    polarity = margin[np.arange(vocabulary), read_labels(margin, kinds)]
    return WordScores(score, polarity, weight, occurrences)


def global_scores(model: AttentionClassifier, vocabulary: int, kinds: Kinds) -> WordScores:
    """Scores of each word of the vocabulary as a text of one word."""
    ids = np.arange(vocabulary)
    alone = Encoded(ids, np.arange(len(ids) + 1))
    batches = Batches(alone, device=next(model.parameters()).device)
    return local_scores(model, batches, vocabulary, kinds)


def _rank_correlation(first: Float[ndarray, " words"], second: Float[ndarray, " words"]) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(spearmanr(first, second).statistic)
