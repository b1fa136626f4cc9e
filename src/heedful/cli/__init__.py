"""The command line: read the request, call one library function, show the answer.

Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 the machine gave out (disk, memory, a
signal, a package that is not installed). Progress goes to standard error, results to standard
output.
"""

import errno
import gc
import io
import os
import signal
import sys
import textwrap
import traceback
from types import FrameType
from typing import Any, NoReturn

import typer

from heedful.errors import (
    OUT_OF_MEMORY,
    EnvironmentFailure,
    HeedfulError,
    UsageError,
    is_out_of_memory,
    missing_packages_named,
    shortened,
)
from heedful.terminal import write_error

A_BUG = 70  # the exit code that sysexits.h keeps for internal errors
# click's UsageError, wherever this version of typer keeps it
RefusedArguments: type[Exception] = typer.BadParameter.__bases__[0]


def main() -> NoReturn:
    """Run a command; every failure ends in a sentence and an exit code."""
    # Old objects are nearly all modules, which never die: looking through them at the usual times
    # costs an audit most of a second. Young ones are collected as ever.
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    from heedful.cli.app import app

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # leave quietly when nobody reads on
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # text the terminal cannot show
    try:
        with missing_packages_named("this command"):
            code = app(prog_name="heedful", standalone_mode=False)  # however it was started
    except HeedfulError as error:
        _leave(str(error), error.exit_code)
    except RefusedArguments as error:
        _leave(_refusal(error), UsageError.exit_code)
    except OSError as error:
        _leave(*_in_words(error))
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  (the last line of defence; panics of Rust too)
        if is_out_of_memory(error):
            _leave(OUT_OF_MEMORY, EnvironmentFailure.exit_code)
        if os.environ.get("HEEDFUL_TRACEBACK"):
            write_error(textwrap.indent(traceback.format_exc(), "  "), seen="\n\t")
        _leave(
            f"unexpected {type(error).__name__}: {error}. This is a bug in heedful; run again with "
            "HEEDFUL_TRACEBACK=1 to see where, and please report it.",
            A_BUG,
        )
    sys.exit(code or 0)


def _in_words(error: OSError) -> tuple[str, int]:
    """What the file system refused, and whether another request or another machine would help."""
    what = f"{error.filename}: " if error.filename else ""
    is_request = isinstance(
        error, FileNotFoundError | IsADirectoryError | NotADirectoryError | PermissionError
    )
    code = UsageError.exit_code if is_request else EnvironmentFailure.exit_code
    if error.errno == errno.ENAMETOOLONG:
        return "a path is too long. Expected the name of a file or folder.", UsageError.exit_code
    return f"{what}{error.strerror or error}.", code


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise EnvironmentFailure(
        f"stopped by {signal.Signals(number).name}. What was saved before is intact; "
        "--resume resumes a training or an audit; a sweep resumes when you run it again."
    )


def _refusal(error: Any) -> str:
    """What is wrong with the arguments; nothing where the help has been printed instead."""
    sentence = error.format_message()
    if not sentence or error.ctx is None:
        return sentence
    return f"{sentence.rstrip('.')}. `{error.ctx.command_path} --help` lists the options."


def _leave(sentence: str, code: int) -> NoReturn:
    if sentence:
        write_error(f"heedful: {shortened(sentence)}")
    sys.exit(code)
