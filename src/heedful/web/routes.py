"""The addresses of the API."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from pydantic import Field

from heedful.auditing.document_filter import Selection, Within
from heedful.web import schemas
from heedful.web.errors import PROBLEMS
from heedful.web.handlers import Handlers
from heedful.web.limits import ROWS

Named = Annotated[str, InPath(max_length=200, description="A name from /api/served.")]
Short = Annotated[str, Field(max_length=200)]
Names = Annotated[list[Short], Query(max_length=100)]
Labels = Annotated[list[Short], Query(max_length=1000)]  # a chart puts rare ones together


def routes(handlers: Handlers) -> APIRouter:
    """All endpoints."""
    api = APIRouter(prefix="/api", responses=PROBLEMS)

    @api.get("/served", tags=["overview"])
    async def served(request: Request, response: Response) -> schemas.Served:
        """Available runs, audits, measures and counterfactuals."""
        return await handlers.look_up(request, response, handlers.served)

    @api.get("/status", tags=["overview"])
    async def status() -> schemas.Status:
        """How busy the server is; never waits."""
        return handlers.status()

    @api.post("/runs/{run}/explain", tags=["texts"])
    async def explain(
        run: Named, form: schemas.ExplainForm, request: Request, response: Response
    ) -> schemas.Explained:
        """Explain a text by some measures, and say how similarly they rank its words."""
        return await handlers.read(request, response, lambda: handlers.reader.explain(run, form))

    @api.post("/runs/{run}/attend", tags=["texts"])
    async def attend(
        run: Named, form: schemas.AttendForm, request: Request, response: Response
    ) -> schemas.Attended:
        """What if attention were different, or words were missing?"""
        return await handlers.read(request, response, lambda: handlers.reader.attend(run, form))

    @api.post("/runs/{run}/replace", tags=["texts"])
    async def replace(
        run: Named, form: schemas.ReplaceForm, request: Request, response: Response
    ) -> schemas.Attended:
        """What if attention had the weights of a counterfactual: uniform, permuted, …?"""
        return await handlers.read(request, response, lambda: handlers.reader.replace(run, form))

    @api.post("/compare", tags=["texts"])
    async def compare(
        form: schemas.CompareForm, request: Request, response: Response
    ) -> schemas.Compared:
        """Explain a text with several runs."""
        return await handlers.read(request, response, lambda: handlers.reader.compare(form))

    @api.get("/audits/{audit}", tags=["audits"])
    async def audit_sheet(audit: Named, request: Request, response: Response) -> schemas.AuditSheet:
        """An audit: verdict, answers, evidence."""
        return await handlers.look_up(request, response, lambda: handlers.audit_views.sheet(audit))

    @api.get("/audits/{audit}/figures", tags=["audits"])
    async def figures(audit: Named, request: Request, response: Response) -> schemas.Figures:
        """The figures of an audit, as Vega-Lite; each mark says which documents it shows."""
        return await handlers.look_up(
            request, response, lambda: handlers.audit_views.figures(audit)
        )

    @api.get("/audits/{audit}/documents", tags=["audits"])
    async def documents(
        audit: Named,
        request: Request,
        response: Response,
        label: Labels = [],  # noqa: B006
        prediction: Labels = [],  # noqa: B006
        right: Literal["yes", "no"] | None = None,
        where: Annotated[
            Names, Query(description="A column and its range, for example max_weight:[0.5,1].")
        ] = [],  # noqa: B006
        word: Annotated[str, Query(max_length=100)] = "",
        contains: Annotated[str, Query(max_length=200)] = "",
        sort: Annotated[str, Query(max_length=100)] = "",
        order: Literal["ascending", "descending"] = "descending",
        column: Names = [],  # noqa: B006
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        count: Annotated[int, Query(ge=1, le=ROWS)] = 50,
    ) -> schemas.Documents:
        """Documents of an audit, filtered and sorted, some rows at a time."""

        def work() -> schemas.Documents:
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
            return handlers.audit_views.documents(audit, selection, column, offset, count)

        return await handlers.look_up(request, response, work)

    @api.get("/audits/{audit}/documents/{place}", tags=["audits"])
    async def document(
        audit: Named,
        place: Annotated[int, InPath(ge=0, le=2**31)],
        request: Request,
        response: Response,
    ) -> schemas.Document:
        """One document with all its numbers."""
        return await handlers.look_up(
            request, response, lambda: handlers.audit_views.document(audit, place)
        )

    return api
