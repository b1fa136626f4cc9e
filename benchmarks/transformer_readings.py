"""Readings of a Hugging Face classifier: documents a second here and by Captum, on the same work.

    python benchmarks/transformer_readings.py [--documents 16] [--turns 3] [--layers 6] [--size 384]

A BERT of MiniLM's size with random weights (speed does not depend on them) and made-up texts of 10
to 60 words. Both compute the same: one prediction without each word; integrated gradients by 20
points; and one pass forth and back (decomposition here, input x gradient by Captum, which has no
decomposition). Captum is given batches of 32 variants of a text; heedful packs as it does in
audits. CPU time, medians of the turns, the two in turn within each.
"""

import argparse
import time
from collections.abc import Callable

import machine
import numpy as np
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
from word_tokenizer import word_tokenizer

from heedful.auditing.subjects.huggingface.loading import of_pair
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts

AT_ONCE = 32
STEPS = 20
UNKNOWN = 1


def made_up(
    layers: int, size: int
) -> tuple[BertForSequenceClassification, PreTrainedTokenizerFast]:
    """A random BERT and a tokenizer of a thousand words."""
    tokenizer = word_tokenizer([f"word{n}" for n in range(1000)])
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=size, num_hidden_layers=layers,
        num_attention_heads=12, intermediate_size=4 * size, num_labels=2,
    )  # fmt: skip
    return BertForSequenceClassification(config).eval(), tokenizer


class ByCaptum:
    """The same work, text by text."""

    def __init__(self, model: BertForSequenceClassification, tokenizer: PreTrainedTokenizerFast):
        self.model, self.tokenizer = model, tokenizer
        self.embed = model.get_input_embeddings()

    def _by_ids(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids).logits

    def _by_vectors(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.model(inputs_embeds=vectors).logits

    def leave_one_out(self, ids: torch.Tensor, target: int) -> None:
        """A prediction without each word: ends share one feature."""
        count = ids.shape[1] - 2
        mask = torch.tensor([[0, *range(1, count + 1), 0]])
        with torch.no_grad():
            FeatureAblation(self._by_ids).attribute(
                ids, UNKNOWN, target, feature_mask=mask, perturbations_per_eval=AT_ONCE
            )

    def integrated_gradients(self, ids: torch.Tensor, target: int) -> None:
        """By as many points."""
        IntegratedGradients(self._by_vectors).attribute(
            self.embed(ids).detach(), target=target, n_steps=STEPS, internal_batch_size=AT_ONCE
        )

    def one_pass(self, ids: torch.Tensor, target: int) -> None:
        """Forth and back."""
        vectors = self.embed(ids).detach().requires_grad_()
        InputXGradient(self._by_vectors).attribute(vectors, target=target)


def seconds(work: Callable[[], None]) -> float:
    """CPU time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Time both, print a row for each reading."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--size", type=int, default=384)
    given = parser.parse_args()
    print(machine.describe())
    model, tokenizer = made_up(given.layers, given.size)
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"word{n}" for n in rng.integers(1000, size=rng.integers(10, 61)))
        for _ in range(given.documents)
    ]
    captum = ByCaptum(model, tokenizer)
    encoded = [tokenizer([text], return_tensors="pt").input_ids for text in texts]
    with torch.no_grad():
        targets = [int(model(input_ids=ids).logits.argmax()) for ids in encoded]
    rows = {
        "leave-one-out": captum.leave_one_out,
        f"integrated-gradients:steps={STEPS}": captum.integrated_gradients,
        "decomposition": captum.one_pass,
    }
    print(f"{given.documents} documents, {sum(len(t.split()) for t in texts)} words")
    for measure, other in rows.items():
        ours, theirs = [], []
        for _ in range(given.turns):
            loaded = of_pair(model, tokenizer)  # one that remembers no answers
            subject = subject_of(loaded.model, readouts.make("last-cls"), loaded.classes)
            reading = subject.read(texts)
            ours.append(seconds(lambda: subject.importance(reading, measure)))  # noqa: B023
            work = zip(encoded, targets, strict=True)
            theirs.append(seconds(lambda: [other(*one) for one in work]))  # noqa: B023
        rate, their_rate = (given.documents / np.median(times) for times in (ours, theirs))
        print(
            f"{measure}: {rate:.2f} documents a second, Captum {their_rate:.2f}: "
            f"{rate / their_rate:.2f} times as many"
        )


if __name__ == "__main__":
    main()
