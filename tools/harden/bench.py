"""What the campaigns start from: documents, models, commands that write folders; and counts."""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heedful import runs, verification
from heedful.jobs.folder import DONE
from heedful.runs import RunFolder
from heedful.storage import is_leftover
from heedful.text.datasets.planted import Planted
from tools.harden.processes import Before, Ended, call, in_order, nothing
from tools.harden.workers import fork_workers

QUICK = (
    *("--encoder", "embedding", "--optimizer", "adam:learning_rate=0.05", "--epochs", "3"),
    *("--embedding-size", "8", "--dropout", "0", "--split", "spaces", "-q"),
)
ASK = ("--ask", "decisive", "--documents", "60", "-q")
GRID = """data = "planted:documents=200:neutral_vocabulary=60"
seeds = [1, 2]
analyse = ["word-scores"]
[model]
encoder = "embedding"
embedding_size = 4
dropout = 0.0
[training]
recipe = "standard:epochs=1"
[audit]
documents = 20
ask = ["decisive"]
"""
DATA, RUN, AUDIT, MODEL = "data.jsonl", "run", "audit", "model"
TIMES = ("seconds", "finished", "train_seconds", "audit_seconds", "analysis_seconds", "command")
CHECKSUMS = ("seal", "sha256")  # of files with times in them too


@dataclass
class Found:
    """What a campaign came to."""

    name: str
    tried: int = 0
    defects: list[str] = field(default_factory=list)

    def count(self, defect: str = "") -> None:
        """One more attempt, and what was wrong with what came of it."""
        self.tried += 1
        if defect:
            self.defects.append(defect)


@dataclass(frozen=True)
class Command:
    """A command that writes a folder, and how it is resumed."""

    name: str
    words: Callable[[str], tuple[object, ...]]  # for an output folder
    resumes_with: tuple[str, ...] = ("--resume",)
    before: Before = nothing  # what its process does first

    @property
    def whole(self) -> str:
        """Where it was written undisturbed."""
        return {"train": RUN, "audit": AUDIT}.get(self.name, f"whole-{self.name}")

    def call(self, output: str, before: Before = nothing) -> Ended:
        """Do it."""
        return call(*self.words(output), before=in_order(self.before, before))

    def resumed(self, output: str) -> str:
        """Nothing, or what is wrong after it was interrupted and is resumed."""
        given = (*self.words(output), *self.resumes_with)
        ended = call(*given, before=self.before)
        found = str(ended) if ended.code else self.difference(output)
        shutil.rmtree(output, ignore_errors=True)
        return found

    def difference(self, output: str) -> str:
        """Nothing, or how its folder differs from the one that was written undisturbed."""
        here, there = (dict(_contents(Path(one))) for one in (output, self.whole))
        for name in sorted(here.keys() ^ there.keys()):
            return f"{name} is only in one of {output} and {self.whole}"
        for name, content in here.items():
            if content != there[name]:
                return f"{name} differs between {output} and {self.whole}"
        broken = [one for one in verification.verify(output) if not one.is_unchanged]
        return f"{output}: {broken[0]}" if broken else ""


def commands() -> dict[str, Command]:
    """Every command that writes a folder, by name."""
    found = (
        Command("train", lambda output: ("train", DATA, "-o", output, *QUICK)),
        Command("audit", lambda output: ("audit", RUN, DATA, "-o", output, *ASK)),
        Command(
            "heal",
            lambda output: ("heal", f"hf:{MODEL}", DATA, "-o", output, "--epochs", "2", "-q"),
        ),
        Command(
            "sweep",
            lambda output: ("sweep", "grid.toml", "-o", output, "--cores", "1", "-q"),
            (),
            fork_workers,
        ),
        Command(
            "calibrate",
            lambda output: ("calibrate", "-o", output, "--cores", "1", "-q"),
            (),
            in_order(fork_workers, _take_small_zoo),
        ),
    )
    return {one.name: one for one in found}


@dataclass(frozen=True)
class Bench:
    """The files below are in the working directory; and how much is to be done."""

    share: float  # of the full campaign
    rng: random.Random

    def times(self, full: int) -> int:
        """How often, of the number in the full campaign."""
        return max(1, round(full * self.share))


def make_bench() -> None:
    """Write everything that the campaigns start from into the working directory."""
    corpus = Planted(documents=400, neutral_vocabulary=60, evidence_vocabulary=5)()
    rows = [{"text": d.text, "label": d.label} for d in corpus.train]
    Path(DATA).write_text("\n".join(map(json.dumps, rows)))
    Path("grid.toml").write_text(GRID)
    _save_model(Path(MODEL), sorted({word for d in corpus.train for word in d.text.split()}))
    for command in commands().values():
        ended = command.call(command.whole)
        assert ended.code == 0, ended.said


def _save_model(folder: Path, words: list[str]) -> None:
    """A tiny random BERT whose weights are so large that it decides for both classes."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    vocabulary = {word: number for number, word in enumerate([*special.values(), *words])}
    raw = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = WhitespaceSplit()
    raw.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=raw, **special).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # safetensors keeps it from other users


def _take_small_zoo() -> None:
    """From now on, let the zoo be one trained kind and one that is built, on few documents."""
    from heedful.calibration import calibrate
    from heedful.calibration.zoo import read_zoo

    zoo = read_zoo()
    settings = [
        replace(setting, data="planted:documents=300")
        for setting in zoo.settings
        if setting.name == "short-one"
    ]
    kinds = [
        replace(kind, settings=("short-one",), deep=(), checks={"accuracy": (0.0,)})
        for kind in zoo.kinds
        if kind.name == "honest"
    ]
    exact = [
        replace(kind, architectures=("module",), settings=("short-one",), values=(0.5,))
        for kind in zoo.exact
        if kind.name == "false on some documents"
    ]
    small = replace(
        zoo,
        settings=tuple(settings),
        kinds=tuple(kinds),
        exact=tuple(exact),
        audit={**zoo.audit, "documents": 20, "ask": ["decisive", "telling"]},
    )
    setattr(calibrate, "read_zoo", lambda: small)  # noqa: B010


def _contents(folder: Path) -> Iterator[tuple[str, object]]:
    """Every file below a folder without the times in it; what is left behind is named too."""
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.name.endswith(".lock"):  # no content: it is the process that locks
            continue
        if is_leftover(path) or path.name.startswith("checkpoint-"):
            yield f"{name} (left behind)", b""
        elif path.is_file():
            yield name, _content(path)


def _content(path: Path) -> object:
    if path.name in (DONE, runs.PROVENANCE, "calibration.json", "operating_points.json"):
        return _timeless(RunFolder(path.parent).read_json(path.name))
    if path.name == runs.HISTORY:
        return _timeless(RunFolder(path.parent).read_lines(path.name))
    if path.name in (runs.RESULTS, runs.ANALYSES):
        import pyarrow.parquet

        return _timeless(pyarrow.parquet.read_table(path).to_pylist())
    return re.sub(rb"<li>finished: [^<]*", b"", path.read_bytes())


def _timeless(value: Any) -> Any:
    """The same without what differs from call to call: times, and checksums of files with times."""
    if isinstance(value, dict):
        dropped = (*TIMES, *CHECKSUMS)
        return {name: _timeless(one) for name, one in value.items() if name not in dropped}
    return [_timeless(one) for one in value] if isinstance(value, list) else value
