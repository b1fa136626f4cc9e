"""The page over some runs and audits, as an ASGI application."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.web import static_files
from heedful.web.errors import handle_failures
from heedful.web.handlers import Handlers
from heedful.web.limits import Limits
from heedful.web.routes import routes
from heedful.web.security import Access, Guard

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.prompted import Prompt


def create_app(
    paths: Sequence[str | Path],
    *,
    device: str = "cpu",
    access: Access | None = None,
    limits: Limits | None = None,
    at_once: int = 1,
    readouts: Sequence[str] = (),
    long_texts: LongTexts = "cut",
    prompt: "Prompt | None" = None,
) -> FastAPI:
    """The page over some run and audit folders and Hugging Face models, behind its guard.

    A model is "hf:FOLDER_OR_NAME", read by each of `readouts`; without any, by the usual ones. A
    decoder that is asked by the `prompt` is "hf-prompt:FOLDER_OR_NAME".
    `at_once`: texts that are read at the same time, each in a thread of its own.
    """
    limits = limits or Limits()
    handlers = Handlers.open(paths, device, limits, at_once, readouts, long_texts, prompt)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        handlers.close()

    app = FastAPI(
        title="heedful",
        summary="May this classifier's attention be read as an explanation?",
        version=version("heedful"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # would load its scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    handle_failures(app)
    app.include_router(routes(handlers))
    static_files.add_to(app)
    app.add_middleware(Guard, access=access or Access(), limits=limits)
    app.state.handlers = handlers
    app.state.limits = limits
    return app
