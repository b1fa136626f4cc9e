"""Words taken away at random, many at a time: KernelSHAP and LIME, computed by Captum.

Captum is an extra, and imported when one of them is used.
"""

from dataclasses import dataclass
from importlib import import_module

from heedful.config import above, at_least
from heedful.errors import missing_packages_named
from heedful.importance.base import Importance, importances
from heedful.importance.captum_by_deletion import CaptumByDeletion
from heedful.importance.seen import Need, Seen, TokenScores

EXTRA = "captum"


@importances.register("kernel-shap", is_audited=False)
@dataclass(frozen=True)
class KernelShap(Importance):
    """What a word adds to the target probability on average over sets of others (Shapley value).

    importance_t = w_t;  w, b minimise the sum over samples S of (p_target(words in S) - b - sum of
    w in S)², sizes of S drawn by (n - 1) / (|S| (n - |S|)), n words in the text

    All words and none are always among the samples, with a weight so large that scores sum to
    p_target(text) - p_target(no words). By Captum's KernelShap (arXiv:1705.07874): `n_samples`
    passes a text. It is an estimate, and a rough one where a text has half as many words.
    """

    needs = frozenset({Need.DELETIONS})
    package = EXTRA
    n_samples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(2, n_samples=self.n_samples)

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        name, options = "kernel-shap", {"n_samples": self.n_samples}
        with missing_packages_named(name):
            method = import_module("captum.attr").KernelShap
        return CaptumByDeletion(method, name, options, self.seed).of(seen)


@importances.register("lime", is_audited=False)
@dataclass(frozen=True)
class Lime(Importance):
    """Weight of the word in a sparse linear model of what deleting random words does (LIME).

    importance_t = w_t;  w, b minimise the mean over samples S of exp(-d²/2) (p_target(words in S)
    - b - sum of w in S)² / 2 + alpha |w|₁,  each word in S with probability ½, d the cosine
    distance of S from the whole text, weights scaled to a mean of 1

    Words of small effect get 0: with alpha = 0.01, those that move the probability by less than
    about 0.04. By Captum's Lime (arXiv:1602.04938): `n_samples` passes a text.
    """

    needs = frozenset({Need.DELETIONS})
    package = EXTRA
    n_samples: int = 200
    alpha: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(2, n_samples=self.n_samples)
        above(0, alpha=self.alpha)

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        name, options = "lime", {"n_samples": self.n_samples}
        with missing_packages_named(name):
            method = import_module("captum.attr").Lime
            linear = import_module("captum._utils.models.linear_model")

        def lime(forward: object) -> object:
            return method(forward, interpretable_model=linear.SkLearnLasso(alpha=self.alpha))

        return CaptumByDeletion(lime, name, options, self.seed).of(seen)
