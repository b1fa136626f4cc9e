"""How long one person waits for `heedful serve`: BiLSTM(128) + additive, texts of 30 words.

    python benchmarks/serve_latency.py [--repeats 200] [--rows 50000] [--run RUN]

The server has one core to itself and one request at a time, over HTTP on a connection that is kept.
Times are what the client sees, from sending to the last byte; "work" is what the server says it
took of that. Every text is new, so nothing is answered from memory but what a drag asks again.
Without a run, one is trained for an epoch on 2,000 sentences; documents are asked of an audit with
`--rows` rows.
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode

import machine
import numpy as np
import served
import torch

WARM_UP = 20
WORDS = 30
Ask = tuple[str, served.Form | None]
"""A path, and what is posted there."""


def ask(connection: HTTPConnection, path: str, form: served.Form | None) -> tuple[float, float]:
    """Milliseconds until the answer is here, and those that the server worked on it."""
    body = None if form is None else json.dumps(form)
    began = time.perf_counter()
    connection.request(
        "GET" if form is None else "POST", path, body, {"content-type": "application/json"}
    )
    answer = connection.getresponse()
    said = answer.read()
    took = time.perf_counter() - began
    assert answer.status == 200, said
    _, _, worked = answer.headers["server-timing"].rpartition("dur=")
    return took * 1000, float(worked)


def texts(
    server: served.Server, connection: HTTPConnection
) -> dict[str, tuple[Callable[[], Ask], float | None, int]]:
    """What is asked of a run, by name: requests, the goal in milliseconds, how many of 200."""
    new = served.Texts(seed=1)
    run = f"/api/runs/{quote(server.run)}"
    held = new.of(WORDS)
    seeds = itertools.count()

    def deletion() -> Ask:
        text = new.of(WORDS)
        ask(connection, f"{run}/attend", {"text": text})  # it is on the page already
        return f"{run}/attend", {"text": text, "deleted": [new.rng.randrange(WORDS)]}

    def explanation() -> Ask:
        return f"{run}/explain", {"text": new.of(WORDS)}

    def reading() -> Ask:
        return f"{run}/attend", {"text": new.of(WORDS)}

    def drag() -> Ask:
        return f"{run}/attend", {"text": held, "weights": new.shares(WORDS)}

    def adversary() -> Ask:
        return f"{run}/replace", {"text": held, "by": "adversarial", "seed": next(seeds)}

    return {
        "explain a new text": (explanation, 100, 200),
        "attend: a new text": (reading, None, 200),
        "attend: a step of a drag": (drag, 30, 200),
        "attend: a word deleted": (deletion, None, 200),
        "replace by an adversary's": (adversary, None, 50),
    }


def documents(columns: list[str]) -> dict[str, Callable[[], Ask]]:
    """What is asked of a large audit, by name."""
    path = f"/api/audits/{served.AUDIT}/documents"
    orders = itertools.cycle(itertools.product(columns, ("ascending", "descending")))
    ends = (round(number, 6) for number in itertools.count(0.0, 1e-4))
    offsets = itertools.cycle(range(0, 40_000, 50))
    words = iter(served.Texts(seed=2).words)

    def at(**query: object) -> Ask:
        return f"{path}?{urlencode(query)}", None

    def order() -> Ask:
        sort, direction = next(orders)
        return at(sort=sort, order=direction)

    return {
        "sorted by another number": order,
        "filtered again and sorted": lambda: at(
            where=f"max_weight:[{next(ends)},]", right="no", sort="probability"
        ),
        "with another word": lambda: at(word=next(words)),
        "with another piece of text": lambda: at(contains=next(words)),
        "sorted by text, another filter": lambda: at(
            sort="text", where=f"max_weight:[{next(ends)},]"
        ),
        "the next page": lambda: at(sort="probability", offset=next(offsets)),
    }


def lines(
    server: served.Server, connection: HTTPConnection, repeats: int, rows: int
) -> Iterator[str]:
    """The table, row by row."""
    for what, (make, goal, share) in texts(server, connection).items():
        count = max(1, repeats * share // 200)
        yield line(what, measure(connection, make, count), goal)
    connection.request("GET", f"/api/audits/{served.AUDIT}/documents")
    columns = json.loads(connection.getresponse().read())["columns"]
    for what, make in documents(columns).items():
        yield line(f"{rows:,} documents: {what}", measure(connection, make, repeats), None)


def measure(connection: HTTPConnection, make: Callable[[], Ask], count: int) -> np.ndarray:
    """Times of so many requests, after some that do not count; those of the server beside them."""
    for _ in range(WARM_UP):
        ask(connection, *make())
    return np.array([ask(connection, *make()) for _ in range(count)])


def line(what: str, times: np.ndarray, goal: float | None) -> str:
    """A row of the table."""
    seen, worked = times.T
    numbers = [np.median(seen), np.percentile(seen, 95), seen.max(), np.median(worked)]
    cells = " | ".join(f"{number:.1f}" for number in numbers)
    return f"| {what} | {len(times)} | {cells} | {'' if goal is None else f'< {goal:g}'} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200, help="a quarter of them by adversary")
    parser.add_argument("--rows", type=int, default=50_000, help="of the audit")
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        folders = served.make(Path(folder), options.rows, options.run)
        with served.serving(folders, cores[:1]) as server:
            os.sched_setaffinity(0, cores[1:] or cores)
            print(
                f"server: 1 core, ready after {server.seconds_to_start:.1f} s; load average", end=""
            )
            print(f" {os.getloadavg()[0]:.1f}; milliseconds\n")
            print("| what | requests | median | 95 % | maximum | work, median | goal |")
            print("|---|---|---|---|---|---|---|")
            for row in lines(server, server.connection(), options.repeats, options.rows):
                print(row, flush=True)


if __name__ == "__main__":
    main()
