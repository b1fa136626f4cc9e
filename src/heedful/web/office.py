"""Everything that answers: the shelf, who reads from it, and the desks where people wait."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request, Response

from heedful.counterfactual.family import counterfactuals
from heedful.errors import UsageError
from heedful.importance.measure import importances
from heedful.model.classifier import AttentionClassifier
from heedful.registry import Registry
from heedful.web import forms
from heedful.web.desk import Desk
from heedful.web.limits import MEASURES, ROWS, RUNS_COMPARED, TEXT_CHARACTERS, Limits
from heedful.web.reading import Reader
from heedful.web.shelf import Shelf
from heedful.web.sorting import Clerk

Found = TypeVar("Found")


@dataclass(frozen=True)
class Office:
    """Who reads texts with models, who looks audits up, and two desks.

    Looking something up takes a moment and never stands in line behind models at work.
    """

    shelf: Shelf
    reader: Reader
    clerk: Clerk
    models: Desk
    lookups: Desk
    started: str

    @classmethod
    def open(
        cls, paths: Sequence[str | Path], device: str, limits: Limits, at_once: int
    ) -> "Office":
        """Over the runs and audits in some folders."""
        shelf = Shelf.open(paths, device)
        return cls(
            shelf=shelf,
            reader=Reader(shelf, limits),
            clerk=Clerk(shelf),
            models=Desk(at_once, limits),
            lookups=Desk(1, limits),
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

    def close(self) -> None:
        """Let the threads go."""
        self.models.close()
        self.lookups.close()

    def served(self) -> forms.Served:
        """Everything that can be asked for."""
        audits = [self.clerk.line(name) for name in self.shelf.audits]
        return forms.Served(
            version=version("heedful"),
            started=self.started,
            runs=[self._run(name, audits) for name in self.shelf.runs],
            audits=audits,
            measures=_members(importances),
            counterfactuals=_members(counterfactuals),
            limits={
                "text_characters": TEXT_CHARACTERS,
                "measures": MEASURES,
                "runs_compared": RUNS_COMPARED,
                "rows": ROWS,
            },
        )

    def status(self) -> forms.Status:
        """How busy the models are."""
        desk = self.models
        return forms.Status(
            started=self.started, waiting=desk.waiting, working=desk.working, at_once=desk.at_once
        )

    def _run(self, name: str, audits: Sequence[forms.AuditLine]) -> forms.RunSheet:
        try:
            trained = self.shelf.run(name)
        except UsageError as error:
            return forms.RunSheet(
                name=name, problem=str(error), classes=[], about={}, has_attention=False, audits=[]
            )
        return forms.RunSheet(
            name=name,
            problem="",
            classes=list(map(str, trained.classes)),
            about=trained.describe(),
            has_attention=isinstance(trained.model, AttentionClassifier),
            audits=[one.name for one in audits if one.run == name],
        )


async def _in_turn(
    desk: Desk, request: Request, response: Response, work: Callable[[], Found]
) -> Found:
    """Work in its turn, with how long that took beside the answer."""
    await request.body()  # what comes after it is that the other side has left
    served = await desk.serve(work, request.is_disconnected)
    response.headers["server-timing"] = served.timing
    return served.found


def _members(registry: Registry[Any]) -> list[forms.MemberSheet]:
    return [forms.MemberSheet(name=name, summary=registry.summary(name)) for name in registry]
