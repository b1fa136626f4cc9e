"""Long work that can be stopped: it asks between two batches whether anybody still wants it.

with interruptible(check):      # who waits for the work says when it is over
    work()                      # which calls `check_interrupted()` wherever it has a moment
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], None]
_check: ContextVar[Check | None] = ContextVar("check", default=None)


@contextmanager
def interruptible(check: Check) -> Iterator[None]:
    """Within it, `check` is called between batches of this thread; what it raises ends the work."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_interrupted() -> None:
    """Called between batches: ends the work if nobody waits for it any more."""
    if (check := _check.get()) is not None:
        check()
