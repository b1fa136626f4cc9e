"""Who is served when.

Models run in a few threads of their own, so that memory stays flat however many ask. Requests wait
in line; the line has an end, and a request that waits too long is told so instead of left hanging.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from heedful.web.limits import Limits

Found = TypeVar("Found")


class Busy(Exception):
    """Too many ask at once; the same request will do later."""

    def __init__(self, message: str, retry_seconds: int = 2) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Abandoned(Exception):
    """Whoever asked has left."""


@dataclass(frozen=True)
class Served(Generic[Found]):
    """What was found, and how long it took to begin and to do, in seconds."""

    found: Found
    waited: float
    worked: float

    @property
    def timing(self) -> str:
        """As the header Server-Timing says it, in milliseconds."""
        return f"wait;dur={self.waited * 1000:.1f}, work;dur={self.worked * 1000:.1f}"


class WorkQueue:
    """A line of requests and the threads that serve it."""

    def __init__(self, at_once: int, limits: Limits) -> None:
        self.at_once = at_once
        self.limits = limits
        self.waiting = 0
        self.working = 0
        self._open()

    def _open(self) -> None:
        self._threads = ThreadPoolExecutor(self.at_once, thread_name_prefix="heedful")
        self._free = asyncio.Semaphore(self.at_once)

    async def serve(
        self, work: Callable[[], Found], has_left: Callable[[], Awaitable[bool]] | None = None
    ) -> Served[Found]:
        """Do some work when its turn comes, unless nobody waits for it any more."""
        if self.waiting >= self.limits.waiting:
            raise Busy(
                f"the server is busy: {self.waiting:,} requests are waiting already. "
                "Try again in a moment."
            )
        arrived, free = time.perf_counter(), self._free
        await self._turn()
        try:
            if has_left is not None and await has_left():
                raise Abandoned
            began = time.perf_counter()
            found = await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self.working -= 1
            free.release()
        return Served(found, began - arrived, time.perf_counter() - began)

    async def _turn(self) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.patience_seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Busy(
                f"the server is busy: this request waited {self.limits.patience_seconds:g} s and "
                "its turn did not come. Try again in a moment.",
                retry_seconds=5,
            ) from None
        finally:
            self.waiting -= 1
        self.working += 1

    def close(self) -> None:
        """Let the threads go; an application that is begun again gets new ones."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._open()
