"""Run folders: the only module that knows the names of their files.

    config.json                     everything needed to train it again; carries a schema number
    model.safetensors               the weights
    tokenizer.json                  how texts are cut, and the vocabulary
    pretrained.json                 how a pretrained encoder is built and cuts words into pieces
    history.jsonl                   one line per epoch
    metrics.json                    scores on dev and test
    training_documents.safetensors  fingerprints of what it was trained on
    provenance.json                 versions, data, seed, device, checksums, seal; written last
    original/                       the Hugging Face model that decides, where one was healed
    checkpoint-*.safetensors        only while a training is under way
    base/                           a run of its own, where the recipe needed one and trained it

An audit is a folder too: request.json (what is asked of which model), audit.json (verdict, answers,
settings, checksums, seal) and per_example.parquet (one row per document); parts/ only while it is
under way. That of a Hugging Face model holds an audit for each reading, and readings.json. So is an
analysis: analysis.json, and rows.parquet where it has many rows. A sweep is a folder of runs, each
with a cell.json (its place in the grid), results.parquet (a row each), and analyses.parquet (a row
per row of every analysis).

Every file is written beside its place and moved there in one step, so a killed process or a full
disk leaves the old file or the new one, never half of one. A folder has one writer at a time, who
holds its `.lock`; what a killed writer leaves (that file, files that were not yet moved) is no
content, and the next writer removes it. Nothing is ever unpickled.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from heedful import seals
from heedful.errors import ConfigError, RunError
from heedful.records import Record, read_record
from heedful.storage import (
    check_no_file,
    flush_folder,
    held,
    is_leftover,
    json_bytes,
    make_folder,
    write_atomically,
)

if TYPE_CHECKING:
    from torch import Tensor

SCHEMA = 1

CONFIG = "config.json"
MODEL = "model.safetensors"
TOKENIZER = "tokenizer.json"
PRETRAINED = "pretrained.json"
HISTORY = "history.jsonl"
METRICS = "metrics.json"
TRAINING_DOCUMENTS = "training_documents.safetensors"
PROVENANCE = "provenance.json"
AUDIT = "audit.json"
BASE = "base"
ORIGINAL = "original"
PARTS = "parts"
SHARES = "shares"
TWINS = "twins"
TWINS_OF = "twins_of.json"
REPORT = "report.html"
REQUEST = "request.json"
PER_EXAMPLE = "per_example.parquet"
READINGS = "readings.json"
ANALYSIS = "analysis.json"
ROWS = "rows.parquet"
CELL = "cell.json"
ANALYSES = "analyses.parquet"
REPRODUCTION = "reproduction.json"
RESULTS = "results.parquet"
RESULTS_LOCK = ".results.lock"
SWEEP_LOCK = ".sweep.lock"
CHECKSUMMED = (CONFIG, MODEL, TOKENIZER, HISTORY, METRICS, TRAINING_DOCUMENTS)


class RunFolder:
    """One run's files, written atomically and checked when read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def new(cls, path: str | Path) -> "RunFolder":
        """A folder to be made by `begin`; one that holds anything already is refused."""
        folder = cls(path)
        check_no_file(folder.path)
        if folder.path.is_dir() and any(not is_leftover(one) for one in folder.path.iterdir()):
            advice = (
                "Choose another folder."
                if folder.is_finished or not folder.is_begun
                else "It holds an unfinished run: resume it with --resume, or choose another."
            )
            raise RunError(f"the output folder {path} already exists. {advice}")
        return folder

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """A folder with a finished run in it, its files checked against their checksums."""
        folder = cls(path)
        if folder.path.is_file():
            raise RunError(f"{path} is a file. Expected a run folder made by `heedful train`.")
        if not folder.path.is_dir():
            raise RunError(f"no run folder at {path}. Create one: `heedful train DATA -o {path}`.")
        if not folder.is_begun:
            raise RunError(f"{path} is not a run folder: it contains no {CONFIG}.")
        folder.read_config()
        if not folder.is_finished:
            is_healed = ORIGINAL in folder.read_config().get("data", {})
            raise RunError(
                f"the run in {path} is unfinished. Continue it: heedful "
                f"{'heal' if is_healed else 'train'} … -o {path} --resume"
            )
        folder._check_files()
        return folder

    @property
    def original(self) -> Path:
        """Where a run keeps the model that was healed."""
        return self.path / ORIGINAL

    @property
    def is_begun(self) -> bool:
        """Whether a training has started here."""
        return (self.path / CONFIG).is_file()

    @property
    def is_finished(self) -> bool:
        """Whether a training has ended here."""
        return (self.path / PROVENANCE).is_file()

    def read_config(self) -> dict[str, Any]:
        """The configuration, refused when a newer version of heedful wrote it."""
        config = self.read_json(CONFIG)
        schema = config.get("schema")
        if "model_type" in config and schema is None:
            raise RunError(
                f"{self.path} holds a Hugging Face model, not a run of heedful. Audit it with "
                f"`heedful audit hf:{self.path} DATA`, or in Python with heedful.audit(model, "
                "documents, tokenizer=tokenizer)."
            )
        if not isinstance(schema, int):
            raise RunError(f"{self.path / CONFIG} has no schema number: heedful did not write it.")
        if schema > SCHEMA:
            raise RunError(
                f"{self.path / CONFIG} has schema {schema}, written by heedful "
                f"{config.get('heedful', '?')}; this version reads up to {SCHEMA}. Upgrade heedful."
            )
        return config

    def begin(self, config: Mapping[str, Any]) -> None:
        """Make the folder and write the configuration with its schema number."""
        make_folder(self.path)
        self.write_json(CONFIG, {"schema": SCHEMA, **config})

    def finish(self, provenance: Mapping[str, Any]) -> None:
        """Write provenance and checksums, which makes the run complete; drop its checkpoints."""
        found = [PRETRAINED] if (self.path / PRETRAINED).is_file() else []
        found += [f"{ORIGINAL}/{one.name}" for one in sorted(self.original.glob("*"))]
        written = [*CHECKSUMMED, *found]
        self.write_sealed(PROVENANCE, provenance, written)
        self.drop_checkpoints()

    def drop_checkpoints(self) -> None:
        """Remove the saved states of a finished training; a killed process may have left some."""
        for left in self.path.glob("checkpoint-*.safetensors"):
            left.unlink(missing_ok=True)
        flush_folder(self.path)

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON object."""
        try:
            value = json.loads(self.read_bytes(name))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.path / name} is not JSON: {error}.") from None
        if not isinstance(value, dict):
            raise RunError(f"{self.path / name} should hold a JSON object.")
        return value

    def read_record(
        self, name: str, kind: type[Record], *, advice: str, schemas: Sequence[int] = ()
    ) -> Record:
        """A JSON object as a record; `advice` says what to do with a file that does not fit."""
        stored = self.read_json(name)
        if schemas and stored.get("schema") not in schemas:
            raise RunError(
                f"{self.path / name} has schema {stored.get('schema')!r}; this version reads "
                f"{' and '.join(map(str, schemas))}. {advice}"
            )
        if seals.OWN in stored and not seals.is_whole(stored):
            raise self._not_as_written(name, name, advice)
        with self._misfits_named(name, advice):
            return read_record(kind, stored)

    def read_checked(self, name: str, kind: GenericAlias | type, *, advice: str) -> dict[str, Any]:
        """A JSON object as it is, if it fits a type."""
        stored = self.read_json(name)
        with self._misfits_named(name, advice):
            read_record(kind, stored)
        return stored

    def read_checked_lines(self, name: str, kind: type, *, advice: str) -> list[dict[str, Any]]:
        """JSON lines as they are, if each fits a type."""
        stored = self.read_lines(name)
        with self._misfits_named(name, advice):
            for number, line in enumerate(stored, start=1):
                read_record(kind, line, f"line {number}")
        return stored

    @contextmanager
    def _misfits_named(self, name: str, advice: str) -> Iterator[None]:
        """Say of a value that does not fit its type in which file it is, and what to do."""
        try:
            yield
        except ConfigError as error:
            raise RunError(
                f"{self.path / name} is not as heedful wrote it: {error} {advice}"
            ) from None

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON object."""
        self.write_bytes(name, json_bytes(value, indent=2))

    def write_sealed(self, name: str, value: Mapping[str, Any], files: Iterable[str]) -> None:
        """Write a JSON object last, with the checksums of other files and its own."""
        self.write_json(name, seals.sealed(self.path, value, files))

    def enter_into_seal(self, file: str) -> None:
        """Add a file that was written later, such as a report, to the seal of an audit."""
        for name in (AUDIT, READINGS):
            if not (self.path / name).is_file():
                continue
            with held(self.path):
                record = self.read_json(name)
                # One that was changed stays as it is, and is noticed.
                if (self.path / file).is_file() and seals.is_whole(record):
                    self.write_json(name, seals.entered(self.path, record, file))

    def is_outside_seal(self, file: str) -> bool:
        """Whether a sealed audit in this folder says nothing about a file."""
        found = [self.read_json(name) for name in (AUDIT, READINGS) if (self.path / name).is_file()]
        return any(seals.is_sealed(record) and file not in record[seals.FILES] for record in found)

    def check_seal(self, name: str, files: Iterable[str], advice: str) -> None:
        """Refuse files that are not as the sealed JSON object of that name says."""
        for change in seals.changes(self.path, self.read_json(name), files):
            if change.what == "missing":
                raise RunError(f"the folder {self.path} is broken: {change.name} is missing.")
            raise self._not_as_written(change.name, name, advice)

    def _not_as_written(self, file: str, sealed_in: str, advice: str) -> RunError:
        return RunError(
            f"{self.path / file} is not the file that heedful wrote (its SHA-256 differs from "
            f"that in {sealed_in}): it was cut short or changed. {advice}"
        )

    def write_lines(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write JSON lines."""
        self.write_bytes(name, b"".join(map(json_bytes, rows)))

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """JSON lines."""
        try:
            return [json.loads(line) for line in self.read_bytes(name).splitlines()]
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.path / name} is not JSON lines: {error}.") from None

    def read_bytes(self, name: str) -> bytes:
        """A whole file."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise RunError(f"the run folder {self.path} is broken: {name} is missing.") from None

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        write_atomically(self.path / name, data)

    def read_tensors(self, name: str) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
        """Tensors and the facts stored with them."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path / name, framework="pt") as stored:
                facts = json.loads((stored.metadata() or {}).get("facts", "{}"))
                return {key: stored.get_tensor(key) for key in stored.keys()}, facts  # noqa: SIM118
        except FileNotFoundError:
            raise RunError(f"the run folder {self.path} is broken: {name} is missing.") from None
        except (SafetensorError, ValueError, RecursionError) as error:
            raise RunError(
                f"{self.path / name} is damaged ({error}). Train the run again."
            ) from None

    def write_tensors(
        self, name: str, tensors: Mapping[str, "Tensor"], facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write tensors with facts beside them, in one file."""
        from safetensors.torch import save

        contiguous = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        write_atomically(
            self.path / name, save(contiguous, {"facts": json.dumps(dict(facts or {}))})
        )

    def read_checkpoint(self, name: str) -> tuple[dict[str, "Tensor"], dict[str, Any]] | None:
        """A training's saved state, if there is one."""
        file = f"checkpoint-{name}.safetensors"
        return self.read_tensors(file) if (self.path / file).is_file() else None

    def write_checkpoint(
        self, name: str, tensors: Mapping[str, "Tensor"], facts: Mapping[str, Any]
    ) -> None:
        """Save a training's state."""
        self.write_tensors(f"checkpoint-{name}.safetensors", tensors, facts)

    def _check_files(self) -> None:
        record, advice = self.read_json(PROVENANCE), "Copy the run again or train it again."
        known = record.get(seals.FILES)
        if not isinstance(known, dict):
            raise RunError(f"{self.path / PROVENANCE} has no checksums: it was changed. {advice}")
        if seals.OWN in record and not seals.is_whole(record):
            raise self._not_as_written(PROVENANCE, PROVENANCE, advice)
        self.check_seal(PROVENANCE, dict.fromkeys((*CHECKSUMMED, *known)), advice)


def folder_name(text: str) -> str:
    """A text as a harmless folder name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "run"
