"""A known liar: random weights shown beside the decisions of another subject."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.subjects.base import Attentions, Decides, Reading
from heedful.auditing.subjects.beside import BesideDecides
from heedful.counterfactual import Counterfactual
from heedful.counterfactual.adversarial import Adversarial
from heedful.text.documents import fingerprints

NOISE = 3.0  # of a decoration's scores: what Jain & Wallace start their adversary from


class Decoration(BesideDecides):
    """A subject that shows random weights beside the decisions of another: a known liar.

    Whatever weights one puts in its place, it decides as before.
    """

    def __init__(self, behind: Decides, seed: int = 0) -> None:
        super().__init__(behind)
        self.seed = seed

    def read(self, texts: Sequence[str]) -> Reading:
        """The other subject's words and decisions, with weights that a text and the seed decide."""
        reading = self.behind.read(texts)
        noise = np.zeros_like(reading.weights)
        for row, number in enumerate(fingerprints(texts).tolist()):
            rng = np.random.default_rng([self.seed, number % 2**32])
            noise[row] = NOISE * rng.standard_normal(noise.shape[1])
        weights = np.exp(noise) * reading.is_token
        total = weights.sum(axis=1, keepdims=True)
        return replace(reading, weights=weights / np.maximum(total, 1e-300))

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """The same probabilities, whatever the weights."""
        count = attentions.shape[1]
        return np.repeat(reading.probabilities[:, None], count, axis=1)

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """As the other subject; an adversary, whom nothing holds back, takes the farthest there is.

        That is all on the word with the least weight.
        """
        if not isinstance(counterfactual, Adversarial):
            return self.behind.otherwise(reading, counterfactual, seed)
        least = np.where(reading.is_token, reading.weights, np.inf).argmin(axis=1)
        return np.eye(reading.weights.shape[1])[least][:, None]
