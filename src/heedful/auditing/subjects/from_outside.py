"""Classifiers that decide with other weights although their inside is not known."""

from abc import abstractmethod

import numpy as np

from heedful.auditing.subjects.base import Attentions, Decides, Reading
from heedful.counterfactual import Counterfactual
from heedful.counterfactual.adversarial import Adversarial
from heedful.counterfactual.baselines import Permuted, uniform
from heedful.errors import ConfigError


class DecidesFromOutside(Decides):
    """One whose inside is not known: of other attentions only an adversary's are sought in it."""

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """Uniform weights, the shown ones permuted, or what an adversary finds."""
        if counterfactual is uniform:
            return reading.even[:, None]
        if isinstance(counterfactual, Permuted):
            return reading.permuted(counterfactual.count, np.random.default_rng(seed))
        if isinstance(counterfactual, Adversarial):
            return self.sought(reading, counterfactual, seed)
        raise ConfigError(
            f"{counterfactual!r:.60} needs the internals of a heedful classifier, and is not "
            f"available for {self.noun}."
        )

    def can_seek(self, counterfactual: Counterfactual) -> bool:
        """Only what needs nothing of the inside."""
        return counterfactual is uniform or isinstance(counterfactual, Permuted | Adversarial)

    @abstractmethod
    def sought(self, reading: Reading, search: Adversarial, seed: int) -> Attentions:
        """The weights that an adversary finds."""
