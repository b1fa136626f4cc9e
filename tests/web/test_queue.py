"""Who is served when: so much at once, the rest in line, and the line has an end."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interruption import check_interrupted
from heedful.web.limits import Limits
from heedful.web.queue import Abandoned, Busy, TooLong, WorkQueue


class Works:
    """Work that waits until it is let go, and counts how much of it is done together."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.now = self.most = self.begun = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            self.begun += 1
            self.now += 1
            self.most = max(self.most, self.now)
        self.go.wait(5)
        with self._lock:
            self.now -= 1
        return "done"


async def until(is_so: Any) -> None:
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.001)


def run(queue: WorkQueue, story: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(story)
    finally:
        queue.close()


@given(at_once=st.integers(1, 3), asking=st.integers(1, 9))
def test_no_more_is_done_together_than_there_are_places(at_once, asking):
    queue, works = WorkQueue(at_once, Limits()), Works()

    async def story() -> None:
        tasks = [asyncio.create_task(queue.serve(works)) for _ in range(asking)]
        await until(lambda: works.now == min(at_once, asking))
        assert (queue.working, queue.waiting) == (works.now, asking - works.now)
        works.go.set()
        served = await asyncio.gather(*tasks)
        assert [one.found for one in served] == ["done"] * asking

    run(queue, story())
    assert works.most == min(at_once, asking)
    assert (queue.working, queue.waiting) == (0, 0)


def test_a_line_has_an_end():
    queue, works = WorkQueue(1, Limits(waiting=2)), Works()

    async def story() -> None:
        tasks = [asyncio.create_task(queue.serve(works)) for _ in range(2)]
        await until(lambda: queue.working == 1 and queue.waiting == 1)
        tasks.append(asyncio.create_task(queue.serve(works)))
        await until(lambda: queue.waiting == 2)
        with pytest.raises(Busy, match="2 requests are already waiting") as told:
            await queue.serve(works)
        assert told.value.retry_seconds == 2
        works.go.set()
        await asyncio.gather(*tasks)
        assert (await queue.serve(works)).found == "done"

    run(queue, story())


def test_patience_has_an_end():
    queue, works = WorkQueue(1, Limits(patience_seconds=0.02)), Works()

    async def story() -> None:
        first = asyncio.create_task(queue.serve(works))
        await until(lambda: works.now == 1)
        with pytest.raises(Busy, match=r"waited 0.02 s without being served") as told:
            await queue.serve(works)
        assert told.value.retry_seconds == 5
        assert queue.waiting == 0
        works.go.set()
        assert (await first).found == "done"
        assert (await queue.serve(works)).found == "done"

    run(queue, story())
    assert works.begun == 2


def test_abandoned_work_is_not_begun_and_frees_its_place():
    queue, works = WorkQueue(1, Limits()), Works()
    works.go.set()

    async def has_left() -> bool:
        return True

    async def story() -> None:
        with pytest.raises(Abandoned):
            await queue.serve(works, has_left)
        assert works.begun == 0
        assert (await queue.serve(works)).found == "done"

    run(queue, story())


def test_whoever_stops_waiting_leaves_the_line():
    queue, works = WorkQueue(1, Limits()), Works()

    async def story() -> None:
        first = asyncio.create_task(queue.serve(works))
        await until(lambda: works.now == 1)
        second = asyncio.create_task(queue.serve(works))
        await until(lambda: queue.waiting == 1)
        second.cancel()
        await until(lambda: queue.waiting == 0)
        works.go.set()
        await first
        assert (await queue.serve(works)).found == "done"

    run(queue, story())
    assert works.begun == 2


def batches() -> None:
    """Work that would take forever, one batch after the other."""
    while True:
        check_interrupted()
        time.sleep(0.001)


def test_work_that_takes_too_long_is_stopped_and_frees_its_place():
    queue = WorkQueue(1, Limits(work_seconds=0.05))

    async def story() -> None:
        with pytest.raises(TooLong, match=r"stopped after 0\.05 s, the longest time allowed"):
            await queue.serve(batches)
        assert (await queue.serve(lambda: 7)).found == 7

    run(queue, story())


def test_work_is_stopped_when_the_client_disconnects_and_frees_its_place():
    queue, looks = WorkQueue(1, Limits()), iter([False, False, True])

    async def has_left() -> bool:
        return next(looks)

    async def story() -> None:
        with pytest.raises(Abandoned):
            await queue.serve(batches, has_left)
        assert (await queue.serve(lambda: 7)).found == 7

    run(queue, story())


def test_a_queue_that_stops_answers_everyone_at_once():
    queue = WorkQueue(1, Limits())

    async def story() -> None:
        tasks = [asyncio.create_task(queue.serve(batches)) for _ in range(3)]
        await until(lambda: (queue.working, queue.waiting) == (1, 2))
        queue.stop()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in found] == [Busy] * 3
        with pytest.raises(Busy, match="the server is shutting down"):
            await queue.serve(lambda: 7)

    run(queue, story())


def test_work_that_fails_frees_its_place():
    queue = WorkQueue(1, Limits())

    def fails() -> None:
        raise ZeroDivisionError

    async def story() -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await queue.serve(fails)
        assert (queue.working, queue.waiting) == (0, 0)
        assert (await queue.serve(lambda: 7)).found == 7

    run(queue, story())


def test_how_long_it_took_is_told_in_milliseconds():
    queue = WorkQueue(1, Limits())

    async def story() -> None:
        served = await queue.serve(lambda: threading.Event().wait(0.05))
        assert served.worked >= 0.05
        assert served.timing == (
            f"wait;dur={served.waited * 1000:.1f}, work;dur={served.worked * 1000:.1f}"
        )

    run(queue, story())


def test_a_desk_that_was_closed_serves_again():
    queue = WorkQueue(1, Limits())

    async def story() -> None:
        served = await asyncio.gather(*(queue.serve(lambda: 7) for _ in range(3)))
        assert [one.found for one in served] == [7, 7, 7]

    run(queue, story())
    run(queue, story())
