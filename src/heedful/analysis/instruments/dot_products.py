"""Dot products between the embeddings of words of different kinds (Sun & Lu 2020, supplement)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.analysis.word_classes import NEUTRAL, Kinds, Vectors, mean_with_others, words_by_kind
from heedful.auditing.bootstrap import estimate
from heedful.text.documents import Documents
from heedful.text.token_classes import classify_tokens
from heedful.training.trained import Trained


@analyses.register("dot-products")
@dataclass(frozen=True)
class DotProducts(OfRun):
    """Mean dot products of embeddings between kinds of words (Sun & Lu)."""

    name = "dot-products"
    asks = "Do words of one label point the same way, and words of different labels apart?"
    part = None
    figures = (FigureSpec("dot_products", "dots"),)

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Per pair of kinds, the mean over words of each word's mean dot product."""
        model = needs_attention(trained, self.name)
        kinds = words_by_kind(trained.classes, classify_tokens(trained.label_counts))
        vectors = model.word_vectors.weight.detach().cpu().double().numpy()
        rng = np.random.default_rng(seed)
        summary, rows = [], _columns(vectors, kinds, trained.tokenizer.words)
        for first in kinds:
            for second in kinds:
                of_words = mean_with_others(vectors, kinds[first], kinds[second])
                if not len(of_words) or np.isnan(of_words).all():
                    continue
                summary.append(
                    {"words": first, "with": second}
                    | with_interval("dot_product", estimate(of_words, rng))
                    | {
                        "share_positive": float((of_words > 0).mean()),
                        "expected": _expected(first, second),
                        "count": len(of_words),
                    }
                )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables={"dots": tuple(summary)},
            rows=rows,
            notes=("Intervals are over words of the first kind; the other kind is held fixed.",),
            figures=self.figures,
        )


def _expected(first: str, second: str) -> str:
    """What Sun & Lu's theory says of the sign."""
    if NEUTRAL in (first, second):
        return "small"
    return "positive" if first == second else "negative"


def _columns(vectors: Vectors, kinds: Kinds, words: list[str]) -> dict[str, list[Any]]:
    """A row per word of any kind, with its mean dot product with each kind."""
    numbers = np.concatenate(list(kinds.values()))
    columns: dict[str, list[Any]] = {
        "word": [words[number] for number in numbers.tolist()],
        "kind": [kind for kind, members in kinds.items() for _ in members],
    }
    for kind, members in kinds.items():
        columns[f"with_{kind}"] = mean_with_others(vectors, numbers, members).tolist()
    return columns
