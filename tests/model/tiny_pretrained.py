"""Pretrained models of a few numbers, random ones, for tests."""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordPiece
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModel, BertConfig, PreTrainedTokenizerFast

from heedful.model.pretrained import PretrainedSource
from heedful.text.pieces import Pieces, joined

WORDS = ["good", "bad", "film", "a", "the", "very", "dull", "great", "not", ".", ","]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *LETTERS, *(f"##{x}" for x in LETTERS)]
VOCABULARY = {piece: number for number, piece in enumerate(dict.fromkeys(PIECES))}
SIZES = {
    "hidden_size": 6,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 40,
    "vocab_size": len(VOCABULARY),
}


def tiny_cutter() -> Tokenizer:
    """Some words whole, all others letter by letter."""
    cutter = Tokenizer(WordPiece(VOCABULARY, unk_token="[UNK]"))
    cutter.normalizer = normalizers.BertNormalizer()
    cutter.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return cutter


def tiny_source(kind: str = "bert", **sizes: int) -> PretrainedSource:
    """An architecture without weights."""
    config = AutoConfig.for_model(kind, **{**SIZES, **sizes})
    return PretrainedSource(
        name="tiny",
        config=json.loads(config.to_json_string(use_diff=False)),
        cutter=json.loads(tiny_cutter().to_str()),
        first=(VOCABULARY["[CLS]"],),
        last=(VOCABULARY["[SEP]"],),
        unknown=VOCABULARY["[UNK]"],
        positions=40,
    )


def pieces_of(ids: Iterable[int]) -> Pieces:
    """Pieces for numbered words: one for even numbers, two for odd ones."""
    return joined([[4 + n % 30, 40 + n % 20][: 1 + n % 2] for n in map(int, ids)])


def save_tiny(place: Path) -> None:
    """A tiny BERT as save_pretrained writes it."""
    torch.manual_seed(0)
    AutoModel.from_config(BertConfig(**SIZES)).save_pretrained(place)
    cutter = tiny_cutter()
    cutter.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, VOCABULARY[name]) for name in ("[CLS]", "[SEP]")],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=cutter,
        unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
    ).save_pretrained(place)  # fmt: skip
