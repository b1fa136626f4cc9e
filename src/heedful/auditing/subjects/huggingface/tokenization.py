"""Texts -> what a Transformer reads, and which word each of its positions belongs to.

Words are cut as everywhere in heedful. Words that share a piece are one word, so that a word can
be deleted without cutting a piece. Positions outside of every word are special.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy import ndarray
from tokenizers import Regex, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.errors import ConfigError
from heedful.readouts.pooling import SPECIAL
from heedful.text.documents import only_words, whole_characters
from heedful.text.tokenize import WORD

Offsets = Int[ndarray, "words 2"]

_cutter = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)


@dataclass(frozen=True)
class Pieces:
    """One text in pieces."""

    text: str
    inputs: Mapping[str, Sequence[int]]  # by the model's names: input_ids, attention_mask, …
    word_of: Int[ndarray, " positions"]
    offsets: Offsets  # of its words
    is_cut: bool

    def __len__(self) -> int:
        return len(self.word_of)

    def with_hidden(self, is_hidden: Bool[ndarray, " words"]) -> "Pieces":
        """The same, with some words hidden from attention; special positions never are."""
        if not len(self.offsets):
            return self
        is_seen = (self.word_of == SPECIAL) | ~is_hidden[np.maximum(self.word_of, 0)]
        mask = np.where(is_seen, self.inputs["attention_mask"], 0).tolist()
        return replace(self, inputs={**self.inputs, "attention_mask": mask})


@dataclass(frozen=True)
class PieceBatch:
    """Several texts in pieces, padded."""

    inputs: dict[str, Int[Tensor, "batch positions"]]
    word_of: Int[Tensor, "batch positions"]
    is_real: Bool[Tensor, "batch positions"]  # no padding

    def to(self, device: torch.device) -> "PieceBatch":
        """The same on a device."""
        moved = {name: numbers.to(device) for name, numbers in self.inputs.items()}
        return PieceBatch(moved, self.word_of.to(device), self.is_real.to(device))

    def repeated(self, times: int) -> "PieceBatch":
        """Every text several times, one after the other."""
        inputs = {
            name: numbers.repeat_interleave(times, 0) for name, numbers in self.inputs.items()
        }
        word_of, is_real = (x.repeat_interleave(times, 0) for x in (self.word_of, self.is_real))
        return PieceBatch(inputs, word_of, is_real)


class PieceCutter:
    """A tokenizer as an audit needs it: pieces with their words, at most so many."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, most: int | None, names: Sequence[str]
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError(
                "the tokenizer does not say where its pieces stand in a text "
                f"({type(tokenizer).__name__} is a slow one). Load it with "
                "AutoTokenizer.from_pretrained(…, use_fast=True)."
            )
        if tokenizer.pad_token_id is None:
            raise ConfigError(
                "the tokenizer has no padding token, so texts cannot be read together. Set "
                "tokenizer.pad_token = tokenizer.eos_token and model.config.pad_token_id, and save "
                "both."
            )
        self.tokenizer = tokenizer
        self.most = most
        self.names = tuple(names)

    @property
    def replacement(self) -> str:
        """The token to put in place of a word: the mask, or else the unknown token."""
        token = self.tokenizer.mask_token or self.tokenizer.unk_token or ""
        return str(token)

    def cut(self, texts: Sequence[str]) -> list[Pieces]:
        """Each text in pieces, words included."""
        return [
            replace(pieces, word_of=word_of, offsets=offsets)
            for pieces in self.encode(texts, with_offsets=True)
            for word_of, offsets in [_words(pieces.text, pieces.offsets)]
        ]

    def encode(self, texts: Sequence[str], with_offsets: bool = False) -> list[Pieces]:
        """Each text in pieces; with the offsets of pieces, not of words."""
        if not texts:
            return []
        limit = {} if self.most is None else {"truncation": True, "max_length": self.most}
        written = [whole_characters(text) for text in texts]
        found = self.tokenizer(
            written,
            return_offsets_mapping=with_offsets,
            return_attention_mask=True,
            **limit,
        )
        pieces = []
        for row, text in enumerate(written):
            inputs = {name: found[name][row] for name in self.names if name in found}
            # Special positions have offsets (0, 0), so they overlap no word.
            spans = found["offset_mapping"][row] if with_offsets else []
            if not inputs["input_ids"]:  # no word and no special position either
                nothing = {"input_ids": int(self.tokenizer.pad_token_id), "attention_mask": 1}
                inputs = {name: [nothing.get(name, 0)] for name in inputs}
                spans = [(0, 0)] if with_offsets else []
            special = np.full(len(inputs["input_ids"]), SPECIAL)
            offsets = np.array(spans, np.int64).reshape(-1, 2)
            is_cut = bool(found.encodings[row].overflowing)
            pieces.append(Pieces(text, inputs, special, offsets, is_cut))
        return pieces

    def pad(self, some: Sequence[Pieces]) -> PieceBatch:
        """Texts side by side, padded where the tokenizer pads."""
        longest = max(1, *map(len, some))
        fill = {"input_ids": int(self.tokenizer.pad_token_id)}
        columns = [*some[0].inputs]
        rows: dict[str, list[list[int]]] = {name: [] for name in (*columns, "word_of", "is_real")}
        is_left = self.tokenizer.padding_side == "left"
        for pieces in some:
            known = {
                **pieces.inputs,
                "word_of": pieces.word_of.tolist(),
                "is_real": [1] * len(pieces),
            }
            for name, numbers in known.items():
                blank = SPECIAL if name == "word_of" else fill.get(name, 0)
                padding = [blank] * (longest - len(pieces))
                rows[name].append([*padding, *numbers] if is_left else [*numbers, *padding])
        tensors = {name: torch.tensor(lines) for name, lines in rows.items()}
        word_of, is_real = tensors.pop("word_of"), tensors.pop("is_real").bool()
        return PieceBatch(tensors, word_of, is_real)


def shortened(pieces: Pieces, is_kept: Bool[ndarray, " words"]) -> str:
    """The text with only the kept words; between two, a blank if any stood between them."""
    if is_kept.all() and not pieces.is_cut:
        return pieces.text
    return only_words(pieces.text, pieces.offsets, is_kept)


def _words(
    text: str, pieces: Int[ndarray, "positions 2"]
) -> tuple[Int[ndarray, " positions"], Offsets]:
    """The word of each piece, and where the words stand; words that share a piece are joined."""
    spans = [span for _, span in _cutter.pre_tokenize_str(text)]
    words = np.array(spans, dtype=np.int64).reshape(-1, 2)
    # A piece covers the words from the first that ends behind its start to the last that starts
    # before its end.
    first = np.searchsorted(words[:, 1], pieces[:, 0], side="right")
    last = np.searchsorted(words[:, 0], pieces[:, 1], side="left") - 1
    is_word = (pieces[:, 1] > pieces[:, 0]) & (last >= first)
    has_piece = np.zeros(len(words), dtype=bool)
    is_joined = np.zeros(len(words), dtype=bool)  # to the word before
    for low, high in zip(first[is_word].tolist(), last[is_word].tolist(), strict=True):
        has_piece[low : high + 1] = True
        is_joined[low + 1 : high + 1] = True
    number = np.cumsum(has_piece & ~is_joined) - 1
    word_of = (
        np.where(is_word, number[np.minimum(first, max(len(words) - 1, 0))], SPECIAL)
        if len(words)
        else np.full(len(pieces), SPECIAL)
    )
    starts = words[has_piece & ~is_joined, 0]
    ends = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(ends, number[has_piece], words[has_piece, 1])
    return word_of, np.stack([starts, ends], axis=1)
