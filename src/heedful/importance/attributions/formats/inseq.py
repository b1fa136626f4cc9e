"""Attributions saved by inseq (`FeatureAttributionOutput.save`)."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.errors import DataError
from heedful.importance.attributions.base import USUAL_NAME, ScoredText, as_numbers
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    words_of,
    write_json,
)

TENSOR = "attribution"  # inseq's name for the one tensor of a safetensors string


@formats.register("inseq")
@dataclass(frozen=True)
class InseqFormat(AttributionFormat):
    """JSON of inseq: sequences with their tokens and a score per token and generated token.

    Scores are summed over what was generated, and over the components of granular ones. Those of a
    decoder are of the tokens before what was generated.
    """

    endings = (".json",)

    def fits(self, row: Row) -> bool:
        """Whether it holds sequence attributions, with or without names of classes."""
        return given(_attributes(row), "sequence_attributions")

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """Each sequence."""
        whole = _attributes(row)
        info = _attributes(whole.get("info") or {})
        texts = info.get("input_texts") or []
        method = str(info.get("attribution_method") or USUAL_NAME)
        for number, sequence in enumerate(map(_attributes, whole["sequence_attributions"])):
            place = f"{where}, sequence {number + 1}"
            tokens, scores = _scored(sequence, place)
            text = str(texts[number]) if number < len(texts) else _joined(tokens)
            yield ScoredText.of_tokens(text, tokens, scores, method=method, where=place)

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """In inseq's form with primitive types; one file for one method."""
        methods = {one.method for one in texts}
        if len(methods) > 1:
            raise DataError(
                f"an inseq file holds one method, not {', '.join(sorted(methods))}: write one "
                "file for each."
            )
        sequences = [
            {
                "source": [{"token": word, "id": -1} for word in words_of(one)],
                "target": [{"token": str(one.target), "id": -1}],
                "source_attributions": [[score] for score in one.scores.tolist()],
                "target_attributions": None,
                "attr_pos_start": 0,
                "attr_pos_end": 1,
            }
            for one in texts
        ]
        info = {"attribution_method": next(iter(methods), USUAL_NAME)}
        info |= {"input_texts": [one.text for one in texts]}  # type: ignore[dict-item]
        write_json(path, {"sequence_attributions": sequences, "info": info})


def _attributes(value: Any) -> Mapping[str, Any]:
    """The fields of an instance, whichever way inseq has written it."""
    found = value.get("attributes", value) if isinstance(value, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _scored(sequence: Row, where: str) -> tuple[list[str], Float[ndarray, " tokens"]]:
    generated = [str(_attributes(token).get("token")) for token in sequence.get("target") or []]
    if sequence.get("source_attributions") is not None:
        tokens = [str(_attributes(token).get("token")) for token in sequence["source"]]
        return tokens, _summed(_array(sequence["source_attributions"], where), len(tokens), where)
    if sequence.get("target_attributions") is None:
        raise DataError(f"{where}: it contains no attributions of its tokens.")
    before = int(sequence.get("attr_pos_start") or 0)
    scores = _array(sequence["target_attributions"], where)[:before]
    return generated[:before], _summed(scores, before, where)


def _summed(scores: Float[ndarray, "..."], tokens: int, where: str) -> Float[ndarray, " tokens"]:
    rows = len(scores) if scores.ndim else 0
    if scores.ndim < 1 or rows != tokens:
        raise DataError(f"{where}: expected {tokens} rows of scores, one per token; got {rows}.")
    if not tokens:
        return np.empty(0)
    # What a token could not see is not a number.
    return np.nan_to_num(scores).reshape(tokens, -1).sum(axis=1)


def _array(value: Any, where: str) -> Float[ndarray, "..."]:
    """Lists, arrays written as lists, or a safetensors string."""
    if isinstance(value, Mapping):
        value = value.get("__ndarray__")
    if not isinstance(value, str):
        return as_numbers(value, where)
    from safetensors.torch import load  # numpy has no numbers of 8 bits

    try:
        found = load(base64.b64decode(value, validate=True))[TENSOR]
        return as_numbers(found.double().numpy(), where)
    except Exception as error:  # noqa: BLE001  # safetensors raises its own, from another language
        raise DataError(f"{where}: its scores cannot be read ({error!s:.80}).") from None


def _joined(tokens: Sequence[str]) -> str:
    """A text of tokens, where it is not told."""
    return "".join(f" {t[1:]}" if t[:1] in "Ġ▁" else t for t in tokens).strip()
