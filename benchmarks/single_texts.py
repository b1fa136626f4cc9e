"""Does the rule for single texts keep its promise on documents that it was not fitted on?

    python benchmarks/single_texts.py RUN DATA [--documents 600] [--splits 200] [--seed 0]

Every document gets the audit's full test. Half of them fit the rule; the other half are read as
single texts, each by itself as `heedful explain` reads it, and shown or not. Printed for several
risks: the first split, and means over random splits with what 95% of the splits lie between.
"""

import argparse
from dataclasses import dataclass

import machine
import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.auditing.conformal import fit_rule
from heedful.auditing.nearness import nearness_of
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan, run_audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.training.task import find_corpus
from heedful.training.trained import Trained

RISKS = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Split:
    """What a rule fitted on half of the documents does to the others."""

    shown: int  # of the others
    false_shown: int
    others: int


def split(
    scores: Float[ndarray, " documents"],
    alone: Float[ndarray, " documents"],
    is_false: Bool[ndarray, " documents"],
    risk: float,
    order: ndarray,
) -> Split:
    """Fit on the first half in an order by the audit's scores; show others by their own."""
    fitted, others = np.array_split(order, 2)
    threshold = fit_rule(scores[fitted], is_false[fitted], risk).threshold
    is_shown = alone[others] > (np.inf if threshold is None else threshold)
    return Split(int(is_shown.sum()), int((is_shown & is_false[others]).sum()), len(others))


def main() -> None:
    """Audit, then fit and apply."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(machine.describe())
    subject = ClassifierSubject(Trained.load(given.run))
    test = find_corpus(given.data, text=None, label=None, data_dir=None, test_share=0.0).test
    settings = AuditSettings(sampled_documents=given.documents, seed=given.seed)
    found = run_audit(subject, test, AuditPlan(settings, ["telling"], sample=given.documents))
    is_tested = ~np.isnan(found.columns["nearness"])
    scores = found.columns["nearness"][is_tested]
    is_false = found.columns["is_true_picture"][is_tested] == 0
    texts = [text for text, kept in zip(found.texts, is_tested, strict=True) if kept]
    alone = np.array(
        [nearness_of(subject, subject.read([t]), settings.fractions).score[0] for t in texts]
    )
    apart = np.abs(alone - scores).max()
    print(f"{given.run}: {len(texts)} documents, {is_false.mean():.1%} false; scores alone and in")
    print(f"the audit differ by at most {apart:.1e}")
    rng = np.random.default_rng(given.seed)
    orders = [rng.permutation(len(texts)) for _ in range(given.splits)]
    print("| risk | shown | false shown, of all | false of the shown | means over splits |")
    for risk in RISKS:
        splits = [split(scores, alone, is_false, risk, order) for order in orders]
        first = splits[0]
        realised = np.array([one.false_shown / one.others for one in splits])
        low, high = np.quantile(realised, [0.025, 0.975])
        share = np.mean([one.shown / one.others for one in splits])
        of_shown = sum(s.false_shown for s in splits) / max(1, sum(s.shown for s in splits))
        print(
            f"| {risk:g} | {first.shown} of {first.others} | {first.false_shown / first.others:.1%}"
            f" | {first.false_shown} of {first.shown} | shown {share:.1%}, false shown "
            f"{realised.mean():.1%} ({low:.1%} to {high:.1%}), of the shown {of_shown:.1%} |"
        )


if __name__ == "__main__":
    main()
