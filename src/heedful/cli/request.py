"""What the user typed, turned into a corpus and settings."""

import dataclasses
import re
import typing
from pathlib import Path
from typing import Any

from heedful.config import parse, read_toml
from heedful.errors import ConfigError, DataError, UsageError
from heedful.model.encoders import Pretrained, encoders
from heedful.text.datasets import corpora, load, names_in
from heedful.text.documents import Corpus
from heedful.text.readers import read
from heedful.training.settings import STAGES, Settings


def find_corpus(
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    data_dir: Path | None = None,
    dev_share: float = 0.1,
    test_share: float = 0.1,
    seed: int = 0,
) -> Corpus:
    """A file, a folder or a corpus name as a corpus; what exists on disk goes first."""
    if Path(data).exists():
        return read(data, text, label, dev_share=dev_share, test_share=test_share, seed=seed)
    if text is not None or label is not None:
        raise DataError(f"--text and --label name columns of a file, and {data} is no file.")
    is_name = data.partition(":")[0] in corpora or data in names_in(data_dir)
    if not is_name and (Path(data).suffix or "/" in data):
        raise DataError(f"no such file or folder: {data}.")
    return load(data, data_dir)


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
        given = read_toml(config)
        training = given.get("training", {})
        if isinstance(training, dict) and "recipe" in training:
            base = base.with_(recipe=training["recipe"])
        base = Settings.from_plain(_merged(base.plain(), given))
    flagged = {name: value for name, value in flags.items() if value is not None}
    assigned = _parsed(assignments)
    if twice := flagged.keys() & assigned.keys():
        raise ConfigError(f"{min(twice)} is given twice: as a flag and with --set.")
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
        raise UsageError(f"--pretrained is for --encoder pretrained, not {encoder}.")
    return dataclasses.replace(made, source=pretrained)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Table by table: what `over` names replaces what `base` has."""
    merged = dict(over)
    for name, values in base.items():
        changes = over.get(name, {})
        merged[name] = {**values, **changes} if isinstance(changes, dict) else changes
    return merged


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
            raise ConfigError(f"--set takes name=value, not {assignment!r}.")
        is_plain = name in fields and "family" not in fields[name].metadata
        values[name] = parse(word, annotations[name], name) if is_plain else word
    return values


def seconds_in(duration: str) -> float:
    """A duration as people write it, 90s, 5m or 1h, in seconds."""
    units = {"s": 1, "m": 60, "h": 3600}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", duration.strip())
    if match is None or not float(match[1]) > 0:
        raise UsageError(f"a duration is a number and s, m or h (90s, 5m, 1h), not {duration!r}.")
    return float(match[1]) * units[match[2]]
