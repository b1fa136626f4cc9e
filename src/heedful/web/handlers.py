"""What answers requests: the store, its readers, and the queues of work."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request, Response

from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.counterfactual.base import counterfactuals
from heedful.errors import UsageError
from heedful.importance.base import importances
from heedful.importance.explanation import USUAL_MEASURES
from heedful.registry import Registry
from heedful.web import schemas
from heedful.web.audits import AuditViews
from heedful.web.limits import MEASURES, ROWS, RUNS_COMPARED, TEXT_CHARACTERS, Limits
from heedful.web.queue import WorkQueue
from heedful.web.store import Store
from heedful.web.texts import Reader

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.prompted import Prompt

Found = TypeVar("Found")


@dataclass(frozen=True)
class Handlers:
    """The reader of texts, the views of audits, and two queues of work.

    Looking something up is quick, so it has its own queue and never waits for models.
    """

    store: Store
    reader: Reader
    audit_views: AuditViews
    models: WorkQueue
    lookups: WorkQueue
    started: str

    @classmethod
    def open(
        cls,
        paths: Sequence[str | Path],
        device: str,
        limits: Limits,
        at_once: int,
        readouts: Sequence[str] = (),
        long_texts: LongTexts = "cut",
        prompt: "Prompt | None" = None,
    ) -> "Handlers":
        """Over the runs and audits in some folders, and Hugging Face models."""
        store = Store.open(paths, device, readouts, long_texts, prompt)
        return cls(
            store=store,
            reader=Reader(store, limits),
            audit_views=AuditViews(store),
            models=WorkQueue(at_once, limits),
            lookups=WorkQueue(1, limits),
            started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )

    async def read(self, request: Request, response: Response, work: Callable[[], Found]) -> Found:
        """Work for a model, in its turn."""
        return await _in_turn(self.models, request, response, work)

    async def look_up(
        self, request: Request, response: Response, work: Callable[[], Found]
    ) -> Found:
        """Work without a model, in its turn."""
        return await _in_turn(self.lookups, request, response, work)

    def stop(self) -> None:
        """Serve nobody any more; work under way ends at its next batch."""
        self.models.stop()
        self.lookups.stop()

    def close(self) -> None:
        """Let the threads go."""
        self.models.close()
        self.lookups.close()

    def served(self) -> schemas.Served:
        """Everything that is served."""
        audits = [self.audit_views.line(name) for name in self.store.audits]
        runs = [self._run(name, audits) for name in self.store.runs]
        return schemas.Served(
            version=version("heedful"),
            started=self.started,
            runs=runs,
            audits=audits,
            measures=_members(importances, [name for run in runs for name in run.measures]),
            usual_measures=list(USUAL_MEASURES),
            counterfactuals=_members(
                counterfactuals, [name for run in runs for name in run.counterfactuals]
            ),
            limits={
                "text_characters": TEXT_CHARACTERS,
                "measures": MEASURES,
                "runs_compared": RUNS_COMPARED,
                "rows": ROWS,
            },
        )

    def status(self) -> schemas.Status:
        """How busy the models are."""
        queue = self.models
        return schemas.Status(
            started=self.started,
            waiting=queue.waiting,
            working=queue.working,
            at_once=queue.at_once,
        )

    def _run(self, name: str, audits: Sequence[schemas.AuditLine]) -> schemas.RunSheet:
        try:
            model = self.store.run(name)
        except UsageError as error:
            return schemas.RunSheet(name=name, problem=str(error))
        return schemas.RunSheet(
            name=name,
            classes=list(map(str, model.classes)),
            about=dict(model.describe()),
            has_attention=model.has_attention,
            why_fixed=model.why_fixed,
            measures=list(model.measures),
            usual_measures=list(model.usual_measures),
            counterfactuals=list(model.counterfactuals),
            audits=[one.name for one in audits if one.run == name],
        )


async def _in_turn(
    queue: WorkQueue, request: Request, response: Response, work: Callable[[], Found]
) -> Found:
    """Work in its turn; a header of the answer says how long it waited and worked."""
    await request.body()  # what comes after it is that the other side has left
    served = await queue.serve(work, request.is_disconnected)
    response.headers["server-timing"] = served.timing
    return served.found


def _members(registry: Registry[Any], names: Sequence[str]) -> list[schemas.MemberSheet]:
    """Those of some names, in the order of their family."""
    known = set(names)
    return [
        schemas.MemberSheet(name=name, summary=registry.summary(name))
        for name in registry
        if name in known
    ]
