"""A tokenizer of whole words for models with random numbers."""

from collections.abc import Sequence

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """Words behind the special tokens, [CLS] and [SEP] around a text."""
    known = {word: number for number, word in enumerate([*SPECIAL, *words])}
    cutter = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    cutter.pre_tokenizer = pre_tokenizers.Whitespace()
    cutter.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=cutter, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]",
    )  # fmt: skip
