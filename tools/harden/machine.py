"""A machine that gives out: no space, no memory, no permission. A sentence, and nothing is lost."""

import errno
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from heedful import storage
from tools.harden.bench import AUDIT, DATA, MODEL, QUICK, RUN, Bench, Found, commands
from tools.harden.processes import Ended, Moments, call, failing, in_order

NOBODY = 65534
# What a disk may say at a flush or a move, and what must be read in the sentence.
DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
    errno.EROFS: "Read-only file system",
    errno.EIO: "Input/output error",
    errno.EACCES: "Permission denied",
}
ATTEMPTS = {"train": 10, "audit": 6, "heal": 4, "sweep": 6, "calibrate": 3}


def failing_disks(bench: Bench, name: str) -> Iterator[Found]:
    """The disk is full, broken or read-only at some write: exit code 3, resumable."""
    command = commands()[name]
    found = Found(f"{name}: disk full, broken or read-only at a write, then resumed")
    moments = Moments()
    assert command.call("out", moments.before).code == 0
    shutil.rmtree("out")
    for _ in range(bench.times(ATTEMPTS[name])):
        number, kind = bench.rng.randint(1, moments.count), bench.rng.choice([*DISK_ERRORS])
        ended = command.call("out", Moments(number, failing(kind)).before)
        found.count(_told(ended, DISK_ERRORS[kind], name, f"moment {number}"))
        found.defects += filter(None, [command.resumed("out")])
    yield found


def _told(ended: Ended, sentence: str, name: str, where: str) -> str:
    """Nothing, if the sentence is told with code 3; the flush of a folder is no write of it.

    A cell of a sweep that fails is a row of its table: exit code 1.
    """
    is_cell = name in ("sweep", "calibrate") and ended.code in (0, 1)
    is_told = ended.code == 3 and sentence in ended.said
    return "" if is_told or is_cell or ended.code == 0 else f"{where}: {ended}"


def limited_files(bench: Bench, name: str) -> Iterator[Found]:
    """A limit on the size of files (`ulimit -f`): exit code 3, and without it, resumable."""
    command = commands()[name]
    found = Found(f"{name}: files limited in size, then resumed")

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does when it starts
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    ended = command.call("out", small_files)
    found.count("" if ended.code == 3 and "the disk is full" in ended.said else str(ended))
    found.defects += filter(None, [command.resumed("out")])
    yield found


def low_memory(bench: Bench) -> Iterator[Found]:
    """Memory runs out: exit code 3 and a sentence, and what was saved is resumed."""
    found = Found("memory runs out: by a limit of the system, or at some allocation, then resumed")
    wide = ("train", DATA, "-o", "out", "--encoder", "bilstm:hidden_size=40000", "-q")
    found.count(_is_out_of_memory(call(*wide, before=_little_memory)))
    shutil.rmtree("out", ignore_errors=True)
    for name in ("train", "audit", "heal"):
        command = commands()[name]
        for _ in range(bench.times(5)):
            ended = command.call("out", _fail_at(bench.rng.randint(1, 40)))
            found.count("" if ended.code == 0 else _is_out_of_memory(ended))
            # Read in smaller batches, the losses of `heal` differ in their eighth digit.
            if ended.code == 0 and name == "heal":
                shutil.rmtree("out", ignore_errors=True)
            else:
                found.defects += filter(None, [command.resumed("out")])
    yield found


def _is_out_of_memory(ended: Ended) -> str:
    return "" if ended.code == 3 and "out of memory" in ended.said else str(ended)


def _little_memory() -> None:
    """Let the system refuse to give this process much more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _fail_at(number: int) -> Callable[[], None]:
    """Let an allocation fail as it fails in PyTorch, or in Python where the number is even."""

    def before() -> None:
        import torch
        from torch.nn import functional

        count, real = 0, functional.embedding

        def embedding(*given: object, **named: object) -> torch.Tensor:
            nonlocal count
            count += 1
            if count == number and number % 2:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp:1] can't allocate memory")
            if count == number:
                raise MemoryError
            return real(*given, **named)  # type: ignore[arg-type]

        functional.embedding = embedding

    return before


def no_permission(bench: Bench) -> Iterator[Found]:
    """Another user's files and folders: exit code 2 or 3 and a sentence, nothing changed."""
    found = Found("no permission to read or to write, as another user")
    if os.getuid():
        return  # only root can become another user
    for folder in (RUN, AUDIT, MODEL):
        shutil.copytree(folder, f"closed-{folder}")
        Path(f"closed-{folder}").chmod(0o700)
    shutil.copytree(RUN, "closed-file")
    Path("closed-file/model.safetensors").chmod(0o600)
    Path("closed.jsonl").write_bytes(Path(DATA).read_bytes())
    Path("closed.jsonl").chmod(0o600)
    Path("ours").mkdir(mode=0o755)
    Path("theirs").mkdir()
    os.chown("theirs", NOBODY, NOBODY)
    written = [(name, one.words("ours/out"), one.before) for name, one in commands().items()]
    for name, words, before in written:
        ended = call(*words, before=in_order(before, _become_nobody))
        is_told = ended.code == 3 and "could not be written: Permission denied" in ended.said
        found.count("" if is_told else f"{name}: {ended}")
    for words in (
        ("train", "closed.jsonl", "-o", "theirs/out", *QUICK),
        ("train", DATA, "-o", "theirs/out", "--config", "closed.jsonl", *QUICK),
        ("predict", "closed-run", "a b"), ("predict", "closed-file", "a b"),
        ("predict", RUN, "a b", "--audit", "closed-audit", "--json"),
        ("predict", RUN, "--file", "closed.jsonl"), ("explain", "closed-run", "a b"),
        ("audit", "closed-run", DATA), ("audit", RUN, "closed.jsonl"),
        ("audit", RUN, DATA, "--attributions", "closed.jsonl"),
        ("audit", "hf:closed-model", DATA), ("heal", "hf:closed-model", DATA, "-o", "theirs/out"),
        ("verify", "closed-run"), ("verify", "closed-audit"), ("verify", "closed-file"),
        ("serve", "closed-run", "--port", "0"), ("serve", "closed-audit", "--port", "0"),
        ("sweep", "closed.jsonl", "-o", "theirs/out"), ("analyse", "statistics", "closed.jsonl"),
        ("compare", "closed-run", RUN, "--data", DATA), ("explain", RUN, "a b", "--html", "ours/x"),
    ):  # fmt: skip
        ended = call(*words, before=_become_nobody)
        found.count("" if ended.code in (2, 3) and ended.said.strip() else f"{words}: {ended}")
        for left in Path("theirs").iterdir():
            found.defects.append(f"{words}: left {left}")
            storage.remove(left)
    if any(Path("ours").iterdir()):
        found.defects.append("something was written where nothing may be")
    for command in commands().values():
        if command.name in ("train", "audit", "heal"):
            found.defects += filter(None, [_taken_over(command.name)])
            found.count()
    yield found


def _taken_over(name: str) -> str:
    """Nothing, if another user cannot resume ours, and we then can."""
    command = commands()[name]
    command.call("out", Moments(12, _kill).before)
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    given = (*command.words("out"), *command.resumes_with)
    ended = call(*given, before=_become_nobody)
    after = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    resumed = command.resumed("out")
    if ended.code != 3 or "Permission denied" not in ended.said:
        return f"{name} --resume as another user: {ended}"
    return resumed if before == after else f"{name}: another user changed ours"


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
