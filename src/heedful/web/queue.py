"""Who is served when.

Models run in a few threads of their own, so that memory stays flat however many ask. Requests wait
in a queue of limited length; a request that waits too long is refused instead of left hanging.
Work ends between two batches when it takes too long, when the client disconnects, and when the
server stops.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heedful.errors import UsageError
from heedful.interruption import interruptible
from heedful.web.limits import Limits

LOOK_SECONDS = 0.25  # between two looks at whether the client is still there
STOPPING = "the server is shutting down. Try again after it has been restarted."
Found = TypeVar("Found")


class Busy(Exception):
    """Too many ask at once; the same request will do later."""

    def __init__(self, message: str, retry_seconds: int = 2) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Abandoned(Exception):
    """The client disconnected."""


class TooLong(UsageError):
    """The work took longer than the limit for one request."""


class _Unwanted(Exception):
    """Nobody waits for the work any more."""


class Work(Generic[Found]):
    """Some work in a thread, which ends between two batches once its time is over."""

    def __init__(self, work: Callable[[], Found], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._is_unwanted = False

    def stop(self) -> None:
        """End it at the next occasion."""
        self._is_unwanted = True

    def __call__(self) -> Found:
        """Do it."""
        ends = time.perf_counter() + self._seconds

        def check() -> None:
            if self._is_unwanted:
                raise _Unwanted
            if time.perf_counter() > ends:
                raise TooLong(
                    f"the request was stopped after {self._seconds:g} s, the longest time allowed. "
                    "Try a shorter text, fewer measures or a faster measure."
                )

        with interruptible(check):
            return self._work()


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
        self._is_stopping = False
        self._to_be_stopped: set[asyncio.Future[None]] = set()  # one of each request under way

    def stop(self) -> None:
        """Refuse new requests; those that wait or run are answered with the reason."""
        self._is_stopping = True
        for stopping in self._to_be_stopped:
            if not stopping.done():
                stopping.set_result(None)

    async def serve(
        self, work: Callable[[], Found], has_left: Callable[[], Awaitable[bool]] | None = None
    ) -> Served[Found]:
        """Do some work when its turn comes, unless nobody waits for it any more."""
        if self._is_stopping:
            raise Busy(STOPPING)
        if self.waiting >= self.limits.waiting:
            raise Busy(
                f"the server is busy: {self.waiting:,} requests are already waiting. "
                "Try again in a moment."
            )
        arrived, free = time.perf_counter(), self._free
        await self._turn()
        try:
            if has_left is not None and await has_left():
                raise Abandoned
            began = time.perf_counter()
            found = await self._done(Work(work, self.limits.work_seconds), has_left)
        finally:
            self.working -= 1
            free.release()
        return Served(found, began - arrived, time.perf_counter() - began)

    async def _done(
        self, work: Work[Found], has_left: Callable[[], Awaitable[bool]] | None
    ) -> Found:
        """What the work finds; it is stopped if nobody waits for it."""
        loop = asyncio.get_running_loop()
        doing = loop.run_in_executor(self._threads, work)
        stopping: asyncio.Future[None] = loop.create_future()
        self._to_be_stopped.add(stopping)
        try:
            while not (await _first({doing, stopping}, LOOK_SECONDS)):
                if has_left is not None and await has_left():
                    work.stop()  # its place is free once it has ended
                    await _first({doing, stopping})
                    break
            if stopping.done() and not doing.done():
                doing.cancel()  # whatever the thread still finds is nobody's
                raise Busy(STOPPING)
            return await doing
        except _Unwanted:
            raise Abandoned from None
        finally:
            work.stop()
            self._to_be_stopped.discard(stopping)

    async def _turn(self) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.patience_seconds):
                await self._free.acquire()
            if self._is_stopping:
                self._free.release()
                raise Busy(STOPPING)
        except TimeoutError:
            raise Busy(
                f"the server is busy: this request waited {self.limits.patience_seconds:g} s "
                "without being served. Try again in a moment.",
                retry_seconds=5,
            ) from None
        finally:
            self.waiting -= 1
        self.working += 1

    def close(self) -> None:
        """Let the threads go; an application that is begun again gets new ones."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._open()


async def _first(
    waited_for: set[asyncio.Future[Any]], seconds: float | None = None
) -> set[asyncio.Future[Any]]:
    """Those that are done as soon as one is, or when the time is over."""
    done, _ = await asyncio.wait(waited_for, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return done
