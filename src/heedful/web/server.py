"""A server for the page: threads, socket, address."""

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import quote

import torch
import uvicorn
from fastapi import FastAPI

from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.errors import UsageError
from heedful.training.trained import choose_device
from heedful.web.app import create_app
from heedful.web.connections import limited_connections
from heedful.web.security import Access

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.prompted import Prompt

STOPPING = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048  # connections that wait to be taken, as many as uvicorn keeps
EVERYWHERE = ("0.0.0.0", "::")
MOST_AT_ONCE = 4  # small models gain nothing from more, and memory is per thread


@dataclass(frozen=True)
class Server:
    """An application and the socket that it listens at."""

    app: FastAPI
    socket: socket.socket
    address: str
    served: str
    problems: tuple[str, ...] = ()  # what could not be read, in sentences

    @classmethod
    def at(
        cls,
        folders: Sequence[str | Path],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        names: Sequence[str] = (),
        token: str | None = None,
        device: str = "auto",
        cores: int | None = None,
        readouts: Sequence[str] = (),
        long_texts: LongTexts = "cut",
        prompt: "Prompt | None" = None,
    ) -> "Server":
        """Everything ready, the socket open: nothing is answered before `run`."""
        # oneDNN keeps a kernel for every length of text that ever came, a thousand of them: memory
        # that grows for hours. Sixty-four do.
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
        listening = _listen(host, port)
        try:
            target = choose_device(device)
            available = cores or _cores()
            at_once = 1 if target.type == "cuda" else min(available, MOST_AT_ONCE)
            torch.set_num_threads(max(1, available // at_once))
            own = [socket.gethostname()] if host in EVERYWHERE else []
            access = Access.of(host, [*names, *own], token)
            app = create_app(
                folders,
                device=str(target),
                access=access,
                at_once=at_once,
                readouts=readouts,
                long_texts=long_texts,
                prompt=prompt,
            )
        except BaseException:
            listening.close()
            raise
        store = app.state.handlers.store
        return cls(
            app,
            listening,
            _address(host, listening, access),
            store.sentence,
            tuple(store.problems),
        )

    def answering(self) -> uvicorn.Server:
        """What answers at the socket, not begun yet."""
        config = uvicorn.Config(
            self.app,
            http=limited_connections(self.app.state.limits),
            ws="none",  # an upgraded connection would never be counted off
            log_level="warning",
            access_log=False,  # texts that people type are their own
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=3,
            limit_concurrency=2000,
        )
        return _Stoppable(config, self.app)

    def run(self) -> None:
        """Answer until stopped by a signal, which uvicorn heeds and then sends on."""
        before = {number: signal.signal(number, _no_more) for number in STOPPING}
        # The command line lets a broken pipe end it; here one is a visitor who left early.
        before[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            self.answering().run(sockets=[self.socket])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Stoppable(uvicorn.Server):
    """One whose long requests end, with an answer, as soon as it is to stop."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop what is under way, then wait for the answers to be sent."""
        self._app.state.handlers.stop()
        await super().shutdown(sockets)


def _cores() -> int:
    """Those that this process may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _no_more(number: int, frame: FrameType | None) -> None:
    """A signal that was heeded already."""


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise UsageError(
            f"--host {host!r} is not an address of this machine. Use 127.0.0.1 to serve this "
            "machine only, or 0.0.0.0 to serve other machines too."
        ) from None
    family, kind, protocol, _, place = found[0]
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(place)
        opened.listen(BACKLOG)  # a browser that comes before the first answer waits, not fails
    except OSError as error:
        opened.close()
        raise UsageError(
            f"cannot listen at {host}, port {port}: {(error.strerror or str(error)).lower()}. "
            "Try another --port; --port 0 chooses a free one."
        ) from None
    return opened


def _address(host: str, listening: socket.socket, access: Access) -> str:
    port = listening.getsockname()[1]
    shown = host
    if host in EVERYWHERE:
        shown = socket.gethostname()
    elif ":" in host:
        shown = f"[{host}]"
    query = "" if access.token is None else f"?token={quote(access.token)}"
    return f"http://{shown}:{port}/{query}"
