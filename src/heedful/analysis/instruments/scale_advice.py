"""What V · W does to a trained model's attention scores, and the scale below which it does not."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from heedful.analysis.gradient_flow.of_model import Flow, flow_of, needs_closed_form
from heedful.analysis.instruments.base import OfRun, analyses
from heedful.analysis.instruments.word_scores import global_scores, score_split
from heedful.analysis.result import Result
from heedful.analysis.word_classes import NEUTRAL, Kinds, words_by_kind
from heedful.errors import ConfigError, DataError
from heedful.model.alignments import DotScores
from heedful.model.layers import TokenWise
from heedful.text.batching import Batches
from heedful.text.documents import Documents
from heedful.text.token_classes import classify_tokens
from heedful.training.trained import Trained


@analyses.register("scale-advice")
@dataclass(frozen=True)
class ScaleAdvice(OfRun):
    """V · W, the split of attention scores that it causes, and a scale that avoids it (Sun & Lu).

    d score / d tau = D + E + F,  D ~ V · W / scale,  E + F ~ 1 / scale²
    scale at which |D| = E + F:  scale * mean(E + F) / mean |D|,  over words tied to a label

    D raises the words of one label and lowers those of the other, by the sign of V · W; E raises
    both. Below that scale E prevails, as far as all else stays as it is in this run.
    """

    name = "scale-advice"
    asks = "Does V · W split the attention scores of the labels' words, and which scale avoids it?"
    part = "train"

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """One row: the numbers, and a sentence."""
        model = needs_closed_form(trained.model)
        alignment = model.alignment
        if not isinstance(alignment, DotScores) or not isinstance(model.encoder, TokenWise):
            raise ConfigError("scale-advice is about dot products. Use --alignment dot.")
        if not isinstance(model.encoder.layers, nn.Identity):
            raise ConfigError(
                "scale-advice is about scores of embeddings themselves. Use --encoder embedding."
            )
        names = [str(name) for name in trained.classes]
        known = [n for n, label in enumerate(documents.labels) if label in names]
        if not known:
            raise DataError("scale-advice needs documents with labels that the model knows.")
        texts = documents.take(known)
        labels = np.array([names.index(str(label)) for label in texts.labels], dtype=np.int64)
        kinds = words_by_kind(trained.classes, classify_tokens(trained.label_counts))
        encoded = trained.tokenizer.encode(texts.texts)
        flow = flow_of(model, Batches(encoded, labels, device=trained.device))
        alone = global_scores(model, len(trained.tokenizer.words), kinds)
        means = {
            kind: float(np.nanmean(alone.attention_score[words]))
            for kind, words in kinds.items()
            if len(words)
        }
        row = _advice(flow, kinds, alignment.scale)
        row["attention_score_split"] = score_split(means)
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=(row,),
            tables={"advice": (row,)},
            rows={},
            notes=(_sentence(row),),
        )


def _advice(flow: Flow, kinds: Kinds, scale: float) -> dict[str, Any]:
    """The means over words tied to a label, and the scale at which the two forces are equal."""
    polar = np.concatenate([words for kind, words in kinds.items() if kind != NEUTRAL])
    terms = {name: value[polar] for name, value in flow.terms.attention.items()}
    splits = float(terms["D"].abs().mean())
    raises = float((terms["E"] + terms["F"]).mean())
    return {
        "scale": scale,
        "query_times_output": float(flow.query_times_output.mean()),
        "splits": splits,
        "raises": raises,
        "largest_scale": scale * raises / splits if raises > 0 and splits > 0 else math.nan,
    }


def _sentence(row: dict[str, Any]) -> str:
    split, largest = row["attention_score_split"], row["largest_scale"]
    said = f"V · W is {row['query_times_output']:.3g} at scale {row['scale']:g}"
    if split is not None:
        said += f", and the split of the two labels' attention scores {split:.2f} (full at 1)"
    if math.isnan(largest):
        return (
            f"{said}. At this point of the training nothing raises the words of both labels, so no "
            "scale can be advised: penalise V · W with --recipe vw-penalty."
        )
    if row["scale"] <= largest:
        return (
            f"{said}. What raises the words of both labels outweighs what splits them, up to a "
            f"scale of about {largest:.3g}, all else being as in this run."
        )
    return (
        f"{said}. What splits the labels' words outweighs what raises both. A scale below about "
        f"{largest:.3g} avoids that, all else being as in this run; so does --recipe vw-penalty."
    )
