"""Families: one signature, one place to add.

A `Registry` maps a name to a member. A member is a function, or a frozen dataclass whose fields are
its options. Command-line choices, docs tables, `heedful list` and contract tests read registries,
so adding a member is one decorated function or class and nothing else.
"""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from heedful import config
from heedful.errors import ConfigError, UnknownName, nearest

Member = TypeVar("Member")
Registered = TypeVar("Registered")


class Registry(Mapping[str, Any], Generic[Member]):
    """The members of one family by name, in the order they were written.

    `registry[name]` is what was registered; `registry.make(spec)` is the ready member, options set:

        projections.make("softmax")
        projections.make("sparsegen:sparsity=0.5")
        projections.make({"name": "sparsegen", "sparsity": 0.5})
        projections.make(Sparsegen(sparsity=0.5))
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._members: dict[str, Any] = {}

    def register(self, name: str) -> Callable[[Registered], Registered]:
        """Decorator: enter a function or a frozen dataclass under `name`."""

        def enter(member: Registered) -> Registered:
            if name in self._members:
                raise ValueError(f"two {self.noun} members are named {name!r}")
            self._members[name] = member
            return member

        return enter

    def __getitem__(self, name: str) -> Any:
        try:
            return self._members[name]
        except KeyError:
            known = ", ".join(self._members)
            raise UnknownName(
                f"no {self.noun} named {name!r}.{nearest(name, self._members)} Known: {known}."
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"<{self.noun} registry: {', '.join(self._members)}>"

    def make(self, spec: str | Mapping[str, Any] | Member) -> Member:
        """The member a name, a name with options, a mapping or a ready member stands for."""
        if isinstance(spec, str):
            name, *assignments = spec.split(":")
            return self._ready(name, self._parse_options(name, assignments))
        if isinstance(spec, Mapping):
            options = dict(spec)
            name = options.pop("name", None)
            if not isinstance(name, str):
                raise ConfigError(f"{self.noun}: expected a 'name' and options, got {spec!r:.80}.")
            return self._ready(name, options)
        self.name_of(spec)  # refuses strangers
        return spec

    def name_of(self, member: Any) -> str:
        """The name that a ready member is registered under."""
        for name, registered in self._members.items():
            if member is registered or (inspect.isclass(registered) and type(member) is registered):
                return name
        raise ConfigError(
            f"{member!r} is not a known {self.noun}. Give a name, a name with options "
            f"or a registered member. Known: {', '.join(self._members)}."
        )

    def describe(self, member: Member) -> dict[str, Any]:
        """Name and options of a ready member as plain data; `make` reads it back."""
        name = self.name_of(member)
        # A record that was registered as it is, such as a metric, has fields but no options.
        options = config.to_plain(member) if inspect.isclass(self[name]) else {}
        return {"name": name, **options}

    def spec(self, member: Member) -> str:
        """Name and options of a ready member as one word; `make` reads it back."""
        described = self.describe(member)
        parts = [str(described.pop("name"))]
        for option, value in described.items():
            word = "+".join(map(str, value)) if isinstance(value, list) else str(value).lower()
            parts.append(f"{option}={word if not isinstance(value, str) else value}")
        return ":".join(parts)

    def summary(self, name: str) -> str:
        """First line of a member's docstring."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]

    def options(self, name: str) -> dict[str, Any]:
        """A member's options with their defaults; empty for a plain function."""
        member = self[name]
        return config.to_plain(member()) if inspect.isclass(member) else {}

    def _ready(self, name: str, options: Mapping[str, Any]) -> Member:
        member = self[name]
        if inspect.isclass(member):
            where = f"{self.noun} {name!r}: "
            return config.from_plain(cast(type[Member], member), options, where)
        if options:
            raise ConfigError(f"{self.noun} {name!r} has no options; got {dict(options)!r}.")
        return member

    def _parse_options(self, name: str, assignments: list[str]) -> dict[str, Any]:
        member = self[name]
        annotations = typing.get_type_hints(member) if inspect.isclass(member) else {}
        options: dict[str, Any] = {}
        for assignment in assignments:
            key, equals, text = assignment.partition("=")
            if not equals:
                raise ConfigError(
                    f"{self.noun} {name!r}: options are written name:option=value, "
                    f"not {assignment!r}."
                )
            known = key in annotations
            options[key] = config.parse(text, annotations[key], key) if known else text
        return options


class AuditedRegistry(Registry[Member]):
    """A family of which audits try some members without being asked to: those that say so."""

    def __init__(self, noun: str) -> None:
        super().__init__(noun)
        self._audited: set[str] = set()

    def register(
        self, name: str, *, is_audited: bool = False
    ) -> Callable[[Registered], Registered]:
        """Decorator: enter a member; audits that name none try it if it `is_audited`."""
        if is_audited:
            self._audited.add(name)
        return super().register(name)

    @property
    def audited(self) -> list[str]:
        """What audits that name no member try."""
        return [name for name in self if name in self._audited]
