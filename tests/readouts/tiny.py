"""Random tiny Hugging Face classifiers and a tokenizer for them, made without a network."""

import random

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from heedful.text.documents import Document, Documents

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["good", "bad", "old", "new", "film", "a", "is", "happi", "##ly", "un", "##happi", "."]
COMMON = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "num_labels": 2,
    "pad_token_id": 0,
}
ENDS = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
KINDS = {
    "Bert": COMMON | {"max_position_embeddings": 40},
    "Roberta": COMMON | {"max_position_embeddings": 40},
    "DistilBert": {
        "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37, "num_labels": 2,
        "pad_token_id": 0, "max_position_embeddings": 40,
    },
    "Albert": COMMON | {"embedding_size": 16, "max_position_embeddings": 40},
    "Electra": COMMON | {"embedding_size": 16, "max_position_embeddings": 40},
    "ModernBert": COMMON | ENDS | {
        "max_position_embeddings": 40, "local_attention": 64,
        "initializer_range": 0.1,  # by its usual one every text gets the same answer but for 1e-5
    },
    "XLMRoberta": COMMON | {"max_position_embeddings": 40},
    "DebertaV2": COMMON
    | {"max_position_embeddings": 40, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}  # fmt: skip
SHARED_KEYS = COMMON | {"num_key_value_heads": 2, "max_position_embeddings": 40, "head_dim": 8}
DECODERS = {
    "GPT2": {
        "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 40, "num_labels": 2,
        "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
    },
    "Llama": SHARED_KEYS,
    "Qwen2": SHARED_KEYS,
    "Mistral": SHARED_KEYS,
    "Gemma": SHARED_KEYS,
    "Gemma2": SHARED_KEYS | {"query_pre_attn_scalar": 8},
}  # fmt: skip
REPLACEABLE = [kind for kind in KINDS if kind != "DebertaV2"]


def tiny_tokenizer(words: list[str] = WORDS, **options: object) -> PreTrainedTokenizerFast:
    """Word pieces: known words, and some that are made of several pieces."""
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    cutter = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    cutter.normalizer = normalizers.Lowercase()
    cutter.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cutter.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=cutter, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", **options,
    )  # fmt: skip


def tiny_model(kind: str, words: list[str] = WORDS, seed: int = 0, **changes) -> PreTrainedModel:
    """A random model of an architecture, its numbers large enough for texts to matter."""
    torch.manual_seed(seed)
    settings = (KINDS | DECODERS)[kind] | {"vocab_size": len(SPECIAL) + len(words)} | changes
    config = getattr(transformers, f"{kind}Config")(**settings)
    model = AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for name, numbers in model.named_parameters():
            if numbers.ndim > 1:
                numbers.mul_(8.0 if "embed" in name or "wte" in name else 4.0)
    return model.eval()


NEUTRAL = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]
PLANTED = [*WORDS, *NEUTRAL]


def planted_documents(count: int, seed: int = 0) -> Documents:
    """Neutral words with good or bad among them, once: the label."""
    rng = random.Random(seed)
    documents = []
    for _ in range(count):
        label = rng.choice(["bad", "good"])
        words = rng.choices(NEUTRAL, k=rng.randint(5, 9))
        words.insert(rng.randrange(len(words)), label)
        documents.append(Document(" ".join(words), label))
    return Documents(documents)


def fine_tuned(
    seed: int = 0, kind: str = "Bert"
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """A tiny model that has learnt the planted label: about two seconds."""
    tokenizer = tiny_tokenizer(PLANTED)
    torch.manual_seed(seed)
    names = {0: "bad", 1: "good"}
    settings = (KINDS | DECODERS)[kind] | {"vocab_size": len(tokenizer), "id2label": names}
    config = getattr(transformers, f"{kind}Config")(**settings)
    model = AutoModelForSequenceClassification.from_config(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    documents = planted_documents(1600, seed=1)
    model.train()
    for start in range(0, len(documents), 32):
        some = documents[start : start + 32]
        inputs = tokenizer(some.texts, padding=True, return_tensors="pt")
        labels = torch.tensor([int(label == "good") for label in some.labels])
        loss = model(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), tokenizer
