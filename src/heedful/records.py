"""Records read from JSON: the types of a class's fields say what its file must hold.

    a dataclass          an object; a field without a default must be there, other keys are ignored
    a TypedDict          an object; its keys are checked, other keys are kept as they are
    tuple, list, dict    every part is read by the type of the parts
    float                a number, or null for what is not a number (NaN)
    all others           as settings are checked (`config.check`)

A value of another type is refused with its place in the file: answers[0].tests[2].score.value.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from heedful.config import check
from heedful.errors import ConfigError

Record = TypeVar("Record")


def none_as(word: str) -> dict[str, str]:
    """Metadata of a field: the word that stands for None in the file."""
    return {"none": word}


def read_record(kind: type[Record] | GenericAlias, value: object, where: str = "") -> Record:
    """What plain data stands for, or a sentence about the first part that does not fit."""
    return _read(value, kind, where)


def _read(value: Any, kind: Any, where: str) -> Any:
    if isinstance(kind, UnionType) and NoneType in get_args(kind) and _has_parts(get_args(kind)[0]):
        kind = NoneType if value is None else get_args(kind)[0]
    if kind is Any:
        return value
    if kind is float:
        number = check(value, float | None, where)
        return math.nan if number is None else number
    if not _has_parts(kind):
        return check(value, kind, where)
    if get_origin(kind) in (tuple, list):
        return get_origin(kind)(_items(value, kind, where))
    value = check(value, dict, where or "the file")
    parts = dict(_members(value, kind, f"{where}." if where else ""))
    is_object = is_typeddict(kind) or get_origin(kind) is not None
    return {**value, **parts} if is_object else kind(**parts)


def _has_parts(kind: Any) -> bool:
    origin = get_origin(kind)
    is_collection = origin in (tuple, list, dict, Mapping)
    return is_collection or dataclasses.is_dataclass(kind) or is_typeddict(kind)


def _items(value: Any, kind: Any, where: str) -> Iterator[Any]:
    """The items of a list: of one type, or, like the two ends of an interval, each of its own."""
    items, kinds = check(value, list, where), get_args(kind)
    if get_origin(kind) is list or kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise ConfigError(f"{where} should be a list of {len(kinds)}, not {value!r:.60}.")
    for place, (item, of_item) in enumerate(zip(items, kinds, strict=True)):
        yield _read(item, of_item, f"{where}[{place}]")


def _members(value: dict[str, Any], kind: Any, inside: str) -> Iterator[tuple[str, Any]]:
    """What an object holds by name, as far as its type names it."""
    if get_origin(kind) is not None:
        of_each = get_args(kind)[1]
        yield from ((name, _read(part, of_each, inside + name)) for name, part in value.items())
        return
    for name, of_name, is_needed, none in _schema(kind):
        if name in value:
            part = None if none is not None and value[name] == none else value[name]
            yield name, _read(part, of_name, inside + name)
        elif is_needed:
            raise ConfigError(f"{inside}{name} is missing.")


@cache
def _schema(kind: Any) -> list[tuple[str, Any, bool, str | None]]:
    """Name, type and whether it must be there, of every field; the word that stands for None."""
    hints = get_type_hints(kind)
    if is_typeddict(kind):
        return [(name, hints[name], name in kind.__required_keys__, None) for name in hints]
    missing = dataclasses.MISSING
    return [
        (f.name, hints[f.name], f.default is f.default_factory is missing, f.metadata.get("none"))
        for f in dataclasses.fields(kind)
    ]


def json_schema(kind: Any) -> dict[str, Any]:
    """The same rules as JSON Schema, for other programs: what a file must hold to be read."""
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return {"anyOf": [json_schema(option) for option in get_args(kind)]}
    origin, options = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(options)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": json_schema(options[1])}
    if origin is list or (origin is tuple and options[-1] is Ellipsis):
        return {"type": "array", "items": json_schema(options[0])}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [json_schema(option) for option in options],
            "minItems": len(options),
            "maxItems": len(options),
        }
    return _object_schema(kind) if _has_parts(kind) else dict(_PLAIN[kind])


def _object_schema(kind: Any) -> dict[str, Any]:
    properties, required = {}, []
    for name, of_name, is_needed, none in _schema(kind):
        options = [json_schema(of_name), *([{"const": none}] if none is not None else [])]
        properties[name] = options[0] if len(options) == 1 else {"anyOf": options}
        required += [name] if is_needed else []
    return {"type": "object", "properties": properties, "required": required}


_PLAIN: dict[Any, dict[str, Any]] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    list: {"type": "array"},
    NoneType: {"type": "null"},
}
