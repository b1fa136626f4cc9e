"""A small BERT trained by a plain loop on planted documents, kept as a Hugging Face folder.

It also learns to be unsure of texts without evidence: else it would take one label for granted, and
decide for it by the absence of words, which no picture can show. Checked, not
assumed: right with the evidence, and unsure without. What its own attention shows is not known, so
it stands behind pictures of known truth.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.errors import RunError
from heedful.text.documents import Corpus

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LAYERS, HEADS, SIZE = 2, 4, 64
EPOCHS, BATCH, LEARNING_RATE = 6, 64, 1e-3
LEAST_ACCURACY = 0.9
SUREST_WITHOUT = 0.75  # mean of the largest probability, with the evidence deleted
WITHOUT_EVIDENCE = 4  # one in so many documents is also learnt without its evidence
INPUTS = ("input_ids", "attention_mask")


def train_tiny_bert(folder: Path, corpus: Corpus, seed: int) -> None:
    """Train on the corpus and save model and tokenizer; refused if it does not learn."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        PreTrainedTokenizerFast,
    )

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = sorted({word for text in corpus.train.texts for word in text.split()})
    vocabulary = {word: number for number, word in enumerate([*special, *words])}
    raw = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = WhitespaceSplit()
    raw.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    labels = sorted({str(label) for label in corpus.train.labels})
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=SIZE, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=2 * SIZE, max_position_embeddings=256,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
        id2label=dict(enumerate(labels)), label2id={name: n for n, name in enumerate(labels)},
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    number = {name: n for n, name in enumerate(labels)}
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE)
    rng = torch.Generator().manual_seed(seed)
    texts = [*corpus.train.texts]
    target = torch.eye(len(labels))[[number[str(label)] for label in corpus.train.labels]]
    for document in corpus.train[: len(corpus.train) // WITHOUT_EVIDENCE]:
        texts.append(_without_evidence(document.text, document.rationale or ()))
    even = torch.full((len(texts) - len(target), len(labels)), 1 / len(labels))
    target = torch.cat([target, even])
    model.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(texts), generator=rng)
        for some in order.split(BATCH):
            batch = tokenizer([texts[i] for i in some.tolist()], padding=True, return_tensors="pt")
            logits = model(**{name: batch[name] for name in INPUTS}).logits
            loss = cross_entropy(logits, target[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    whole, without = (_probabilities(model, tokenizer, part) for part in _dev_texts(corpus))
    right = [number[str(label)] for label in corpus.dev.labels]
    accuracy = float((whole.argmax(dim=-1) == torch.tensor(right)).float().mean())
    sure = float(without.amax(dim=-1).mean())
    if accuracy < LEAST_ACCURACY or sure > SUREST_WITHOUT:
        raise RunError(
            f"a small BERT should decide by the evidence alone: {accuracy:.0%} right on the dev "
            f"part, and with the evidence deleted its largest probability is {sure:.0%}."
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _dev_texts(corpus: Corpus) -> tuple[list[str], list[str]]:
    """The texts of the dev part, and the same without their evidence."""
    return list(corpus.dev.texts), [
        _without_evidence(document.text, document.rationale or ()) for document in corpus.dev
    ]


def _without_evidence(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    marked = [not any(a <= i < b for a, b in spans) for i in range(len(text))]
    return " ".join("".join(c for c, is_kept in zip(text, marked, strict=True) if is_kept).split())


def _probabilities(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: list[str]
) -> Float[Tensor, "texts classes"]:
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits: Tensor = model(**{name: batch[name] for name in INPUTS}).logits
    return logits.softmax(dim=-1)
