"""Work for jobs: functions that another process can import, and none that imports torch."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from heedful.errors import DataError


def note_run(folder: Path) -> int:
    """How often work was begun in this folder, this time included."""
    with (folder / "runs").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len((folder / "runs").read_text().split())


def write(folder: Path, tell, text: str = "x") -> None:
    note_run(folder)
    (folder / "text").write_text(text)


def tell_all(folder: Path, tell) -> None:
    tell(0.25, "a quarter")
    tell(0.5, "half")
    tell(7.0, "too much")


def copy_from(folder: Path, tell, other: Path) -> None:
    (folder / "text").write_text((other / "text").read_text() + "!")


def refuse(folder: Path, tell) -> None:
    raise DataError("there is no document to train on.")


def stumble(folder: Path, tell) -> None:
    raise ZeroDivisionError("by zero")


def fill_memory(folder: Path, tell) -> None:
    raise RuntimeError("CUDA out of memory. Tried to allocate 798.00 MiB. Process 7 has 1.87 GiB.")


def leave(folder: Path, tell, code: int) -> None:
    note_run(folder)
    os._exit(code)


def exit_politely(folder: Path, tell) -> None:
    sys.exit(4)


def die(folder: Path, tell, times: int) -> None:
    """Be killed as the kernel kills when memory runs out, so many times."""
    if note_run(folder) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / "text").write_text("x")


def talk(folder: Path, tell) -> None:
    sys.stdout.write("on standard output\n")
    os.write(2, b"from below\n")


def wait_for(folder: Path, tell, file: Path) -> None:
    """Go on once a file is there; the test that forgets it waits a minute."""
    note_run(folder)
    for _ in range(6000):
        if file.exists():
            return
        time.sleep(0.01)


def describe_process(folder: Path, tell) -> None:
    facts = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "has_torch": "torch" in sys.modules,
        "threads": os.environ["OMP_NUM_THREADS"],
        "heeds_ctrl_c": signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, []),
    }
    (folder / "facts").write_text(json.dumps(facts))


def count_torch_threads(folder: Path, tell) -> None:
    import torch

    (folder / "threads").write_text(str(torch.get_num_threads()))
