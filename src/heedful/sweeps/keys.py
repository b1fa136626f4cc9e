"""Settings by key: `dropout`, `alignment`, `alignment.scale`, or any of them with its table first.

A key names a field of a settings table, or an option of the family member that stands there.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heedful import config
from heedful.errors import ConfigError, HeedfulError, nearest
from heedful.training.settings import STAGE_OF, STAGES, Settings

FIELDS = {f.name: f for stage in STAGES.values() for f in dataclasses.fields(stage)}
FAMILIES = {n: f.metadata["family"] for n, f in FIELDS.items() if "family" in f.metadata}
TYPES = {
    name: annotation
    for stage in STAGES.values()
    for name, annotation in typing.get_type_hints(stage).items()
}
# By setting, the options that any member of its family has.
OPTIONS = {
    name: list(dict.fromkeys(option for member in family for option in family.options(member)))
    for name, family in FAMILIES.items()
}


@dataclass(frozen=True)
class Key:
    """A setting, or an option of the member that a setting holds."""

    setting: str
    option: str | None = None

    def __str__(self) -> str:
        return self.setting if self.option is None else f"{self.setting}.{self.option}"

    @classmethod
    def parse(cls, name: str, where: str) -> "Key":
        """The key that a name stands for; `where` opens the sentence that refuses it."""
        table, _, rest = name.partition(".")
        if table in STAGES and rest:
            key = cls.parse(rest, where)
            if STAGE_OF[key.setting] != table:
                raise ConfigError(
                    f"{where}: {key.setting} belongs in [{STAGE_OF[key.setting]}], "
                    f"not in [{table}]."
                )
            return key
        setting, _, option = name.partition(".")
        if setting not in FIELDS:
            homes = [f"{home}.{name}" for home, options in OPTIONS.items() if name in options]
            meant = f" Did you mean {homes[0]!r}?" if homes else nearest(name, FIELDS)
            raise ConfigError(
                f"{where}: no setting named {name!r}.{meant} Known: {', '.join(FIELDS)}."
            )
        if option and setting not in FAMILIES:
            raise ConfigError(f"{where}: {setting} has no options, so {name!r} does not exist.")
        if option and option not in OPTIONS[setting]:
            known = OPTIONS[setting]
            raise ConfigError(
                f"{where}: no {setting} has an option {option!r}.{nearest(option, known)} "
                f"Known: {', '.join(known)}."
            )
        return cls(setting, option or None)

    def checked(self, value: Any, where: str) -> Any:
        """A value as the setting takes it; TOML has no null, so "none" stands for none.

        An option is checked with the member it is an option of, when it is set.
        """
        if self.option is not None:
            return value
        if self.setting in FAMILIES:
            try:
                FAMILIES[self.setting].make(value)
            except HeedfulError as error:
                raise ConfigError(f"{where}: {self} = {value!r}: {error}") from None
            return value
        annotation = TYPES[self.setting]
        return config.check(_or_none(value, annotation), annotation, f"{where}: {self}")


def with_keys(settings: Settings, changes: Mapping[Key, Any]) -> Settings:
    """The settings with all changes: first whole settings, then options of what stands there."""
    settings = settings.with_(**{k.setting: v for k, v in changes.items() if k.option is None})
    for key, value in changes.items():
        if key.option is not None:
            settings = _with_option(settings, key.setting, key.option, value)
    return settings


def _with_option(settings: Settings, setting: str, option: str, value: Any) -> Settings:
    family = FAMILIES[setting]
    member = getattr(getattr(settings, STAGE_OF[setting]), setting)
    described = family.describe(member)
    if option not in described:
        name = described.pop("name")
        known = ", ".join(described) or "none"
        raise ConfigError(f"{setting} {name!r} has no option {option!r}. Known: {known}.")
    annotation = typing.get_type_hints(type(member))[option]
    changed = {**described, option: _or_none(value, annotation)}
    return settings.with_(**{setting: family.make(changed)})


def _or_none(value: Any, annotation: Any) -> Any:
    """None for the word "none", where a setting may be none."""
    is_word = isinstance(value, str) and value.lower() == "none"
    return None if is_word and types.NoneType in typing.get_args(annotation) else value
