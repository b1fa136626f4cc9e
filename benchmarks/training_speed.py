"""CPU time of training against a plain loop: BiLSTM(128) + additive on sst2_jw, 300-d, batch 32.

    python benchmarks/training_speed.py [--epochs 8] [--repeats 1]

The plain loop is what one writes first: batches of random documents padded to their longest, a
packed bidirectional `nn.LSTM`, `torch.optim.Adam(amsgrad=True)`. All train on one thread in one
process, in turn, and are scored on the same documents. `faithful` reads texts more than once; its
ratio is to `standard`, for as many epochs. Needs $HEEDFUL_DATA.
"""

import argparse
import time

import machine
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import heedful
from heedful.text.tokenize import Tokenizer
from heedful.training.settings import profiles


class PlainModel(nn.Module):
    """The same architecture, written plainly."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 300, padding_idx=0)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.lstm = nn.LSTM(300, 128, batch_first=True, bidirectional=True)
        self.inner = nn.Linear(256, 128)
        self.outer = nn.Linear(128, 1, bias=False)
        self.output = nn.Linear(256, 1)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One logit per document."""
        packed = pack_padded_sequence(
            self.embedding(ids), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.outer(torch.tanh(self.inner(hidden))).squeeze(-1)
        is_token = torch.arange(ids.shape[1]) < lengths[:, None]
        weights = scores.masked_fill(~is_token, -torch.inf).softmax(dim=-1)
        return self.output((weights.unsqueeze(-1) * hidden).sum(dim=1)).squeeze(-1)


def accuracy(model: PlainModel, documents: list[torch.Tensor], labels: torch.Tensor) -> float:
    """Share of documents whose label the plain model finds."""
    hits = 0
    with torch.no_grad():
        for start in range(0, len(documents), 32):
            some = documents[start : start + 32]
            lengths = torch.tensor([len(document) for document in some])
            logits = model(pad_sequence(some, batch_first=True), lengths)
            hits += int(((logits > 0).long() == labels[start : start + 32]).sum())
    return hits / len(documents)


def train_plainly(corpus: heedful.Corpus, seed: int, epochs: int) -> tuple[float, float]:
    """CPU seconds and test accuracy of the epoch that is best on dev."""
    settings = profiles["jain-wallace"]().with_(split=corpus.split)
    started = time.process_time()
    tokenizer = Tokenizer.learn(corpus.train.texts, settings.text)
    parts = {}
    for name in ("train", "dev", "test"):
        documents = getattr(corpus, name)
        encoded = tokenizer.encode(documents.texts)
        rows = [torch.from_numpy(encoded[i]) for i in range(len(encoded))]
        parts[name] = (rows, torch.tensor([int(label) for label in documents.labels]))
    torch.manual_seed(seed)
    model = PlainModel(len(tokenizer.words))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5, amsgrad=True)
    rows, labels = parts["train"]
    best_dev, score = 0.0, 0.0
    for _ in range(epochs):
        for chosen in torch.randperm(len(rows)).split(32):
            some = [rows[i] for i in chosen.tolist()]
            lengths = torch.tensor([len(row) for row in some])
            logits = model(pad_sequence(some, batch_first=True), lengths)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[chosen].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dev = accuracy(model, *parts["dev"])
        if dev > best_dev:
            best_dev, score = dev, accuracy(model, *parts["test"])
    return time.process_time() - started, score


def train_ours(
    corpus: heedful.Corpus, seed: int, epochs: int, recipe: str = "standard"
) -> tuple[float, float]:
    """The same with heedful."""
    settings = profiles["jain-wallace"]().with_(
        split=corpus.split, seed=seed, recipe=f"{recipe}:epochs={epochs}"
    )
    started = time.process_time()
    classifier = heedful.Classifier(**settings.flat())
    classifier.fit(
        corpus.train.texts, corpus.train.labels, dev=(corpus.dev.texts, corpus.dev.labels)
    )
    score = classifier.score(corpus.test.texts, corpus.test.labels)
    return time.process_time() - started, score


def main() -> None:
    """Print one line per repeat and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    corpus = heedful.load("sst2_jw")
    rows = []
    for seed in range(1, arguments.repeats + 1):
        plain, plain_accuracy = train_plainly(corpus, seed, arguments.epochs)
        ours, our_accuracy = train_ours(corpus, seed, arguments.epochs)
        faithful, faithful_accuracy = train_ours(corpus, seed, arguments.epochs, "faithful")
        rows.append((plain, ours, faithful))
        print(
            f"seed {seed}: plain loop {plain:.1f} CPU-s, test accuracy {plain_accuracy:.3f}; "
            f"heedful {ours:.1f} CPU-s, {our_accuracy:.3f}; ratio {ours / plain:.2f}; "
            f"faithful {faithful:.1f} CPU-s, {faithful_accuracy:.3f}; ratio to standard "
            f"{faithful / ours:.2f}",
            flush=True,
        )
    plain, ours, faithful = np.mean(rows, axis=0)
    print(f"mean of {len(rows)}: ratio {ours / plain:.2f} (goal: at most 0.50)")
    print(f"faithful to standard: ratio {faithful / ours:.2f} (goal: at most 2.50)")


if __name__ == "__main__":
    main()
