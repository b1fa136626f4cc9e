"""Sentence vectors in the plane, and two numbers for how far apart the labels stand."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.auditing.bootstrap import estimate
from heedful.auditing.results import Table
from heedful.config import at_least
from heedful.errors import DataError
from heedful.model.classifier import AttentionClassifier
from heedful.model.outputs import BottleneckOutput
from heedful.text.batching import Batches
from heedful.text.documents import Documents
from heedful.training.trained import Trained

Contexts = Float[ndarray, "documents hidden"]
Labels = Int[ndarray, " documents"]

CONTEXT, CODE = "R", "z"  # the names of Zhou et al.
TABLES = {CONTEXT: "places", CODE: "codes"}


@analyses.register("sentence-vectors")
@dataclass(frozen=True)
class SentenceVectors(OfRun):
    """Context vectors of test documents in the plane, by label (Zhou et al.).

    Of a model with a bottleneck (VAT) also the codes that it makes of them. Silhouette and centroid
    ratio are taken in all dimensions; the picture is only a picture.
    """

    name = "sentence-vectors"
    asks = "Are the document vectors that attention makes separated by label?"
    figures = (FigureSpec("sentence_vectors", "places"), FigureSpec("sentence_vectors", "codes"))

    method: Literal["pca", "tsne"] = "pca"
    documents: int = 1000  # at most, drawn at random

    def __post_init__(self) -> None:
        at_least(3, documents=self.documents)

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Project, and measure."""
        model = needs_attention(trained, self.name)
        names = [str(name) for name in trained.classes]
        known = [n for n, label in enumerate(documents.labels) if label in names]
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.permutation(known)[: self.documents]).astype(np.int64)
        texts = documents.take(chosen.tolist())
        labels = np.array([names.index(str(label)) for label in texts.labels], dtype=np.int64)
        counts = np.bincount(labels, minlength=1)
        if (counts >= 2).sum() < 2:
            raise DataError(
                "sentence-vectors compares labels, so at least two of the model's labels "
                f"({', '.join(names[:10])}) need two documents each; there are "
                f"{len(labels):,} labelled ones."
            )
        predictions = trained.probabilities(texts.texts).argmax(axis=1)
        shown = {
            "label": [names[label] for label in labels],
            "prediction": [names[label] for label in predictions],
        }
        summary, rows = [], dict[str, list[Any]](shown)
        tables: dict[str, Table] = {}
        for which, vectors in document_vectors(model, trained.batches(texts.texts)).items():
            places, explained = project(vectors, self.method, seed)
            apart = silhouettes(vectors, labels)
            about = {
                "vectors": which,
                "documents": len(labels),
                "accuracy": float((predictions == labels).mean()),
                **with_interval("silhouette", estimate(apart, rng)),
                "centroid_ratio": centroid_ratio(vectors, labels),
            }
            if self.method == "pca":
                about["variance_shown"] = float(explained)
            summary.append(about)
            found = {"x": places[:, 0].tolist(), "y": places[:, 1].tolist()}
            found["silhouette"] = apart.tolist()
            suffix = "" if which == CONTEXT else f"_{which}"
            rows |= {f"{name}{suffix}": values for name, values in found.items()}
            columns = {**found, **shown}
            tables[TABLES[which]] = tuple(
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables=tables,
            rows={"text": texts.texts, **rows},
            notes=(
                "R: states weighed by attention and summed. z: the mean code that a bottleneck "
                "makes of R, where the model has one. Silhouette: 1 separated, 0 touching, below 0 "
                "closer to another label's documents; interval over documents. Centroid ratio: "
                "mean distance between the labels' centroids, divided by the mean distance of "
                "documents from their own centroid.",
            ),
            figures=tuple(figure for figure in self.figures if figure.table in tables),
        )


def document_vectors(model: AttentionClassifier, batches: Batches) -> dict[str, Contexts]:
    """R, what attention makes of each document; and z, its code, of a model with a bottleneck."""
    contexts = context_vectors(model, batches)
    if not isinstance(model.output, BottleneckOutput):
        return {CONTEXT: contexts}
    weight = next(model.output.mean.parameters())
    with torch.inference_mode():
        codes = model.output.mean(torch.from_numpy(contexts).to(weight))
    return {CONTEXT: contexts, CODE: codes.double().cpu().numpy()}


def context_vectors(model: AttentionClassifier, batches: Batches) -> Contexts:
    """What attention makes of each document: its states, weighed and summed."""
    rows = np.empty((len(batches), model.encoder.output_size))
    with torch.inference_mode():
        for batch in batches.by_length():
            trace = model(batch)
            context = (trace.weights.unsqueeze(1) @ trace.hidden).squeeze(1)
            rows[batch.indices] = context.double().cpu().numpy()
    return rows


def project(
    contexts: Contexts, method: Literal["pca", "tsne"], seed: int
) -> tuple[Float[ndarray, "documents 2"], float]:
    """Places in the plane, and the share of variance they keep (NaN for t-SNE)."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if method == "pca":
        kept = PCA(min(2, *contexts.shape), svd_solver="full").fit(contexts)
        places = np.zeros((len(contexts), 2))
        found = kept.transform(contexts)
        places[:, : found.shape[1]] = found
        return places, float(kept.explained_variance_ratio_.sum())
    perplexity = min(30.0, (len(contexts) - 1) / 3)
    shown = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(contexts)
    return shown.astype(np.float64), float("nan")


def silhouettes(contexts: Contexts, labels: Labels) -> Float[ndarray, " documents"]:
    """(b - a) / max(a, b): a to documents of the same label, b to those of the nearest other."""
    from sklearn.metrics import silhouette_samples

    return silhouette_samples(contexts, labels).astype(np.float64)


def centroid_ratio(contexts: Contexts, labels: Labels) -> float:
    """Mean distance between centroids of labels / mean distance of documents from their own.

    0: the labels have one middle. Above 1: they stand further apart than they are wide.
    """
    present, place = np.unique(labels, return_inverse=True)
    centroids = np.stack([contexts[place == n].mean(axis=0) for n in range(len(present))])
    within = np.linalg.norm(contexts - centroids[place], axis=1).mean()
    first, second = np.triu_indices(len(present), k=1)
    between = np.linalg.norm(centroids[first] - centroids[second], axis=1).mean()
    return float(between / within) if within > 0 else float("inf")
