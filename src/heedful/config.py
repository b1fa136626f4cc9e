"""Settings: frozen dataclasses to and from plain data (JSON, TOML, words on a command line).

Defaults live in the dataclass. `from_plain` checks names and types and says which key is wrong;
`to_plain` is its inverse. A field that holds a member of a family (an encoder, a recipe) is
declared with `family(registry, "default")`, so it may be given by name, with options, or as an
object.
"""

import dataclasses
import math
import numbers
import os
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from heedful.errors import ConfigError, nearest

Settings = TypeVar("Settings")
Number = int | float
LARGEST_SIZE = 65_536  # of any layer; more is a slip of the finger


@runtime_checkable
class Family(Protocol):
    """What a settings field needs of a registry."""

    def make(self, spec: Any) -> Any:
        """The member that a name, a name with options, a mapping or a member stands for."""

    def describe(self, member: Any) -> dict[str, Any]:
        """The inverse of `make`: name and options as plain data."""


def family(registry: Family, default: str) -> Any:
    """A settings field that holds a member of `registry`."""
    return dataclasses.field(
        default_factory=lambda: registry.make(default), metadata={"family": registry}
    )


def from_plain(cls: type[Settings], values: Mapping[str, Any], where: str = "") -> Settings:
    """An instance of the dataclass `cls` from plain values; `where` opens the error sentences."""
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    annotations = typing.get_type_hints(cls)
    checked = {}
    for name, value in values.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise ConfigError(
                f"{where}no option named {name!r}.{nearest(name, fields)} Known: {known}."
            )
        registry = fields[name].metadata.get("family")
        checked[name] = (
            registry.make(value) if registry else check(value, annotations[name], where + name)
        )
    return cls(**checked)


def to_plain(settings: Any) -> dict[str, Any]:
    """The fields of a settings dataclass as data that JSON and TOML can hold."""
    plain = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if registry := field.metadata.get("family"):
            value = registry.describe(value)
        elif dataclasses.is_dataclass(value):
            value = to_plain(value)
        plain[field.name] = list(value) if isinstance(value, tuple) else value
    return plain


def check(value: Any, annotation: Any, name: str) -> Any:
    """`value` as the annotated type, or a sentence that says what was expected."""
    for option in _alternatives(annotation):
        converted = _as_type(value, option)
        if converted is not _MISFIT:
            return converted
    raise ConfigError(f"{name} should be {_in_words(annotation)}, not {value!r:.60}.")


def parse(text: str, annotation: Any, name: str) -> Any:
    """A word from the command line as the annotated type: 0.5, true, none, 1+3+5."""
    for option in _alternatives(annotation):
        converted = _as_type(_literal(text, option), option)
        if converted is not _MISFIT:
            return converted
    raise ConfigError(f"{name} should be {_in_words(annotation)}, not {text!r}.")


def at_least(lowest: int, **values: Number | None) -> None:
    """Refuse a value below `lowest`; None, where a setting may be none, passes."""
    for name, value in values.items():
        if value is not None and not value >= lowest:
            raise ConfigError(f"{name} should be at least {lowest}, not {value}.")


def above(bound: int, **values: Number | None) -> None:
    """Refuse a value that does not lie above `bound`; None passes."""
    for name, value in values.items():
        if value is not None and not value > bound:
            raise ConfigError(f"{name} should be greater than {bound}, not {value}.")


def within(lowest: int, bound: int, **values: Number | None) -> None:
    """Refuse a value outside lowest <= value < bound; None passes."""
    for name, value in values.items():
        if value is not None and not lowest <= value < bound:
            raise ConfigError(f"{name} should be from {lowest} to below {bound}, not {value}.")


def share(**values: Number | None) -> None:
    """Refuse what is no share, from 0 to 1; None passes."""
    for name, value in values.items():
        if value is not None and not 0 <= value <= 1:
            raise ConfigError(f"{name} should be a share from 0 to 1, not {value}.")


def size(**values: int | None) -> None:
    """Refuse what cannot be the size of a layer."""
    within(1, LARGEST_SIZE + 1, **values)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise ConfigError(f"no settings file at {path}.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from None


_MISFIT = object()


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """`int | None` -> (None type, int): "none" means none first, and every word is also text."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        order = {types.NoneType: 0, str: 2}
        return tuple(sorted(typing.get_args(annotation), key=lambda option: order.get(option, 1)))
    return (annotation,)


def _as_type(value: Any, expected: Any) -> Any:
    origin = typing.get_origin(expected)
    if origin is Literal:
        return value if value in typing.get_args(expected) else _MISFIT
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return _MISFIT
        items = [_as_type(item, typing.get_args(expected)[0]) for item in value]
        return _MISFIT if any(item is _MISFIT for item in items) else tuple(items)
    if expected is types.NoneType:
        return None if value is None else _MISFIT
    if expected in (int, float):
        return _as_number(value, expected)
    if expected is str and isinstance(value, os.PathLike):
        return str(value)
    return value if isinstance(value, expected) else _MISFIT


def _as_number(value: Any, expected: type) -> Any:
    """A number of any library as Python's own; no truth values, nothing infinite or absurd."""
    kind = numbers.Integral if expected is int else numbers.Real
    if not isinstance(value, kind) or isinstance(value, bool):
        return _MISFIT
    number = expected(value)
    is_sane = math.isfinite(number) if expected is float else abs(number) < 2**53
    return number if is_sane else _MISFIT


def _literal(text: str, expected: Any) -> Any:
    """The plain value that a command-line word means when `expected` is asked for."""
    origin = typing.get_origin(expected)
    if origin is tuple:
        return [_literal(part, typing.get_args(expected)[0]) for part in text.split("+")]
    if origin is Literal:
        return next((v for v in typing.get_args(expected) if str(v) == text), text)
    if expected is types.NoneType:
        return None if text.lower() == "none" else text
    if expected is bool:
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if expected in (int, float):
        try:
            return expected(text)
        except ValueError:
            return text
    return text


def _in_words(annotation: Any) -> str:
    words: dict[type, str] = {
        int: "a whole number", float: "a finite number", bool: "true or false", str: "a word",
        list: "a list", dict: "an object",
    }  # fmt: skip
    parts = []
    for option in sorted(_alternatives(annotation), key=lambda option: option is types.NoneType):
        if typing.get_origin(option) is Literal:
            parts += [repr(value) for value in typing.get_args(option)]
        elif typing.get_origin(option) is tuple:
            parts.append(f"a list of {_in_words(typing.get_args(option)[0])} (joined by '+')")
        else:
            parts.append("none" if option is types.NoneType else words.get(option, str(option)))
    return " or ".join(parts)


def seconds_in(duration: str | float) -> float:
    """A duration as people write it, 90s, 5m or 1h, in seconds; a number is seconds already."""
    units = {"s": 1, "m": 60, "h": 3600}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(duration).strip())
    if isinstance(duration, str) and match is not None:
        duration = float(match[1]) * units[match[2]]
    if isinstance(duration, str) or not 0 < duration < math.inf:
        raise ConfigError(
            f"a duration should be a number followed by s, m or h (90s, 5m, 1h), "
            f"not {duration!r:.60}."
        )
    return float(duration)
