"""What `heedful serve` does when many ask at once: speed, waiting, memory, and a line too long.

    python benchmarks/serve_load.py [--seconds 60] [--clients 64] [--crowd 400] [--rows 50000]

First so many clients ask without a pause: explanations, drags, pages of documents, the list of what
is served, all with random texts. The server's memory (resident set) is looked at each second; it
should not grow once the first ten are over. Then a crowd asks that is larger than the line has
places: a client that finds none should be told at once, and retries when told to. When the crowd
leaves, the next request should be answered as if there had been none. Server and clients share two
cores. Exits with 1 if anything but an answer, or a sentence that says to come back, arrives.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import machine
import numpy as np
import served
import torch

WARM_UP = 10  # seconds
CORES = 2
CROWDED = 5  # seconds
ALONE = 3  # seconds
LONG = 500  # milliseconds: who waits longer notices


@dataclass(frozen=True)
class Answer:
    """What a client got, and when."""

    status: int
    headers: dict[str, str]
    body: bytes
    milliseconds: float

    @property
    def waited(self) -> float:
        """How long it stood in line, by the server's clock."""
        wait, _, _ = self.headers.get("server-timing", "wait;dur=0,").partition(",")
        return float(wait.removeprefix("wait;dur="))

    @property
    def is_fine(self) -> bool:
        """Whether it is what was asked for, or says when to come back."""
        says_when = self.status == 503 and "retry-after" in self.headers
        return self.status == 200 or (says_when and self.sentence.endswith("."))

    @property
    def sentence(self) -> str:
        """What it says instead of an answer; nothing where it says nothing to a person."""
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(self.body)["message"])
        return ""


class Client:
    """A visitor with a connection of its own, who asks one thing after another."""

    def __init__(self, server: served.Server, seed: int) -> None:
        self.server = server
        self.texts = served.Texts(seed)

    async def ask_on(self, until: float, answers: list[Answer]) -> None:
        """Ask without a pause until it is time to stop; come back when told to."""
        reader, writer = await asyncio.open_connection(self.server.host, self.server.port)
        try:
            while time.monotonic() < until:
                answer = await self._ask(reader, writer, *self._whim())
                answers.append(answer)
                if answer.status == 503:
                    await asyncio.sleep(float(answer.headers.get("retry-after", 1)))
        except (OSError, asyncio.IncompleteReadError) as error:
            answers.append(Answer(0, {}, f"connection lost: {error}".encode(), math.nan))
        finally:
            writer.close()

    def _whim(self) -> tuple[str, served.Form | None]:
        rng = self.texts.rng
        kind = rng.choices(["explain", "attend", "documents", "served"], [40, 40, 15, 5])[0]
        if kind == "served":
            return "/api/served", None
        if kind == "documents":
            low, offset = rng.random() / 2, rng.randrange(0, 5000, 50)
            query = f"where=max_weight:[{low:.4f},]&sort=probability&offset={offset}"
            return f"/api/audits/{served.AUDIT}/documents?{query}", None
        words = rng.randint(5, 60)
        form: served.Form = {"text": self.texts.of(words)}
        if kind == "attend":
            form["weights"] = self.texts.shares(words)
        return f"/api/runs/{quote(self.server.run)}/{kind}", form

    async def _ask(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: str,
        form: served.Form | None,
    ) -> Answer:
        body = b"" if form is None else json.dumps(form).encode()
        began = time.perf_counter()
        writer.write(
            f"{'GET' if form is None else 'POST'} {path} HTTP/1.1\r\n"
            f"host: {self.server.host}:{self.server.port}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        pairs = (line.partition(": ") for line in lines if line)
        headers = {name.lower(): value for name, _, value in pairs}
        said = await reader.readexactly(int(headers["content-length"]))
        return Answer(int(first.split()[1]), headers, said, (time.perf_counter() - began) * 1000)


async def under_load(
    server: served.Server, clients: int, seconds: float
) -> tuple[list[Answer], list[float]]:
    """All answers of the main part, and the server's memory in MiB at each second."""
    answers: list[Answer] = []
    began = time.monotonic()
    asking = asyncio.gather(
        *(Client(server, seed).ask_on(began + seconds, answers) for seed in range(clients))
    )
    memory = []
    while time.monotonic() < began + seconds:
        await asyncio.sleep(1)
        memory.append(server.status_line("VmRSS") / 1024)
    await asking
    return answers, memory


async def crowded(server: served.Server, clients: int) -> tuple[list[Answer], list[Answer]]:
    """Answers while a crowd asks, and those of one client once all others have left."""
    answers: list[Answer] = []
    until = time.monotonic() + 2 * CROWDED
    crowd = [Client(server, 1000 + seed).ask_on(until, answers) for seed in range(clients)]
    with suppress(TimeoutError):
        async with asyncio.timeout(CROWDED):  # nobody waits for the answer to the last question
            await asyncio.gather(*crowd)
    afterwards: list[Answer] = []
    await Client(server, 1).ask_on(time.monotonic() + ALONE, afterwards)
    return answers, afterwards


def told(name: str, answers: list[Answer], seconds: float) -> str:
    """Some answers in a line."""
    counts = Counter(answer.status for answer in answers)
    by_status = ", ".join(f"{count:,} × {status}" for status, count in sorted(counts.items()))
    served_times = [answer.milliseconds for answer in answers if answer.status == 200] or [np.nan]
    waiting = sum(answer.waited > LONG for answer in answers)
    return (
        f"{name}: {by_status} in {seconds:.0f} s, {counts[200] / seconds:.0f} answers/s; "
        f"median {np.median(served_times):,.0f} ms, 95 % {np.percentile(served_times, 95):,.0f} "
        f"ms, maximum {max(served_times):,.0f} ms; {waiting:,} waited over {LONG} ms"
    )


def memory_told(memory: list[float]) -> str:
    """What became of the memory."""
    later = memory[WARM_UP:]
    slope = np.polyfit(np.arange(len(later)), later, 1)[0] * 60
    return (
        f"memory: {later[0]:.0f} MiB after {WARM_UP} s, {later[-1]:.0f} MiB at the end, "
        f"{max(later):.0f} MiB at most; slope {slope:+.1f} MiB/min"
    )


def main() -> None:
    """Print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--crowd", type=int, default=400)
    parser.add_argument("--rows", type=int, default=50_000, help="of the audit")
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    with tempfile.TemporaryDirectory() as folder:
        folders = served.make(Path(folder), options.rows, options.run)
        with served.serving(folders, sorted(os.sched_getaffinity(0))[:CORES]) as server:
            before, load = server.status_line("VmRSS") / 1024, os.getloadavg()[0]
            print(f"server: {CORES} cores, {before:.0f} MiB; load average {load:.1f}", flush=True)
            answers, memory = asyncio.run(under_load(server, options.clients, options.seconds))
            print(told(f"{options.clients} clients", answers, options.seconds))
            print(f"{memory_told(memory)}; {server.status_line('Threads')} threads", flush=True)
            crowd, afterwards = asyncio.run(crowded(server, options.crowd))
            print(told(f"{options.crowd} clients", crowd, CROWDED))
            if sent_back := [answer for answer in crowd if answer.status == 503]:
                soon = np.median([answer.milliseconds for answer in sent_back])
                again = sent_back[0].headers.get("retry-after")
                print(
                    f"  503 after {soon:.0f} ms in the median, the first with Retry-After: {again}"
                )
                print(f"  and {sent_back[0].sentence!r}")
            print(told("one client right afterwards", afterwards, ALONE))
            first = afterwards[0]
            print(f"  its first answer: {first.status}, after {first.milliseconds:.0f} ms")
    everything = [*answers, *crowd, *afterwards]
    wrong = Counter(
        (answer.status, answer.sentence or answer.body[:200])
        for answer in everything
        if not answer.is_fine
    )
    for (status, said), count in wrong.most_common(10):
        print(f"WRONG, {count:,} times: {status}, {said!r}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
