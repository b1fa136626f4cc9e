"""A grid and its documents to cells: one training each, with a name that tells what is in it.

    planted-3f2a91c04d-seed1    corpus, digest of settings and documents, seed

The same settings on the same documents have the same name in every grid, so a cell that is done is
found again however the grid around it has changed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from heedful.auditing.measuring import mean_rationale_words
from heedful.errors import ConfigError, DataError, HeedfulError
from heedful.jobs.fingerprint import digest
from heedful.runs import folder_name
from heedful.sweeps.grid import Changes, Data, Grid
from heedful.sweeps.keys import with_keys
from heedful.sweeps.steps import AnalysisStep, AuditStep
from heedful.text.documents import Corpus, Documents
from heedful.training.settings import Settings
from heedful.training.task import Task, find_corpus


@dataclass(frozen=True)
class Source:
    """Documents that cells are trained on."""

    data: Data
    corpus: Corpus
    task: Task  # without where it came from, which is no part of what is learnt

    @classmethod
    def read(cls, data: Data, data_dir: Path | None) -> "Source":
        """The documents that a grid names."""
        try:
            corpus = find_corpus(
                data.source,
                text=data.text,
                label=data.label,
                data_dir=data_dir,
                dev_share=data.dev_share,
                test_share=data.test_share,
            )
        except HeedfulError as error:
            raise DataError(f"data = {data.source!r}: {error}") from None
        return cls(data, corpus, replace(Task.from_corpus(corpus, {}), data={}))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Where the documents came from, as a run records it."""
        return {"name": self.corpus.name, **vars(self.data)}

    @cached_property
    def digest(self) -> str:
        """What tells these documents from others."""
        return digest(self.task).hex()

    def part(self, name: str) -> Documents:
        """The documents to audit on."""
        documents: Documents = getattr(self.corpus, name)
        if not len(documents):
            raise DataError(
                f"audit: {self.data.source} has no {name} part to audit on. Choose another part "
                "with `part`, or leave out [audit]."
            )
        return documents

    def check(self, request: AnalysisStep) -> None:
        """Refuse an analysis of documents that are not there."""
        if request.part and not len(getattr(self.corpus, request.part)):
            raise DataError(
                f"analyse: {self.data.source} has no {request.part} part, which {request.name} "
                "needs."
            )

    @cached_property
    def rationale_words(self) -> int | None:
        """How long rationales are in the training part, if there are any."""
        has_marks = any(document.rationale for document in self.corpus.train)
        return mean_rationale_words(self.corpus.train) if has_marks else None


@dataclass(frozen=True)
class Cell:
    """One training of a grid, and what is asked of it afterwards."""

    name: str  # of its run folder
    source: Source
    variant: str
    axes: Mapping[str, Any]  # values by key, as they were given
    settings: Settings
    audit: AuditStep | None = None
    analyse: tuple[AnalysisStep, ...] = ()

    @classmethod
    def named(
        cls,
        source: Source,
        variant: str,
        axes: Mapping[str, Any],
        settings: Settings,
        audit: AuditStep | None = None,
        analyse: tuple[AnalysisStep, ...] = (),
    ) -> "Cell":
        """A cell under the name that its documents and settings give it."""
        return cls(_name(source, settings), source, variant, axes, settings, audit, analyse)

    @property
    def seed(self) -> int:
        """The seed that it is trained with."""
        return self.settings.training.seed

    @property
    def attends(self) -> bool:
        """Whether there is attention to audit; a model that pools has none."""
        return self.settings.model.pooling == "attention"

    @property
    def record(self) -> dict[str, Any]:
        """What a table of results says of it."""
        variant = {"variant": self.variant} if self.variant else {}
        return {"data": self.source.data.source, **variant, **self.axes, "seed": self.seed}

    @property
    def label(self) -> str:
        """The same in a few words."""
        said = [self.source.corpus.name, *([self.variant] if self.variant else [])]
        return ", ".join([*said, *(f"{k} {v}" for k, v in self.axes.items()), f"seed {self.seed}"])


def cells_of(grid: Grid, data_dir: Path | None = None) -> list[Cell]:
    """All cells in the order of the grid; what cannot be trained at all is refused here."""
    sources = [Source.read(data, data_dir) for data in grid.data]
    for source in sources:
        if grid.audit is not None:
            source.part(grid.audit.part)
        for request in grid.analyse:
            source.check(request)
    cells: dict[str, Cell] = {}
    for source in sources:
        base = grid.base(source.corpus.split)
        for variant, changes, values in grid.combinations():
            settings = _settings(base, variant, changes, values)
            axes = {str(key): _as_written(value) for key, value in values.items()}
            for seed in grid.seeds or (settings.training.seed,):
                seeded = settings.with_(seed=seed)
                cell = Cell.named(source, variant, axes, seeded, grid.audit, grid.analyse)
                if cell.name in cells:
                    raise ConfigError(
                        f"two cells are the same: ({cells[cell.name].label}) and ({cell.label}). "
                        "Remove one of them, or change one of them."
                    )
                cells[cell.name] = cell
    return list(cells.values())


def _settings(base: Settings, variant: str, changes: Changes, values: Changes) -> Settings:
    try:
        return with_keys(base, {**changes, **values})
    except HeedfulError as error:
        said = [f"variant {variant!r}"] if variant else []
        said += [f"{key} = {value!r}" for key, value in values.items()]
        raise ConfigError(f"the cell with {', '.join(said) or 'no axes'}: {error}") from None


def _name(source: Source, settings: Settings) -> str:
    without_seed = settings.with_(seed=0).plain()
    said = json.dumps([source.digest, without_seed], sort_keys=True).encode()
    corpus = folder_name(source.corpus.name.partition(".")[0])
    return f"{corpus}-{sha256(said).hexdigest()[:10]}-seed{settings.training.seed}"


def _as_written(value: Any) -> Any:
    """A value for a table: a member or a list as one word."""
    if isinstance(value, Mapping):
        options = [f"{name}={option}" for name, option in value.items() if name != "name"]
        return ":".join([str(value["name"]), *options])
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value
