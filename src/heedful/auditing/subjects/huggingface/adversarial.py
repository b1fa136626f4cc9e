"""Adversarial weights sought inside a Hugging Face classifier.

scores -> softmax -> weights of words, imposed on the layers, heads and rows of a readout -> logits,
and back by a gradient through everything behind the imposed weights. What is minimised is
`Adversarial.loss`. Each step is a pass through the model and back, so a search is short. On its way
it notes the farthest weights within its tolerance that every candidate came by: the last ones need
not be the best.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.auditing.subjects.base import Attentions, Reading
from heedful.auditing.subjects.huggingface.attention import parameters_held
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.packing import Rows
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.readouts import Readout

Weights = Float[Tensor, "batch words"]
Candidates = Float[Tensor, "batch candidates words"]
Logits = Float[Tensor, "batch classes"]


def seek(
    model: TransformerModel, readout: Readout, search: Adversarial, reading: Reading, seed: int
) -> Attentions:
    """Three attentions per candidate: the farthest it came by, its last, and a single word.

    The first keeps the prediction within the tolerance (the shown weights where there was none).
    The last need not. The single words are those with the least weight, one per candidate: nothing
    lies farther, and a softmax never quite gets there. Whoever takes one of them should decide with
    it once more, in a plain forward pass.
    """
    lengths = reading.is_token.sum(axis=1)
    rows = np.flatnonzero(lengths > 1)  # one word has one weight only
    single = _single_words(reading, search.candidates)
    found = np.repeat(reading.weights[:, None], 3 * search.candidates, axis=1)
    found[:, 2 * search.candidates :] = single
    if len(rows):
        found[rows, : 2 * search.candidates] = _sought(model, readout, search, reading, rows, seed)
    return found


def _single_words(reading: Reading, count: int) -> Attentions:
    """All weight on each of the words with least weight; the shown weights where words run out."""
    words = reading.weights.shape[1]
    order = np.where(reading.is_token, reading.weights, np.inf).argsort(axis=1, kind="stable")
    order = np.pad(order, ((0, 0), (0, max(0, count - words))))[:, :count]
    is_word = np.arange(count) < reading.is_token.sum(axis=1, keepdims=True)
    return np.where(is_word[..., None], np.eye(words)[order], reading.weights[:, None])


def _sought(
    model: TransformerModel,
    readout: Readout,
    search: Adversarial,
    reading: Reading,
    rows: Rows,
    seed: int,
) -> Attentions:
    """The farthest and the last of every candidate, for some of the documents."""
    rng = torch.Generator().manual_seed(seed)
    # A softmax of logarithms gives the probabilities back.
    usual = np.log(np.maximum(reading.probabilities, np.finfo(np.float32).tiny))
    is_token = reading.is_token[rows]

    def sought(batch: PieceBatch, places: Rows) -> list[Tensor]:
        own, logits, is_word = (
            torch.from_numpy(numbers[rows[places]]).to(model.model.device)
            for numbers in (reading.weights, usual, reading.is_token)
        )
        way = _Way(model, readout, search, batch, own.float(), logits.float())
        with parameters_held(model.model):
            last = search.through(way.decide, way.shown, way.usual, is_word, rng)
        return list(torch.cat([way.farthest, last], dim=1).double().cpu())

    def most(longest: int) -> int:
        return model.packer.with_gradients // (longest * search.candidates)

    found = model.packer.run([reading.inner[row] for row in rows.tolist()], sought, most)
    weights = torch.stack(found).numpy() * is_token[:, None]
    return weights / weights.sum(axis=-1, keepdims=True)


class _Way:
    """A search on its way through some texts."""

    def __init__(
        self,
        model: TransformerModel,
        readout: Readout,
        search: Adversarial,
        batch: PieceBatch,
        shown: Weights,
        usual: Logits,
    ) -> None:
        self.model, self.readout, self.search = model, readout, search
        self.batch = batch.repeated(search.candidates)
        self.shown, self.usual = shown, usual
        self.farthest: Candidates = shown.unsqueeze(1).repeat(1, search.candidates, 1)
        self.distance: Float[Tensor, "batch candidates"] = shown.new_zeros(self.farthest.shape[:2])

    def decide(self, weights: Candidates) -> Float[Tensor, "batch candidates classes"]:
        """The logits of every candidate's weights, which are noted if none before went as far."""
        shown = self.shown.unsqueeze(1).expand_as(weights).flatten(0, 1)
        logits = self.model.logits_under(
            self.batch, self.readout, shown.double(), weights.flatten(0, 1).double()
        )
        logits = logits.float().unflatten(0, weights.shape[:2])
        self._note(weights.detach(), logits.detach())
        return logits

    def _note(self, weights: Candidates, logits: Float[Tensor, "batch candidates classes"]) -> None:
        distance = js_divergence(weights, self.shown.unsqueeze(1))
        is_allowed = self.search.penalties(logits, self.usual) == 0
        is_better = is_allowed & (distance > self.distance)
        self.farthest = torch.where(is_better.unsqueeze(-1), weights, self.farthest)
        self.distance = torch.where(is_better, distance, self.distance)
