"""What the user typed, turned into settings."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

from heedful.config import parse, read_toml
from heedful.errors import ConfigError, UsageError
from heedful.model.encoders import Pretrained, encoders
from heedful.training.settings import STAGES, Settings


def settings_from(
    base: Settings,
    config: Path | None,
    epochs: int | None,
    learning_rate: float | None,
    assignments: list[str],
    **flags: Any,
) -> Settings:
    """Base, then settings file, then flags; flags that were not given (None) change nothing."""
    if config is not None:
        base = base.with_tables(read_toml(config))
    flagged = {name: value for name, value in flags.items() if value is not None}
    assigned = _parsed(assignments)
    if twice := flagged.keys() & assigned.keys():
        raise ConfigError(
            f"{min(twice)} is given twice: as an option and with --set. Give it once."
        )
    settings = base.with_(**flagged, **assigned)
    if epochs is not None:
        recipe = dataclasses.replace(settings.training.recipe, epochs=epochs)  # type: ignore[type-var]
        settings = settings.with_(recipe=recipe)
    if learning_rate is not None:
        optimizer = dataclasses.replace(settings.training.optimizer, learning_rate=learning_rate)
        settings = settings.with_(optimizer=optimizer)
    return settings


def encoder_from(encoder: str | None, pretrained: str | None) -> Any:
    """The encoder of --encoder and --pretrained, which names the model of a pretrained one."""
    if pretrained is None:
        return encoder
    made = encoders.make(encoder or "pretrained")
    if not isinstance(made, Pretrained):
        raise UsageError(f"--pretrained needs --encoder pretrained, not {encoder}.")
    return dataclasses.replace(made, source=pretrained)


def _parsed(assignments: list[str]) -> dict[str, Any]:
    """`--set name=value` options as typed values; unknown names are refused later, by name."""
    fields = {field.name: field for cls in STAGES.values() for field in dataclasses.fields(cls)}
    annotations = {
        name: annotation
        for cls in STAGES.values()
        for name, annotation in typing.get_type_hints(cls).items()
    }
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, word = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set expects name=value, not {assignment!r}.")
        is_plain = name in fields and "family" not in fields[name].metadata
        values[name] = parse(word, annotations[name], name) if is_plain else word
    return values


def whole_numbers(text: str, option: str) -> list[int]:
    """'1,2,3' -> [1, 2, 3]."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise UsageError(
            f"{option} expects whole numbers separated by commas, such as 1,2,3, not {text!r}."
        )
    return [int(part) for part in parts]
