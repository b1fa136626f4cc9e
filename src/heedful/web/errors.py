"""Every failure as a sentence that the page can show."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from heedful.errors import EnvironmentFailure, HeedfulError, UnknownName
from heedful.web import schemas
from heedful.web.queue import Abandoned, Busy
from heedful.web.store import Gone

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": what}
    for status, what in {
        400: "The request cannot be read.",
        401: "The request needs a token.",
        403: "The request comes from another site's page.",
        404: "Nothing with this name is served.",
        408: "The request did not arrive in time.",
        410: "It was served before, but is now missing or damaged.",
        413: "The request is too large.",
        421: "The server does not answer to this host name.",
        422: "The request is not valid.",
        500: "A bug, or a model that fails on this text.",
        503: "The server is busy.",
    }.items()
}


def handle_failures(app: FastAPI) -> None:
    """Every failure as a sentence that the page can show."""

    @app.exception_handler(HeedfulError)
    async def by_sentence(request: Request, error: HeedfulError) -> JSONResponse:
        if isinstance(error, Gone):
            return _problem(410, str(error), "gone")
        if isinstance(error, EnvironmentFailure):
            return _problem(500, str(error), "bug")
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
        return _problem(400, "the client disconnected.", "request")

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
    if error["type"] == "json_invalid":
        return f"the request is not JSON: {str(error['ctx']['error']).lower()}."
    place = ".".join(str(part) for part in error["loc"] if part not in ("body", "query", "path"))
    said = str(error["msg"])
    return f"{place or 'the request'}: {said[:1].lower()}{said[1:]}.".replace("..", ".")
