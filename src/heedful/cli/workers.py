"""What `heedful audit --workers` does first: measure the documents in several processes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import UsageError

if TYPE_CHECKING:
    from heedful.auditing.run_audit import PreparedAudit
    from heedful.auditing.shares import Source
    from heedful.jobs.budget import Budget


@dataclass(frozen=True)
class Shared:
    """Where workers run and what they audit: checked before anything is done."""

    on: str
    address: str | None
    budget: "Budget"
    source: "Source"

    @classmethod
    def checked(
        cls,
        on: str | None,
        workers: int | None,
        address: str | None,
        output: Path | None,
        budget: str | None,
        source: "Source",
    ) -> "Shared | None":
        """The plan, or a sentence about what is wrong; nothing if one process does all."""
        from heedful.config import at_least
        from heedful.jobs.budget import Budget
        from heedful.sweeps.sweep import checked_device

        if on is None and workers is None:
            if address is not None:
                raise UsageError("--address names a Ray cluster, so it needs --on ray.")
            return None
        at_least(1, workers=workers)
        if output is None:
            raise UsageError("workers save what they measure in a folder: name it with -o.")
        if budget is not None:
            raise UsageError(
                "--budget is not available with --workers or --on. Use --documents to limit an "
                "audit with workers."
            )
        place = "local" if on is None else on
        # "auto" is for the workers to resolve: a cluster may have what this machine has not.
        device = "cpu" if place == "ray" and source.device == "auto" else source.device
        device = checked_device(place, address, device)
        return cls(place, address, Budget(cores=workers), replace(source, device=device))

    def measure(self, prepared: "PreparedAudit", output: Path, quiet: bool) -> None:
        """Measure everything into the audit's folder."""
        from heedful.auditing.shares import measure_in_shares
        from heedful.jobs.progress import JobLines, JobWatcher
        from heedful.sweeps.sweep import engine_for

        engine, budget = engine_for(self.on, self.address, self.budget, self.source.device)
        try:
            if quiet:
                measure_in_shares(
                    prepared, self.source, output,
                    engine=engine, budget=budget, watcher=JobWatcher(),
                )  # fmt: skip
                return
            with JobLines() as watcher:
                measure_in_shares(
                    prepared, self.source, output, engine=engine, budget=budget, watcher=watcher
                )
        finally:
            engine.stop()


def judge_place(judge: str) -> str:
    """A judge as another process can find it: the folder of a run by its whole path."""
    from heedful.runs import ORIGINAL

    return judge if judge in ("self", ORIGINAL) else str(Path(judge).absolute())
