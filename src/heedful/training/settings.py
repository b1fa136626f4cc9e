"""All settings of a training in one object, and the papers' profiles of them."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heedful.config import from_plain, to_plain
from heedful.errors import ConfigError, nearest
from heedful.model.build import ModelSettings
from heedful.model.encoders import EncoderSettings, encoders
from heedful.registry import Registry
from heedful.text.tokenize import TextSettings
from heedful.training.fit import TrainingSettings
from heedful.training.recipes import recipes

STAGES: dict[str, Any] = {
    "text": TextSettings,
    "model": ModelSettings,
    "training": TrainingSettings,
}
STAGE_OF = {f.name: stage for stage, cls in STAGES.items() for f in dataclasses.fields(cls)}


@dataclass(frozen=True)
class Settings:
    """One dataclass per stage; the names of their fields are unique over all three."""

    text: TextSettings = field(default_factory=TextSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def plain(self) -> dict[str, Any]:
        """Nested plain data, as config.json and TOML hold it."""
        return {stage: to_plain(getattr(self, stage)) for stage in STAGES}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Settings":
        """The inverse of `plain`; what is missing keeps its default."""
        unknown = [name for name in plain if name not in STAGES]
        if unknown:
            raise ConfigError(
                f"no settings table named {unknown[0]!r}.{nearest(unknown[0], STAGES)} "
                f"Known: {', '.join(STAGES)}."
            )
        stages = {}
        for name, stage in STAGES.items():
            values = plain.get(name, {})
            if not isinstance(values, Mapping):
                raise ConfigError(f"{name} should be a table of settings, not {values!r:.60}.")
            stages[name] = from_plain(stage, values, where=f"[{name}] ")
        return cls(**stages)

    def with_(self, **changes: Any) -> "Settings":
        """Settings with some fields changed, whichever stage they belong to.

        With another recipe or encoder comes what it wants, where settings still stand at their
        defaults; what only the last encoder had brought goes with it. The same recipe with other
        options is no other recipe.
        """
        if "encoder" in changes:
            brought = self._brought_by(encoders.make(changes["encoder"]), changes)
            changes = {**brought, **changes}
        if "recipe" in changes:
            recipe = recipes.make(changes["recipe"])
            is_another = type(recipe) is not type(self.training.recipe)
            wanted = recipe.wants({*changes, *self._said()}) if is_another else {}
            changes = {**self._unsaid(wanted, changes), **changes, "recipe": recipe}
        if "recipe" in changes or "encoder" in changes:
            recipe = recipes.make(changes.get("recipe", self.training.recipe))
            encoder = encoders.make(changes.get("encoder", self.model.encoder))
            if (fitted := recipe.fitted(encoder)) != encoder:
                changes = {**changes, "encoder": fitted}
        by_stage: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            if name not in STAGE_OF:
                raise ConfigError(
                    f"no setting named {name!r}.{nearest(name, STAGE_OF)} "
                    f"Known: {', '.join(STAGE_OF)}."
                )
            by_stage.setdefault(STAGE_OF[name], {})[name] = value
        stages = {
            stage: from_plain(STAGES[stage], {**_fields(getattr(self, stage)), **values})
            for stage, values in by_stage.items()
        }
        return dataclasses.replace(self, **stages)

    def with_tables(self, tables: Mapping[str, Any]) -> "Settings":
        """Settings with what a settings file says changed: table by table, field by field."""
        named = (("encoder", tables.get("model")), ("recipe", tables.get("training")))
        first = {n: table[n] for n, table in named if isinstance(table, Mapping) and n in table}
        base = self.with_(**first) if first else self
        merged = dict(tables)
        for stage, values in base.plain().items():
            changes = tables.get(stage, {})
            merged[stage] = {**values, **changes} if isinstance(changes, Mapping) else changes
        return Settings.from_plain(merged)

    def _brought_by(self, encoder: EncoderSettings, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What comes with an encoder, and back to its default what came with the last one."""
        last, now = self.model.encoder.wants(), encoder.wants()
        if last == now:
            return {}
        usual, then = Settings(), Settings().with_(**last)
        came = {name for name in last if self._value(name) == then._value(name)}
        said = {*changes, *(name for name in self._said() if name not in came)}
        wanted = {**{name: usual._value(name) for name in came}, **now}
        return {name: value for name, value in wanted.items() if name not in said}

    def _value(self, name: str) -> Any:
        return getattr(getattr(self, STAGE_OF[name]), name)

    def _unsaid(self, wanted: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Of what is wanted, that of which nothing has been said."""
        said = {*changes, *self._said()}
        return {name: value for name, value in wanted.items() if name not in said}

    def _said(self) -> list[str]:
        """The settings that are not at their defaults."""
        return [
            name
            for stage, cls in STAGES.items()
            for name, value in _fields(cls()).items()
            if getattr(getattr(self, stage), name) != value
        ]

    def flat(self) -> dict[str, Any]:
        """All fields of all stages by name; members of families as one word each."""
        values = {}
        for stage in STAGES:
            for field_ in dataclasses.fields(getattr(self, stage)):
                value = getattr(getattr(self, stage), field_.name)
                registry = field_.metadata.get("family")
                values[field_.name] = registry.spec(value) if registry else value
        return values


def explain_settings() -> list[dict[str, Any]]:
    """Every setting with its stage, default and meaning, which is the comment beside its field."""
    defaults = Settings().flat()
    rows = []
    for stage, cls in STAGES.items():
        comments = dict(re.findall(r"^    (\w+): .*?#\s*(.*)$", inspect.getsource(cls), re.M))
        rows += [
            {"name": f.name, "stage": stage, "default": defaults[f.name]}
            | {"meaning": comments.get(f.name, "")}
            for f in dataclasses.fields(cls)
        ]
    return rows


profiles: Registry[Callable[[], Settings]] = Registry("profile")


@profiles.register("default")
def default() -> Settings:
    """A BiLSTM with additive attention that suits most small corpora."""
    return Settings()


@profiles.register("jain-wallace")
def jain_wallace() -> Settings:
    """Jain & Wallace 2019: BiLSTM(128), 300-d, AMSGrad, batch 32, 8 epochs, no dropout."""
    return Settings().with_(
        encoder="bilstm:hidden_size=128",
        alignment="additive",
        embedding_size=300,
        dropout=0.0,
        optimizer="amsgrad:learning_rate=0.001:weight_decay=1e-5",
        recipe="standard:epochs=8",
        batch_size=32,
        patience=None,
        gradient_clip=None,
        min_documents=1,
    )


@profiles.register("sun-lu")
def sun_lu() -> Settings:
    """Sun & Lu 2020: DP with scale 10, 100-d from scratch, Adagrad, batch 100, 40 epochs."""
    return Settings().with_(
        encoder="embedding",
        alignment="dot:scale=10.0",
        embedding_size=100,
        embedding_bound=0.1,
        output_bias=False,
        dropout=0.5,
        optimizer="adagrad:learning_rate=0.02:learning_rate_decay=0.001",
        recipe="standard:epochs=40",
        batch_size=100,
        patience=None,
        gradient_clip=None,
        min_documents=1,
        max_vocabulary=200_000,
    )


@profiles.register("sun-lu-planted")
def sun_lu_planted() -> Settings:
    """Sun & Lu 2020, made-up corpora: DP with scale 10, plain SGD, batch 200, 400 epochs."""
    return sun_lu().with_(
        optimizer="sgd:learning_rate=0.015", recipe="standard:epochs=400", batch_size=200
    )


def _fields(settings: Any) -> dict[str, Any]:
    return {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
