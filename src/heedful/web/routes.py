"""The addresses of the API."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from pydantic import Field

from heedful.auditing.selection import Selection, Within
from heedful.web import forms
from heedful.web.failures import PROBLEMS
from heedful.web.limits import ROWS
from heedful.web.office import Office

Named = Annotated[str, InPath(max_length=200, description="A name from /api/served.")]
Short = Annotated[str, Field(max_length=200)]
Names = Annotated[list[Short], Query(max_length=100)]
Labels = Annotated[list[Short], Query(max_length=1000)]  # a chart puts rare ones together


def routes(office: Office) -> APIRouter:
    """Everything that can be asked of an office."""
    api = APIRouter(prefix="/api", responses=PROBLEMS)

    @api.get("/served", tags=["what there is"])
    async def served(request: Request, response: Response) -> forms.Served:
        """Runs, audits, measures and counterfactuals that can be asked for."""
        return await office.look_up(request, response, office.served)

    @api.get("/status", tags=["what there is"])
    async def status() -> forms.Status:
        """How busy the server is; never waits."""
        return office.status()

    @api.post("/runs/{run}/explain", tags=["texts"])
    async def explain(
        run: Named, form: forms.ExplainForm, request: Request, response: Response
    ) -> forms.Explained:
        """A text, word by word, by some measures, and how alike they rank its words."""
        return await office.read(request, response, lambda: office.reader.explain(run, form))

    @api.post("/runs/{run}/attend", tags=["texts"])
    async def attend(
        run: Named, form: forms.AttendForm, request: Request, response: Response
    ) -> forms.Attended:
        """What if attention were different, or words were missing?"""
        return await office.read(request, response, lambda: office.reader.attend(run, form))

    @api.post("/runs/{run}/replace", tags=["texts"])
    async def replace(
        run: Named, form: forms.ReplaceForm, request: Request, response: Response
    ) -> forms.Attended:
        """The same with the weights of a counterfactual: uniform, permuted, an adversary's, …"""
        return await office.read(request, response, lambda: office.reader.replace(run, form))

    @api.post("/compare", tags=["texts"])
    async def compare(
        form: forms.CompareForm, request: Request, response: Response
    ) -> forms.Compared:
        """A text explained by several runs side by side."""
        return await office.read(request, response, lambda: office.reader.compare(form))

    @api.get("/audits/{audit}", tags=["audits"])
    async def audit_sheet(audit: Named, request: Request, response: Response) -> forms.AuditSheet:
        """An audit: verdict, answers, evidence."""
        return await office.look_up(request, response, lambda: office.clerk.sheet(audit))

    @api.get("/audits/{audit}/figures", tags=["audits"])
    async def figures(audit: Named, request: Request, response: Response) -> forms.Figures:
        """The figures of an audit, as Vega-Lite; a mark names the documents behind it."""
        return await office.look_up(request, response, lambda: office.clerk.figures(audit))

    @api.get("/audits/{audit}/documents", tags=["audits"])
    async def documents(
        audit: Named,
        request: Request,
        response: Response,
        label: Labels = [],  # noqa: B006
        prediction: Labels = [],  # noqa: B006
        right: Literal["yes", "no"] | None = None,
        where: Annotated[Names, Query(description="Such as max_weight:[0.5,1].")] = [],  # noqa: B006
        word: Annotated[str, Query(max_length=100)] = "",
        contains: Annotated[str, Query(max_length=200)] = "",
        sort: Annotated[str, Query(max_length=100)] = "",
        order: Literal["ascending", "descending"] = "descending",
        column: Names = [],  # noqa: B006
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        count: Annotated[int, Query(ge=1, le=ROWS)] = 50,
    ) -> forms.Documents:
        """Documents of an audit: chosen, in order, some rows at a time."""

        def work() -> forms.Documents:
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
            return office.clerk.documents(audit, selection, column, offset, count)

        return await office.look_up(request, response, work)

    @api.get("/audits/{audit}/documents/{place}", tags=["audits"])
    async def document(
        audit: Named,
        place: Annotated[int, InPath(ge=0, le=2**31)],
        request: Request,
        response: Response,
    ) -> forms.Document:
        """One document with all its numbers."""
        return await office.look_up(request, response, lambda: office.clerk.document(audit, place))

    return api
