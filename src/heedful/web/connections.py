"""Limits of connections: how long a request may take to arrive, and how many one address may open.

A connection that has not sent the whole head of a request in time is closed, however slowly it goes
on sending. The number of connections per address is limited, so that nobody can block all others.
"""

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from heedful.web.limits import Limits


def limited_connections(limits: Limits) -> type[H11Protocol]:
    """What speaks HTTP at each connection of one server, within its limits."""
    from_address: Counter[str] = Counter()

    class LimitedConnection(H11Protocol):
        """A connection that is closed when it takes too long, or when there are too many."""

        _late: asyncio.TimerHandle | None = None
        _address = ""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            from_address[self._address] += 1
            if from_address[self._address] > limits.connections_per_address:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watching()
            from_address[self._address] -= 1
            if not from_address[self._address]:
                del from_address[self._address]
            super().connection_lost(exc)

        def _watch(self) -> None:
            """The time runs from the first moment at which no request is being answered."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_watching()
            elif self._late is None:
                self._late = self.loop.call_later(
                    limits.header_seconds, self._refuse, HTTPStatus.REQUEST_TIMEOUT
                )

        def _stop_watching(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _refuse(self, status: HTTPStatus) -> None:
            if self.cycle is None or self.cycle.response_complete:
                head = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
                self.transport.write(
                    f"{head}connection: close\r\ncontent-length: 0\r\n\r\n".encode()
                )
                self.transport.close()

    return LimitedConnection
