"""Transformers trained by a plain loop on planted documents, kept as Hugging Face folders.

They also learn to be unsure of texts without the evidence: else they would take one label for
granted, and decide for it by the absence of words, which no picture can show. Checked, not assumed:
right with the evidence, and unsure without. What their own attention shows is not known, so they
stand behind pictures of known truth.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.errors import EnvironmentFailure, RunError
from heedful.model.pretrained import minilm_folder
from heedful.text.documents import Corpus, Document, Span
from heedful.training.trained import choose_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase]

Base = Literal["tiny-bert", "minilm"]
LAYERS, HEADS, SIZE = 2, 4, 64
BATCH = 64
LEAST_ACCURACY = 0.9
SUREST_WITHOUT = 0.75  # mean of the largest probability, with the evidence deleted
WITHOUT_EVIDENCE = 4  # one in so many documents is also learnt without its evidence
INPUTS = ("input_ids", "attention_mask")


@dataclass(frozen=True)
class Start:
    """What a Transformer is trained from, and for how long."""

    make: "Callable[[Sequence[str], dict[int, str]], Loaded]"  # from texts and classes
    epochs: int
    learning_rate: float


def train_transformer(
    folder: Path,
    corpus: Corpus,
    base: Base,
    seed: int,
    device: str = "cpu",
    *,
    needs_all: bool = False,
) -> None:
    """Train on the corpus and save model and tokenizer; refused if it does not learn.

    `needs_all`: no word of the evidence says anything without the others, so the model is also
    taught, and asked, to be unsure if one of them is deleted.
    """
    labels = sorted({str(label) for label in corpus.train.labels})
    number = {name: n for n, name in enumerate(labels)}
    torch.manual_seed(seed)
    start = BASES[base]
    model, tokenizer = start.make(corpus.train.texts, dict(enumerate(labels)))
    place = choose_device(device)
    model = model.to(place)  # type: ignore[arg-type]  # of transformers' own annotation
    optimizer = torch.optim.AdamW(model.parameters(), start.learning_rate)
    rng = torch.Generator().manual_seed(seed)
    texts = [*corpus.train.texts]
    target = torch.eye(len(labels))[[number[str(label)] for label in corpus.train.labels]]
    for document in corpus.train[: len(corpus.train) // WITHOUT_EVIDENCE]:
        texts += texts_without_evidence(document, needs_all=needs_all)
    even = torch.full((len(texts) - len(target), len(labels)), 1 / len(labels))
    target = torch.cat([target, even])
    model.train()
    for _ in range(start.epochs):
        order = torch.randperm(len(texts), generator=rng)
        for some in order.split(BATCH):
            batch = tokenizer([texts[i] for i in some.tolist()], padding=True, return_tensors="pt")
            logits = model(**{name: batch[name].to(place) for name in INPUTS}).logits
            loss = cross_entropy(logits, target[some].to(place))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    right = torch.tensor([number[str(label)] for label in corpus.dev.labels])
    whole = _probabilities(model, tokenizer, corpus.dev.texts).argmax(dim=-1)
    accuracy = float((whole == right).float().mean())
    lacking = [
        text
        for document in corpus.dev
        for text in texts_without_evidence(document, needs_all=needs_all)
    ]
    sure = float(_probabilities(model, tokenizer, lacking).amax(dim=-1).mean())
    if accuracy < LEAST_ACCURACY or sure > SUREST_WITHOUT:
        raise RunError(
            f"a Transformer of the zoo should decide by the evidence alone: {accuracy:.0%} right "
            f"on the dev part, and with evidence deleted its largest probability is {sure:.0%}."
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tiny_bert(texts: Sequence[str], classes: dict[int, str]) -> "Loaded":
    """A BERT of two layers that starts from random numbers, and every word of the texts."""
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
    words = sorted({word for text in texts for word in text.split()})
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
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=SIZE, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=2 * SIZE, max_position_embeddings=256,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
        id2label=classes, label2id={name: n for n, name in classes.items()},
    )  # fmt: skip
    return BertForSequenceClassification(config), tokenizer


def _minilm(texts: Sequence[str], classes: dict[int, str]) -> "Loaded":
    """The pretrained encoder, with a new output."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = minilm_folder()
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, id2label=classes, label2id={name: n for n, name in classes.items()}
    )
    return model.float(), AutoTokenizer.from_pretrained(folder)


BASES: dict[Base, Start] = {
    "tiny-bert": Start(_tiny_bert, epochs=6, learning_rate=1e-3),
    "minilm": Start(_minilm, epochs=3, learning_rate=1e-4),
}


def why_no_base(base: Base) -> str:
    """Why no Transformer can be trained from a base here; nothing if it can."""
    if base != "minilm":
        return ""
    try:
        minilm_folder()
    except EnvironmentFailure as failure:
        return str(failure)
    return ""


def texts_without_evidence(document: Document, *, needs_all: bool) -> Iterator[str]:
    """Its text without all of its evidence; and without one word of it, if it needs them all."""
    spans = tuple(document.rationale or ())
    yield _without(document.text, spans)
    if needs_all:
        yield from (_without(document.text, (span,)) for span in spans)


def _without(text: str, spans: tuple[Span, ...]) -> str:
    marked = [not any(a <= i < b for a, b in spans) for i in range(len(text))]
    return " ".join("".join(c for c, is_kept in zip(text, marked, strict=True) if is_kept).split())


def _probabilities(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]
) -> Float[Tensor, "texts classes"]:
    found = []
    for start in range(0, len(texts), BATCH):
        some = list(texts[start : start + BATCH])
        batch = tokenizer(some, padding=True, return_tensors="pt")
        inputs = {name: batch[name].to(model.device) for name in INPUTS}
        with torch.no_grad():
            found.append(model(**inputs).logits.softmax(dim=-1).cpu())
    return torch.cat(found)
