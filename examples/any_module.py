"""Audit a PyTorch module that heedful did not make.

    python examples/any_module.py

A small convolutional network with attention pooling, trained in plain PyTorch on made-up documents,
and the adapter through which heedful reads it. docs/any-module.md explains each method.
"""

import re

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

import heedful


class Network(nn.Module):
    """Three words at a time, weighed by attention."""

    def __init__(self, vocabulary: dict[str, int], classes: int, size: int = 24) -> None:
        super().__init__()
        self.vocabulary = vocabulary  # 0 is padding, 1 any unknown word
        self.embedding = nn.Embedding(len(vocabulary) + 2, size, padding_idx=0)
        self.convolution = nn.Conv1d(size, size, kernel_size=3, padding=1)
        self.query = nn.Linear(size, 1, bias=False)
        self.output = nn.Linear(size, classes)

    def attend(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings, states and weights."""
        embedded = self.embedding(ids)
        states = self.convolution(embedded.transpose(1, 2)).transpose(1, 2).tanh()
        scores = self.query(states).squeeze(-1).masked_fill(ids == 0, -torch.inf)
        return embedded, states, scores.softmax(dim=-1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits."""
        _, states, weights = self.attend(ids)
        return self.output((weights.unsqueeze(-1) * states).sum(dim=1))


class Adapter(heedful.ModuleAdapter):
    """How heedful reads the network."""

    def ids(self, documents: list[list[str]]) -> Tensor:
        """Words as padded numbers, where the network is."""
        known = self.module.vocabulary
        rows = [torch.tensor([known.get(word.lower(), 1) for word in words]) for words in documents]
        return pad_sequence(rows, batch_first=True).to(self.module.query.weight.device)

    def words(self, text: str) -> list[tuple[int, int]]:
        """Everything between spaces."""
        return [match.span() for match in re.finditer(r"\S+", text)]

    def read(self, documents: list[list[str]]) -> heedful.ModuleTrace:
        """One forward pass."""
        ids = self.ids(documents)
        embedded, states, weights = self.module.attend(ids)
        return heedful.ModuleTrace(states, weights, logits=self.module(ids), embedded=embedded)

    def decide(self, states: Tensor, weights: Tensor) -> Tensor:
        """What the network makes of states under any weights."""
        return self.module.output((weights.unsqueeze(-1) * states).sum(dim=1))


def main() -> None:
    """Train, audit, and print what was asked."""
    corpus = heedful.load("planted:documents=800")
    words = sorted({word.lower() for text in corpus.train.texts for word in text.split()})
    classes = sorted(set(corpus.train.labels))
    torch.manual_seed(0)
    network = Network({word: number for number, word in enumerate(words, start=2)}, len(classes))
    adapter = Adapter(network, classes)

    ids = adapter.ids([text.split() for text in corpus.train.texts])
    labels = torch.tensor([classes.index(label) for label in corpus.train.labels])
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(ids), labels).backward()
        optimizer.step()

    audit = heedful.audit(adapter, corpus.test[:60], name="my network")
    print(f"accuracy {audit.about['accuracy']:.3f}\n{audit.sentence}")
    for answer in audit.answers:
        print(f"{answer.question:>10}: {answer.judgement or f'not asked, {answer.reason}'}")


if __name__ == "__main__":
    main()
