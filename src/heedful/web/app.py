"""The addresses of the page and of its API."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from heedful.auditing.of_run import described
from heedful.auditing.selection import Selection, Within
from heedful.counterfactual.family import counterfactuals
from heedful.errors import HeedfulError, UnknownName, UsageError
from heedful.importance.measure import importances
from heedful.model.classifier import AttentionClassifier
from heedful.registry import Registry
from heedful.web import forms, pages
from heedful.web.desk import Abandoned, Busy, Desk
from heedful.web.guard import Access, Guard
from heedful.web.limits import Limits
from heedful.web.reading import Reader
from heedful.web.shelf import Gone, Shelf
from heedful.web.sorting import Clerk

Found = TypeVar("Found")
Named = Annotated[str, InPath(max_length=200, description="A name from /api/served.")]
Names = Annotated[list[str], Query(max_length=100)]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": forms.Problem, "description": what}
    for status, what in {
        400: "The request cannot be read.",
        401: "A token is asked for.",
        403: "The request comes from another site's page.",
        404: "Nothing of that name is served.",
        408: "The request did not arrive in time.",
        410: "It was served, and is gone or broken now.",
        413: "The request is too large.",
        421: "The server does not answer to that name.",
        422: "The request cannot be served as it stands.",
        500: "A bug, or a model that fails on this text.",
        503: "The server is busy.",
    }.items()
}


def create_app(
    paths: Sequence[str | Path],
    *,
    device: str = "cpu",
    access: Access | None = None,
    limits: Limits | None = None,
    at_once: int = 1,
) -> FastAPI:
    """The page over some run and audit folders, behind its guard."""
    shelf = Shelf.open(paths, device)
    limits = limits or Limits()
    desk, reader, clerk = Desk(at_once, limits), Reader(shelf, limits), Clerk(shelf)
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(_warm(desk, clerk))  # charts take a second to draw
        yield
        warming.cancel()
        desk.close()

    app = FastAPI(
        title="heedful",
        summary="May this classifier's attention be read as an explanation?",
        version=version("heedful"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # would load its scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    _handle_failures(app)

    async def done(request: Request, response: Response, work: Callable[[], Found]) -> Found:
        """Work in its turn, with how long that took beside the answer."""
        served = await desk.serve(work, request.is_disconnected)
        response.headers["server-timing"] = served.timing
        return served.found

    api: dict[str, Any] = {"responses": PROBLEMS}

    @app.get("/api/served", tags=["what there is"], **api)
    async def served(request: Request, response: Response) -> forms.Served:
        """Runs, audits, measures and counterfactuals that can be asked for."""
        return await done(request, response, lambda: _served(shelf, clerk, started, limits))

    @app.get("/api/status", tags=["what there is"], **api)
    async def status() -> forms.Status:
        """How busy the server is; never waits."""
        return forms.Status(
            started=started, waiting=desk.waiting, working=desk.working, at_once=desk.at_once
        )

    @app.post("/api/runs/{run}/explain", tags=["texts"], **api)
    async def explain(
        run: Named, form: forms.ExplainForm, request: Request, response: Response
    ) -> forms.Explained:
        """A text, word by word, by some measures, and how alike they rank its words."""
        return await done(request, response, lambda: reader.explain(run, form))

    @app.post("/api/runs/{run}/attend", tags=["texts"], **api)
    async def attend(
        run: Named, form: forms.AttendForm, request: Request, response: Response
    ) -> forms.Attended:
        """What if attention were different, or words were missing?"""
        return await done(request, response, lambda: reader.attend(run, form))

    @app.post("/api/runs/{run}/replace", tags=["texts"], **api)
    async def replace(
        run: Named, form: forms.ReplaceForm, request: Request, response: Response
    ) -> forms.Attended:
        """The same with the weights of a counterfactual: uniform, permuted, an adversary's, …"""
        return await done(request, response, lambda: reader.replace(run, form))

    @app.post("/api/compare", tags=["texts"], **api)
    async def compare(
        form: forms.CompareForm, request: Request, response: Response
    ) -> forms.Compared:
        """A text explained by several runs side by side."""
        return await done(request, response, lambda: reader.compare(form))

    @app.get("/api/audits/{audit}", tags=["audits"], **api)
    async def audit_sheet(audit: Named, request: Request, response: Response) -> forms.AuditSheet:
        """An audit: verdict, answers, evidence, figures."""
        return await done(request, response, lambda: clerk.sheet(audit))

    @app.get("/api/audits/{audit}/documents", tags=["audits"], **api)
    async def documents(
        audit: Named,
        request: Request,
        response: Response,
        label: Names = [],  # noqa: B006
        prediction: Names = [],  # noqa: B006
        right: Literal["yes", "no"] | None = None,
        where: Annotated[Names, Query(description="Such as max_weight:[0.5,1].")] = [],  # noqa: B006
        word: Annotated[str, Query(max_length=100)] = "",
        contains: Annotated[str, Query(max_length=200)] = "",
        sort: Annotated[str, Query(max_length=100)] = "",
        order: Literal["ascending", "descending"] = "descending",
        column: Names = [],  # noqa: B006
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        count: Annotated[int, Query(ge=1, le=limits.rows)] = 50,
    ) -> forms.Documents:
        """Documents of an audit: chosen, in order, some rows at a time."""
        selection = Selection(
            labels=tuple(label),
            predictions=tuple(prediction),
            is_right=None if right is None else right == "yes",
            where=tuple(map(Within.parse, where)),
            word=word,
            text=contains,
            sort=sort,
            is_descending=order == "descending",
        )
        work = lambda: clerk.documents(audit, selection, column, offset, count)  # noqa: E731
        return await done(request, response, work)

    @app.get("/api/audits/{audit}/documents/{place}", tags=["audits"], **api)
    async def document(
        audit: Named,
        place: Annotated[int, InPath(ge=0, le=2**31)],
        request: Request,
        response: Response,
    ) -> forms.Document:
        """One document with all its numbers."""
        return await done(request, response, lambda: clerk.document(audit, place))

    pages.add_to(app)
    app.add_middleware(Guard, access=access or Access(), limits=limits)
    app.state.shelf = shelf
    return app


async def _warm(desk: Desk, clerk: Clerk) -> None:
    """Draw the figures of every audit once, before anybody asks."""
    for name in clerk.shelf.audits:
        with suppress(HeedfulError, Busy):
            await desk.serve(partial(clerk.sheet, name))


def _served(shelf: Shelf, clerk: Clerk, started: str, limits: Limits) -> forms.Served:
    audits = [clerk.line(name) for name in shelf.audits]
    return forms.Served(
        version=version("heedful"),
        started=started,
        runs=[_run_sheet(shelf, name, audits) for name in shelf.runs],
        audits=audits,
        measures=_members(importances),
        counterfactuals=_members(counterfactuals),
        limits={
            "text_characters": limits.text_characters,
            "measures": limits.measures,
            "runs_compared": limits.runs_compared,
            "rows": limits.rows,
        },
    )


def _run_sheet(shelf: Shelf, name: str, audits: Sequence[forms.AuditLine]) -> forms.RunSheet:
    try:
        trained = shelf.run(name)
    except UsageError as error:
        return forms.RunSheet(
            name=name, problem=str(error), classes=[], about={}, has_attention=False, audits=[]
        )
    return forms.RunSheet(
        name=name,
        problem="",
        classes=list(map(str, trained.classes)),
        about=described(trained),
        has_attention=isinstance(trained.model, AttentionClassifier),
        audits=[one.name for one in audits if one.run == name],
    )


def _members(registry: Registry[Any]) -> list[forms.MemberSheet]:
    return [forms.MemberSheet(name=name, summary=registry.summary(name)) for name in registry]


def _handle_failures(app: FastAPI) -> None:
    """Every failure as a sentence that the page can show."""

    @app.exception_handler(HeedfulError)
    async def by_sentence(request: Request, error: HeedfulError) -> JSONResponse:
        if isinstance(error, Gone):
            return _problem(410, str(error), "gone")
        if isinstance(error, UnknownName):
            return _problem(404, str(error), "unknown")
        return _problem(422, str(error), "request")

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        answer = _problem(503, str(error), "busy")
        answer.headers["retry-after"] = str(error.retry_seconds)
        return answer

    @app.exception_handler(Abandoned)
    async def abandoned(request: Request, error: Abandoned) -> JSONResponse:
        return _problem(400, "whoever asked has left.", "request")

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _problem(422, " ".join(map(_complaint, error.errors()[:3])), "request")

    @app.exception_handler(HTTPException)
    async def by_status(request: Request, error: HTTPException) -> JSONResponse:
        message = f"{error.detail}: {request.method} {request.url.path[:100]}."
        answer = _problem(error.status_code, message, "unknown")
        answer.headers.update(error.headers or {})
        return answer


def _problem(status: int, message: str, kind: str) -> JSONResponse:
    clean = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"message": clean, "kind": kind}, status)


def _complaint(error: dict[str, Any]) -> str:
    """What is wrong with one field, in a sentence."""
    place = ".".join(str(part) for part in error["loc"] if part not in ("body", "query", "path"))
    said = str(error["msg"])
    return f"{place or 'the request'}: {said[:1].lower()}{said[1:]}.".replace("..", ".")
