"""What is done to heedful, and what came of it: each campaign gives counts and defects."""

import errno
import gzip
import io
import json
import random
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heedful import config, runs, verification
from heedful.auditing.results import Audit
from heedful.cli import main, show
from heedful.errors import HeedfulError
from heedful.runs import RunFolder
from heedful.text.datasets.planted import Planted
from heedful.text.readers import read_documents
from heedful.text.vectors import read_vectors
from heedful.training.settings import Settings
from heedful.training.trained import Trained
from tools.harden.mutations import mutated, mutated_bytes
from tools.harden.power_cut import flushed_to_disk
from tools.harden.processes import Ended, at_flush, call, die, start

QUICK = (
    *("--encoder", "embedding", "--optimizer", "adam:learning_rate=0.05", "--epochs", "3"),
    *("--embedding-size", "8", "--dropout", "0", "--split", "spaces", "-q"),
)
ASK = ("--ask", "decisive", "--documents", "60", "-q")
SAME = (runs.MODEL, runs.TOKENIZER, runs.METRICS, runs.AUDIT, runs.PER_EXAMPLE, runs.REPORT)


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
class Bench:
    """A data file, a run and an audit in the working directory, and how much is to be done."""

    share: float  # of the full campaign
    rng: random.Random
    data: str = "data.jsonl"
    run: str = "run"
    audit: str = "audit"

    @classmethod
    def made(cls, share: float, seed: int = 0) -> "Bench":
        """Everything that the campaigns start from."""
        bench = cls(share, random.Random(seed))
        corpus = Planted(documents=400, neutral_vocabulary=60, evidence_vocabulary=5)()
        rows = [{"text": d.text, "label": d.label} for d in corpus.train]
        Path(bench.data).write_text("\n".join(map(json.dumps, rows)))
        for command in (bench.train(bench.run), bench.audited(bench.audit)):
            ended = call(*command)
            assert ended.code == 0, ended.said
        return bench

    def times(self, full: int) -> int:
        """How often, of the number in the full campaign."""
        return max(1, round(full * self.share))

    def train(self, output: str) -> tuple[object, ...]:
        """A training."""
        return ("train", self.data, "-o", output, *QUICK)

    def audited(self, output: str) -> tuple[object, ...]:
        """An audit."""
        return ("audit", self.run, self.data, "-o", output, *ASK)

    def commands(self) -> dict[str, tuple[Callable[[str], tuple[object, ...]], str]]:
        """By name: a command that writes a folder, and where it was written undisturbed."""
        return {"train": (self.train, self.run), "audit": (self.audited, self.audit)}


def _same(one: str, other: str) -> str:
    """Nothing, or how the files of two folders differ, which should be the same."""
    for name in SAME:
        first, second = Path(one, name), Path(other, name)
        if first.is_file() != second.is_file():
            return f"{name} is only in one of {one} and {other}"
        if first.is_file() and first.read_bytes() != second.read_bytes():
            return f"{name} differs between {one} and {other}"
    changed = [one for one in verification.verify(one) if not one.is_unchanged]
    left = [path.name for path in Path(one).iterdir() if _is_left_behind(path.name)]
    return f"{one}: {changed[0]}" if changed else f"{one}: left behind {left}" if left else ""


def _is_left_behind(name: str) -> bool:
    return name.endswith(".part") or name.startswith("checkpoint-")


def _resumed(command: tuple[object, ...], output: str, whole: str) -> str:
    """Nothing, or what is wrong after a command that was interrupted is resumed."""
    ended = call(*command, "--resume")
    found = ended.said[-300:] if ended.code else _same(output, whole)
    shutil.rmtree(output, ignore_errors=True)
    return found


def _flushes(command: tuple[object, ...]) -> int:
    """How often a command flushes something to disk."""
    counted = Path("counted")

    def before() -> None:
        import os

        real = os.fsync

        def fsync(descriptor: int) -> None:
            with counted.open("a") as file:
                file.write(".")
            real(descriptor)

        os.fsync = fsync  # type: ignore[assignment]

    counted.write_text("")
    call(*command, before=before)
    shutil.rmtree(str(command[command.index("-o") + 1]))
    return len(counted.read_text())


def kills_at_flushes(bench: Bench) -> Iterator[Found]:
    """Killed whenever something is flushed to disk, then resumed to the same files."""
    for name, (command, whole) in bench.commands().items():
        found = Found(f"{name}: kill -9 at a flush, then --resume")
        flushes = range(1, _flushes(command("out")) + 1)
        for number in bench.rng.sample(flushes, min(len(flushes), bench.times(len(flushes)))):
            killed = call(*command("out"), before=at_flush(number, die))
            is_killed = killed.code == -signal.SIGKILL
            found.count("" if is_killed else f"flush {number}: code {killed.code}")
            found.defects += filter(None, [_resumed(command("out"), "out", whole)])
        yield found


def kills_at_random(bench: Bench) -> Iterator[Found]:
    """Killed at a random moment, then resumed to the same files."""
    for name, (command, whole) in bench.commands().items():
        found = Found(f"{name}: kill -9 at a random moment, then --resume")
        for _ in range(bench.times(40)):
            start(*command("out")).end(kill_after=bench.rng.uniform(0, 1.5))
            found.count(_resumed(command("out"), "out", whole))
        yield found


def power_cuts(bench: Bench) -> Iterator[Found]:
    """The power is cut after success (all must be there) and at a flush (it must be resumable)."""
    for name, (command, whole) in bench.commands().items():
        found = Found(f"{name}: simulated power cut, then what was flushed is read or resumed")
        flushes = range(1, _flushes(command("cut/out")) + 1)
        chosen = bench.rng.sample(flushes, min(len(flushes), bench.times(len(flushes))))
        for number in [*chosen, None]:
            Path("cut").mkdir(exist_ok=True)
            _run_until_power_cut(command("cut/out"), number)
            shutil.rmtree("cut")
            if number is None:
                found.count(_same("left/out", whole))
            else:
                found.count(_resumed(command("left/out"), "left/out", whole))
            shutil.rmtree("left")
        yield found


def _run_until_power_cut(command: tuple[object, ...], flush: int | None) -> None:
    """Leave in `left` what of `cut` is on disk at a flush, or after the end."""
    import os

    process = os.fork()
    if process:
        os.waitpid(process, 0)
        return
    try:
        with flushed_to_disk(Path("cut")) as disk:

            def cut() -> None:
                disk.restore(Path("left"))
                die()

            if flush is not None:
                at_flush(flush, cut)()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                _in_process(command)
            disk.restore(Path("left"))
    finally:
        os._exit(0)


def full_disks(bench: Bench) -> Iterator[Found]:
    """No space at a flush, or a limit on the size of files: a sentence, exit code 3, resumable."""

    def no_space() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    for name, (command, whole) in bench.commands().items():
        found = Found(f"{name}: disk full or files limited, then --resume")
        for number in range(1, 1 + bench.times(10)):
            ended = call(*command("out"), before=at_flush(2 * number - 1, no_space))
            is_told = ended.code == 3 and "the disk is full" in ended.said
            found.count("" if is_told or ended.code == 0 else _said(ended))
            found.defects += filter(None, [_resumed(command("out"), "out", whole)])
        ended = call(*command("out"), before=small_files)
        found.count("" if ended.code == 3 else _said(ended))
        shutil.rmtree("out", ignore_errors=True)
        yield found


def two_writers(bench: Bench) -> Iterator[Found]:
    """Two processes that write one folder: one is refused, and nothing is mixed."""
    for name, (command, whole) in bench.commands().items():
        found = Found(f"{name}: two writers of one folder")
        for _ in range(bench.times(10)):
            both = [start(*command("out")) for _ in range(2)]
            codes = sorted(one.end().code for one in both)
            is_right = codes == [0, 2]
            found.count(_same("out", whole) if is_right else f"exit codes {codes}")
            shutil.rmtree("out", ignore_errors=True)
        yield found


def mutated_files(bench: Bench) -> Iterator[Found]:
    """Files of every kind with other bytes or types: refused in a sentence, or read."""
    rng = np.random.default_rng(bench.rng.randrange(2**31))
    rows = b"text,label\na b,x\nc d,y\ne f,x\n"
    jsonl = b'{"text": "a b", "label": "x"}\n{"text": "c", "label": "y"}\n'
    whole = {
        "data.csv": rows, "data.tsv": rows.replace(b",", b"\t"), "data.jsonl": jsonl,
        "data.csv.gz": gzip.compress(rows), "data.txt": b"a\nb\n",
        "data.parquet": Path(bench.audit, runs.PER_EXAMPLE).read_bytes(),
    }  # fmt: skip
    for name, data in whole.items():
        found, place = Found(f"{name} with other bytes"), Path("mutated") / name
        place.parent.mkdir(exist_ok=True)
        for _ in range(bench.times(800)):
            place.write_bytes(mutated_bytes(data, rng))
            found.count(_defect(partial(read_documents, place, needs_labels=False)))
        yield found
    yield _vectors(bench, rng)
    yield _settings(bench, rng)
    yield from _runs(bench, rng)
    yield _audits(bench, rng)


def _vectors(bench: Bench, rng: np.random.Generator) -> Found:
    found, place = Found("word vectors with other bytes"), Path("mutated/vectors.txt")
    for _ in range(bench.times(800)):
        place.write_bytes(mutated_bytes(b"2 3\na 1 2 3\nb 0.5 1e3 -4\n", rng))
        found.count(_defect(lambda: read_vectors(place, {"a": 0, "b": 1})))
    return found


def _settings(bench: Bench, rng: np.random.Generator) -> Found:
    found, place = Found("settings files with other bytes or types"), Path("mutated/settings.toml")
    text = b'[model]\nencoder = "bilstm"\n[training]\nseed = 3\nrecipe = "tying:epochs=2"\n'
    plain = Settings().plain()
    for number in range(bench.times(2400)):
        if number % 2:
            place.write_bytes(mutated_bytes(text, rng))
            found.count(_defect(lambda: Settings.from_plain(config.read_toml(place))))
        else:
            changed = mutated(plain, rng)
            found.count(_defect(partial(Settings.from_plain, changed)))
    return found


def _runs(bench: Bench, rng: np.random.Generator) -> Iterator[Found]:
    shutil.copytree(bench.run, "mutated/run")
    folder = RunFolder("mutated/run")
    whole = {name: folder.read_bytes(name) for name in (*runs.CHECKSUMMED, runs.PROVENANCE)}
    provenance = json.loads(whole[runs.PROVENANCE])

    def use() -> None:
        trained = Trained.load(folder.path)
        show.score_line(trained)
        trained.describe()

    for name, data in whole.items():
        found = Found(f"{name} of a run with other bytes or types, sealed again")
        for number in range(bench.times(160)):
            changed, kept = mutated_bytes(data, rng), provenance
            if name.endswith(".json") and number % 2:
                changed = json.dumps(mutated(json.loads(data), rng)).encode()
                kept = json.loads(changed) if name == runs.PROVENANCE else provenance
            if name != runs.PROVENANCE:
                (folder.path / name).write_bytes(changed)
            folder.write_sealed(runs.PROVENANCE, kept, runs.CHECKSUMMED)
            found.count(_defect(use))
        (folder.path / name).write_bytes(data)
        yield found


def _audits(bench: Bench, rng: np.random.Generator) -> Found:
    shutil.copytree(bench.audit, "mutated/audit")
    folder, found = RunFolder("mutated/audit"), Found("audits with other types, sealed again")
    stored = folder.read_json(runs.AUDIT)
    for _ in range(bench.times(600)):
        folder.write_sealed(runs.AUDIT, mutated(stored, rng), [runs.PER_EXAMPLE])
        found.count(_defect(lambda: list(show.audited(Audit.load(folder.path)))))
    return found


WORDS = (
    *(
        "run",
        "audit",
        "data.jsonl",
        "no-such",
        "",
        "-",
        "--",
        "a b",
        "\x1b[31m",
        "🙂",
        "../..",
        "/",
    ),
    *("--json", "--audit", "--risk", "--measure", "--device", "-o", "out", "--resume", "--set"),
    *("--file", "--documents", "--ask", "--seed", "--tolerate", "--data", "--html", "--epochs"),
    *("nan", "-1", "1e999", "0", "99999999999999999999", "x" * 5000, "a=b", "{}", "[", "%s", "cpu"),
    *("attention", "telling", "planted", "epochs=0", "hidden_size=9e9", "\ud800"),
)
COMMANDS = ("predict", "explain", "verify", "list", "compare", "audit", "train", "serve", "analyse")


def command_lines(bench: Bench) -> Iterator[Found]:
    """Words in random order: exit code 0, 1, 2 or 3, and no control character."""
    found = Found("command lines of random words")
    for _ in range(bench.times(1500)):
        words = bench.rng.choices(WORDS, k=bench.rng.randrange(1, 7))
        command = bench.rng.choice(COMMANDS)
        given = ("--host", "256.0.0.1") if command == "serve" else ()  # it would serve for ever
        found.count(_line_defect((command, *words, *given)))
        shutil.rmtree("out", ignore_errors=True)
    yield found


def _line_defect(words: tuple[str, ...], fine: tuple[int, ...] = (0, 1, 2, 3)) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = _in_process(words)
        except Exception as error:  # noqa: BLE001  (what the campaign looks for)
            return f"{words}: {type(error).__name__}: {error}"[:300]
    said = out.getvalue() + err.getvalue()
    if code not in fine:
        return f"{words}: exit code {code}: {said[-200:]}"
    steering = re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202a-\u202e\u2066-\u2069]", said)
    return f"{words}: {steering[0]!r} in what it printed" if steering else ""


def _in_process(words: tuple[object, ...]) -> int:
    sys.argv = ["heedful", *map(str, words)]
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)


HOSTILE = (
    "<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "\x1b[2J\x1b]0;own\x07",
    "\u202eevil\u202c", "=cmd|' /C calc'!A0", "{{7*7}}", "a\x00b", "\ud83d half", "${jndi:ldap://x}",
    "</script><script>alert(1)", "javascript:alert(1)", "%s%n", "'; DROP TABLE x; --", "\r\nX: y",
)  # fmt: skip


def hostile_texts(bench: Bench) -> Iterator[Found]:
    """Texts and labels that attack what shows them: terminal, JSON, HTML report."""
    found = Found("hostile texts and labels through terminal, JSON and report")
    attacks = bench.rng.sample(HOSTILE, bench.times(len(HOSTILE)))
    for attack in attacks:
        rows = [{"text": f"{attack} w{n} v{n % 7}", "label": f"{attack}{n % 2}"} for n in range(80)]
        Path("hostile.jsonl").write_text("\n".join(map(json.dumps, rows)))
        for words in (
            ("train", "hostile.jsonl", "-o", "hostile", *QUICK),
            ("explain", "hostile", attack + " w1"),
            ("predict", "hostile", attack, "--json"),
            ("audit", "hostile", "hostile.jsonl", "-o", "hostile-audit", "--include-trained", *ASK),
        ):
            found.count(_line_defect(words, (0,)))
        report = Path("hostile-audit", runs.REPORT)
        text = report.read_text() if report.is_file() else ""
        is_raw = "<" in attack and (attack in text)
        found.count(f"{attack!r} is in the report as it is" if is_raw else "")
        for place in ("hostile", "hostile-audit"):
            shutil.rmtree(place, ignore_errors=True)
    yield found


def malformed_requests(bench: Bench) -> Iterator[Found]:
    """Bodies that are no form, or one with other types: no answer is a failure of the server."""
    from starlette.testclient import TestClient

    from heedful.web import create_app

    rng, found = np.random.default_rng(0), Found("malformed requests to the server")
    form: dict[str, Any] = {"text": "a b c", "measures": ["attention"], "deleted": [0], "runs": []}
    whole = json.dumps(form).encode()
    places = ("runs/run/explain", "runs/run/attend", "runs/run/replace", "compare")
    with TestClient(create_app([bench.run, bench.audit]), base_url="http://127.0.0.1") as client:
        for number in range(bench.times(1200)):
            data = mutated_bytes(whole, rng) if number % 2 else json.dumps(mutated(form, rng))
            answer = client.post(f"/api/{places[number % 4]}", content=data)
            is_right = answer.status_code < 500
            found.count("" if is_right else f"{data!r}: {answer.status_code} {answer.text[:200]}")
    yield found


def _defect(use: Callable[[], object]) -> str:
    """Nothing, if it works or is refused in a sentence."""
    try:
        use()
    except HeedfulError:
        return ""
    except Exception as error:  # noqa: BLE001  (what the campaign looks for)
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def _said(ended: Ended) -> str:
    return f"exit code {ended.code}: {ended.said[-300:]}"


CAMPAIGNS: tuple[Callable[[Bench], Iterator[Found]], ...] = (
    kills_at_flushes,
    kills_at_random,
    power_cuts,
    full_disks,
    two_writers,
    hostile_texts,
    command_lines,
    mutated_files,
    malformed_requests,
)
