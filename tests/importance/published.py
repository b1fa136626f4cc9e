"""A small random BERT whose numbers do not depend on torch or transformers, for authors' code."""

import json
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

NUMBERS = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
SIZES = {
    "vocab_size": 16, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 37, "max_position_embeddings": 40, "num_labels": 2,
}  # fmt: skip


def numbers_of(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Biases that matter, and attention that is neither flat nor on one word."""
    drawn = rng.standard_normal(shape)
    if name.endswith("LayerNorm.weight"):
        return 1 + 0.2 * drawn
    if "embeddings" in name and len(shape) > 1:
        return drawn
    return 0.3 * drawn if len(shape) == 1 else 0.25 * drawn


def published_bert() -> BertForSequenceClassification:
    """The model that the authors' code was run on."""
    model = BertForSequenceClassification(BertConfig(**SIZES, pad_token_id=0)).eval()
    rng = np.random.default_rng(20)
    with torch.no_grad():
        for name, numbers in sorted(model.named_parameters()):
            numbers.copy_(torch.from_numpy(numbers_of(name, tuple(numbers.shape), rng)))
        # DecompX gives these to words even when it leaves biases out; heedful leaves out all.
        model.bert.encoder.layer[0].attention.self.value.bias.zero_()
    return model
