"""The files of the page, read once; a request can only name one of them."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files

from fastapi import FastAPI, HTTPException, Request, Response

from heedful.report.html import chart_library, stylesheet

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
WORTH_PACKING = 1024  # bytes


class File:
    """A file as it is sent."""

    def __init__(self, name: str, data: bytes) -> None:
        self.kind = KINDS[name[name.rindex(".") :]]
        self.data = data
        self.packed = gzip.compress(data, 6) if len(data) > WORTH_PACKING else None
        self.tag = f'"{hashlib.sha256(data).hexdigest()[:24]}"'

    def answer(self, request: Request) -> Response:
        """The file, packed if the browser wants that; nothing if the browser has it."""
        headers = {"etag": self.tag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.packed, media_type=self.kind, headers=headers)
        return Response(self.data, media_type=self.kind, headers=headers)


@cache
def known_files() -> dict[str, File]:
    """Every file of the page by its name."""
    found = {
        item.name: item.read_bytes()
        for item in files("heedful.web").joinpath("static").iterdir()
        if item.is_file() and item.name[item.name.rfind(".") :] in KINDS
    }
    found["report.css"] = stylesheet().encode()
    found["charts.js"] = chart_library().encode()
    return {name: File(name, data) for name, data in found.items()}


def add_to(app: FastAPI) -> None:
    """Serve the page at / and its files under /static."""
    known = known_files()

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return known["index.html"].answer(request)

    @app.api_route("/static/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        if name not in known:
            raise HTTPException(404)
        return known[name].answer(request)
