"""Commands and functions called in this process: what of their behaviour is a defect."""

import io
import re
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

from heedful.cli import main
from heedful.errors import HeedfulError

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f\x9b\u202a-\u202e\u2066-\u2069]")


def in_process(words: tuple[object, ...]) -> int:
    """Call `heedful WORDS` here; its exit code."""
    sys.argv = ["heedful", *map(str, words)]
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)


def line_defect(words: tuple[str, ...], fine: tuple[int, ...] = (0, 1, 2, 3)) -> str:
    """Nothing, if a command ends with one of these exit codes and prints nothing that steers."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = in_process(words)
        except Exception as error:  # noqa: BLE001  (what the campaign looks for)
            return f"{words}: {type(error).__name__}: {error}"[:300]
    said = out.getvalue() + err.getvalue()
    if code not in fine:
        return f"{words}: exit code {code}: {said[-200:]}"
    steering = STEERING.search(said)
    return f"{words}: {steering[0]!r} in what it printed" if steering else ""


def defect(use: Callable[[], object]) -> str:
    """Nothing, if it works or is refused in a sentence."""
    try:
        use()
    except HeedfulError:
        return ""
    except Exception as error:  # noqa: BLE001  (what the campaign looks for)
        return f"{type(error).__name__}: {error}"[:300]
    return ""
