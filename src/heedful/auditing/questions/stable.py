"""Would another seed have told another story?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.questions.base import (
    AuditSettings,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.questions.needed import SEED
from heedful.auditing.subjects.base import Decides, Subject
from heedful.auditing.subjects.retrained import Twin, Twins, other_seeds
from heedful.counterfactual.baselines import Permuted
from heedful.errors import counted
from heedful.training.settings import Settings

JSD_BETWEEN_SEEDS = AuditTest(
    "JSD between seeds", "lower", "Wiegreffe & Pinter 2019", "JSD from the same weights permuted",
    "0", "seed_jsd", needs_retraining=True,
)  # fmt: skip


@questions.register("stable")
@dataclass(frozen=True)
class Stable(Question):
    """Divergence between the attention of different seeds (Wiegreffe & Pinter)."""

    name = "stable"
    place = 9
    asks = "Would another seed have given other attention weights?"
    needs = Decides
    tests = (JSD_BETWEEN_SEEDS,)

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """The same training with other seeds."""
        return tuple(Twin(f"{SEED}{s}", {"seed": s}) for s in other_seeds(run, settings.seeds))

    def why_not(self, subject: Subject, twins: Twins) -> str:
        """It takes other seeds."""
        return super().why_not(subject, twins) or twins.why_none(SEED)

    def measure(self, group: DocumentGroup) -> Measured:
        """Median divergence from the other seeds' weights, and from permuted ones."""
        subject, reading = group.subject, group.reading
        assert isinstance(subject, Decides)
        others = [twin.read(reading.texts) for twin in group.twins.named(SEED).values()]
        permuted = subject.otherwise(reading, Permuted(group.settings.permutations), group.seed)
        seeds = np.stack([other.weights for other in others], axis=1)
        answers = np.stack([other.probabilities for other in others], axis=1)
        return Measured(
            {
                "seed_jsd": np.median(reading.apart(seeds), axis=1),
                "permuted_jsd": np.median(reading.apart(permuted), axis=1),
                "seed_tvd": reading.moved(answers).mean(axis=1),
            }
        )

    def conclude(self, found: Findings) -> Conclusion:
        """Between permuted weights and none at all: lower is better."""
        columns = found.columns
        test = found.test(
            JSD_BETWEEN_SEEDS, columns["seed_jsd"], columns["permuted_jsd"], 0.0,
            note=f"median over {counted(len(found.twins.named(SEED)), 'other seed')}",
        )  # fmt: skip
        moved = found.fact("prediction moved by the seed", columns["seed_tvd"], "mean TVD")
        return Conclusion((test,), {"facts": (moved, *found.untrained(SEED))})
