"""Texts -> what a Transformer reads, and which word each of its positions belongs to.

Words are cut as everywhere in heedful. Words that share a piece are one word, so that a word can
be deleted without cutting a piece. Positions outside of every word are special. A text that is too
long for the model is cut or read in several windows (`windows.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from tokenizers import Regex, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.auditing.subjects.huggingface.windows import (
    LongTexts,
    mean_by_text,
    weights_within,
    windows,
)
from heedful.errors import ConfigError
from heedful.model.sequence_classifier import without_end
from heedful.readouts.pooling import SPECIAL, shares_of_words, sum_over_pieces
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
    further: tuple["Pieces", ...] = ()  # windows of the same text and words, behind this one

    def __len__(self) -> int:
        return len(self.word_of)

    @property
    def windows(self) -> tuple["Pieces", ...]:
        """All windows of the text; most have one."""
        return (self, *self.further)

    def with_hidden(self, is_hidden: Bool[ndarray, " words"]) -> "Pieces":
        """The same, with some words hidden from attention; special positions never are."""
        if not len(self.offsets):
            return self
        is_seen = (self.word_of == SPECIAL) | ~is_hidden[np.maximum(self.word_of, 0)]
        mask = np.where(is_seen, self.inputs["attention_mask"], 0).tolist()
        further = tuple(window.with_hidden(is_hidden) for window in self.further)
        return replace(self, inputs={**self.inputs, "attention_mask": mask}, further=further)


@dataclass(frozen=True)
class PieceBatch:
    """Several texts in pieces, padded; a row for each window of a text."""

    inputs: dict[str, Int[Tensor, "batch positions"]]
    word_of: Int[Tensor, "batch positions"]
    is_real: Bool[Tensor, "batch positions"]  # no padding
    text_of: Int[Tensor, " batch"]  # the text that each row is a window of, in order

    def to(self, device: torch.device) -> "PieceBatch":
        """The same on a device."""
        moved = {name: numbers.to(device) for name, numbers in self.inputs.items()}
        others = (x.to(device) for x in (self.word_of, self.is_real, self.text_of))
        return PieceBatch(moved, *others)

    def repeated(self, times: int) -> "PieceBatch":
        """Every text several times, one after the other."""
        texts = int(self.text_of[-1]) + 1
        numbers = torch.arange(len(self.text_of), device=self.text_of.device)
        copies = [numbers[self.text_of == text].repeat(times) for text in range(texts)]
        order = torch.cat(copies)
        windows = torch.bincount(self.text_of, minlength=texts).repeat_interleave(times)
        text_of = torch.arange(texts * times, device=order.device).repeat_interleave(windows)
        inputs = {name: rows[order] for name, rows in self.inputs.items()}
        return PieceBatch(inputs, self.word_of[order], self.is_real[order], text_of)

    def tiled(self, times: int) -> "PieceBatch":
        """All texts several times, the whole batch again and again."""
        texts = int(self.text_of[-1]) + 1
        copies = torch.arange(times, device=self.text_of.device).repeat_interleave(
            len(self.text_of)
        )
        inputs = {name: rows.repeat(times, 1) for name, rows in self.inputs.items()}
        word_of, is_real = self.word_of.repeat(times, 1), self.is_real.repeat(times, 1)
        return PieceBatch(inputs, word_of, is_real, self.text_of.repeat(times) + texts * copies)

    def together(self, rows: Float[Tensor, "batch ..."]) -> Float[Tensor, "texts ..."]:
        """The mean over the windows of each text."""
        return mean_by_text(rows, self.text_of)

    def on_words(
        self, scores: Float[Tensor, "batch positions"], words: int
    ) -> Float[Tensor, "texts words"]:
        """The scores of each word's pieces, added up; the mean over the windows of each text."""
        return self.together(sum_over_pieces(scores, self.word_of, words))

    def weights_of_words(
        self, weights: Float[Tensor, "batch positions"], words: int
    ) -> Float[Tensor, "texts words"]:
        """Weights of words that sum to 1; even ones where the model gives no word any weight."""
        # In double precision, so that weights which sum to 1 here still do in an audit.
        of_words = self.on_words(weights.double(), words)
        return shares_of_words(of_words, self.on_words(torch.ones_like(weights), words) > 0)

    def within(
        self, shown: Float[Tensor, "texts words"], imposed: Float[Tensor, "texts words"]
    ) -> tuple[Float[Tensor, "batch words"], Float[Tensor, "batch words"]]:
        """Shown and imposed weights of texts as those of each window's words."""
        ones = torch.ones_like(self.word_of, dtype=shown.dtype)
        has_word = (sum_over_pieces(ones, self.word_of, shown.shape[1]) > 0).to(shown.dtype)
        own = weights_within(shown, self.text_of, has_word)
        return own, weights_within(imposed, self.text_of, has_word, own)


class PieceCutter:
    """A tokenizer as an audit needs it: pieces with their words, at most so many at a time."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        most: int | None,
        names: Sequence[str],
        long_texts: LongTexts = "cut",
        around: tuple[str, str] = ("", ""),
        end: str = "",
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError(
                "the tokenizer does not give the positions of its tokens in a text "
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
        self.long_texts = long_texts
        self.around = around  # what stands before and behind every text
        self.end = end  # a token that may only end a text; elsewhere it is read as blanks

    @property
    def limit(self) -> str:
        """How much it reads, in words for a person."""
        if self.most is None:
            return "texts of any length"
        way = "" if self.long_texts == "cut" else " at a time"
        return f"{self.most} tokens{way}"

    @property
    def replacement(self) -> str:
        """The token to put in place of a word: the mask, or else the unknown token."""
        token = self.tokenizer.mask_token or self.tokenizer.unk_token or ""
        return str(token)

    def cut(self, texts: Sequence[str]) -> list[Pieces]:
        """Each text in pieces, words included."""
        return [_with_words(pieces) for pieces in self.encode(texts, with_offsets=True)]

    def encode(self, texts: Sequence[str], with_offsets: bool = False) -> list[Pieces]:
        """Each text in pieces; with the offsets of pieces, not of words."""
        if not texts:
            return []
        before, behind = self.around
        is_plain = self.long_texts == "cut" and not any(self.around)  # the tokenizer can cut
        limit = {"truncation": True, "max_length": self.most} if is_plain and self.most else {}
        written = [whole_characters(text) for text in texts]
        found = self.tokenizer(
            [f"{before}{without_end(text, self.end)}{behind}" for text in written],
            return_offsets_mapping=with_offsets or not is_plain,
            return_attention_mask=True,
            verbose=False,  # about texts that are too long: they are taken care of here
            **limit,
        )
        pieces = []
        for row, text in enumerate(written):
            inputs = {name: found[name][row] for name in self.names if name in found}
            # Special positions have offsets (0, 0), so they overlap no word.
            spans = found["offset_mapping"][row] if "offset_mapping" in found else []
            if not inputs["input_ids"]:  # no word and no special position either
                nothing = {"input_ids": int(self.tokenizer.pad_token_id), "attention_mask": 1}
                inputs = {name: [nothing.get(name, 0)] for name in inputs}
                spans = [(0, 0)] if spans else []
            special = np.full(len(inputs["input_ids"]), SPECIAL)
            # Of a template nothing is left: its pieces are special too.
            offsets = np.clip(np.array(spans, np.int64).reshape(-1, 2) - len(before), 0, len(text))
            is_cut = bool(found.encodings[row].overflowing)
            whole = Pieces(text, inputs, special, offsets, is_cut)
            pieces.append(whole if is_plain else self._in_windows(whole))
        return pieces

    def _in_windows(self, whole: Pieces) -> Pieces:
        """As much as the model reads, or all of it in windows."""
        parts = windows(whole.offsets, self.most)
        if len(parts) == 1:
            return whole
        is_cut = self.long_texts == "cut"
        first, *further = (
            Pieces(
                whole.text,
                {name: np.take(numbers, part).tolist() for name, numbers in whole.inputs.items()},
                whole.word_of[part],
                whole.offsets[part],
                is_cut,
            )
            for part in parts[: 1 if is_cut else None]
        )
        return replace(first, further=tuple(further))

    def pad(self, some: Sequence[Pieces]) -> PieceBatch:
        """Windows of texts side by side, padded where the tokenizer pads."""
        counts = torch.tensor([len(pieces.windows) for pieces in some])
        text_of = torch.arange(len(some)).repeat_interleave(counts)
        some = [window for pieces in some for window in pieces.windows]
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
        return PieceBatch(tensors, word_of, is_real, text_of)


def shortened(pieces: Pieces, is_kept: Bool[ndarray, " words"]) -> str:
    """The text with only the kept words; between two, a blank if any stood between them."""
    if is_kept.all() and not pieces.is_cut:
        return pieces.text
    return only_words(pieces.text, pieces.offsets, is_kept)


def _with_words(pieces: Pieces) -> Pieces:
    """The same with its words, which all windows have in common."""
    spans = np.concatenate([window.offsets for window in pieces.windows])
    word_of, offsets = _words(pieces.text, spans)
    ends = np.cumsum([len(window) for window in pieces.windows])
    first, *further = (
        replace(window, word_of=of_window, offsets=offsets)
        for window, of_window in zip(pieces.windows, np.split(word_of, ends[:-1]), strict=True)
    )
    return replace(first, further=tuple(further))


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
