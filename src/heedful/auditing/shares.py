"""An audit measured by several processes: documents in shares, put together exactly.

Which documents are read together, and every draw of chance, depend on the audit alone and not on
who measures: however many workers there are, and wherever they run, the numbers are the same. What
a worker has measured is kept in the audit's folder, so one that is killed loses the group in hand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heedful import runs, storage
from heedful.auditing.given_scores import GivenScores
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.run_audit import AuditPlan, PreparedAudit, prepare_audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.other_model import judge_named
from heedful.auditing.subjects.retrained import MASKED_JUDGE, load_twins
from heedful.errors import RunError, counted
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Engine
from heedful.jobs.job import Job, Tell
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from heedful.model.precision import Precision
from heedful.text.documents import Documents
from heedful.training.trained import Trained

IN_SHARE = 1000  # documents: a minute or so of work
MOST_SHARES = 2  # for each worker: every share is given the plan of the whole audit


@dataclass(frozen=True)
class Source:
    """Where a worker finds what the audit is made of: all paths are absolute."""

    run: str
    judge: str = "self"  # or a run, or `original`
    judge_said: str = "self"  # the same as the audit's record has it
    attributions: tuple[str, ...] = ()
    device: str = "cpu"
    precision: Precision = "auto"
    measures: tuple[str, ...] = ()  # further ones


def number_of_shares(documents: int, workers: int) -> int:
    """One for each worker; more if they would be large, so that all workers end together."""
    return max(min(workers, documents), min(math.ceil(documents / IN_SHARE), MOST_SHARES * workers))


def measure_in_shares(
    prepared: PreparedAudit,
    source: Source,
    folder: Path,
    *,
    engine: Engine,
    budget: Budget,
    watcher: JobWatcher | None = None,
) -> None:
    """Measure an audit with several workers into its folder, for `prepared.run` to put together.

    What was measured there before is not measured again.
    """
    workers, _ = budget.resolved()
    shares = number_of_shares(prepared.total, workers)
    twins = [*prepared.twins.subjects, *([MASKED_JUDGE] if prepared.twins.judge else [])]
    jobs = [
        Job(
            f"share-{share + 1}-of-{shares}",
            measure_one_share,
            {
                "documents": prepared.chosen.documents,
                # Those that the model met in training were left out before.
                "plan": replace(prepared.plan, include_trained=True),
                "twins": twins,
                "share": share,
                "shares": shares,
            },
            beside={"source": source},
        )
        for share in range(shares)
    ]
    outcomes = run_jobs(jobs, folder / runs.SHARES, budget, watcher, engine)
    failed = [outcome for outcome in outcomes.values() if outcome.state != "done"]
    if failed:
        raise RunError(
            f"{counted(len(failed), 'share')} of {shares} could not be measured: "
            f"{failed[0].reason.rstrip('.')}. What was measured is kept in {folder}: continue with "
            "--resume."
        )


def measure_one_share(
    folder: Path,
    tell: Tell,
    *,
    documents: Documents,
    plan: AuditPlan,
    twins: Sequence[str],
    share: int,
    shares: int,
    source: Source,
) -> None:
    """One share, measured into the folder of the audit two levels up."""
    place = folder.parent.parent
    trained = Trained.load(source.run, source.device)
    asked = prepare_audit(
        ClassifierSubject(trained, precision=source.precision).with_measures(source.measures),
        documents,
        plan,
        about={"judge": source.judge_said},
        judge=judge_named(source.judge, trained, source.device),
        twins=load_twins(place / runs.TWINS, twins, trained.settings, source.device),
        given=GivenScores.read(list(source.attributions) or None),
    ).kept_in(place)
    asked.measure_share(share, shares, TellingAudit(tell, math.ceil(asked.total / shares)))


def clear_shares(folder: Path) -> None:
    """Remove what workers left beside the parts: the audit is saved."""
    storage.remove(folder / runs.SHARES)


class TellingAudit(AuditWatcher):
    """Passes on how far the audit is."""

    def __init__(self, tell: Tell, total: int) -> None:
        self.tell, self.total, self.done = tell, total, 0

    def advance(self, documents: int) -> None:
        """So many more documents."""
        self.done += documents
        share = min(1.0, self.done / self.total)
        self.tell(share, f"audited {self.done:,} of {counted(self.total, 'document')}")
