"""Several campaigns at a time, each in a copy of this process and a copy of the bench."""

import os
import pickle
import random
import shutil
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.harden.bench import Bench, Found
from tools.harden.campaigns import Campaign


def run_in_lanes(
    campaigns: Mapping[str, Campaign], bench: Path, share: float, lanes: int
) -> Iterator[Found]:
    """What each came to, as they end; one that fails itself is a defect."""
    waiting, running = list(campaigns), dict[int, Path]()
    while waiting or running:
        while waiting and len(running) < lanes:
            name = waiting.pop(0)
            place = bench.parent / name.replace(": ", "-").replace(" ", "-")
            if not (process := os.fork()):
                _run(name, campaigns[name], bench, place, share)
            running[process] = place
        process, _ = os.wait()
        if process in running:
            place = running.pop(process)
            yield from _result(place)
            shutil.rmtree(place)


def _run(name: str, campaign: Campaign, bench: Path, place: Path, share: float) -> None:
    found: list[Found] = []
    try:
        shutil.copytree(bench, place / "bench")
        os.chdir(place / "bench")
        found.extend(campaign(Bench(share, random.Random(name))))
    except BaseException:  # noqa: BLE001  (a campaign that breaks off has shown nothing)
        found.append(Found(name, 1, [traceback.format_exc()]))
    finally:
        (place / "found").write_bytes(pickle.dumps(found))
        os._exit(0)


def _result(place: Path) -> list[Found]:
    """What a copy of this process wrote for us."""
    try:
        found: list[Found] = pickle.loads((place / "found").read_bytes())
    except OSError:
        return [Found(place.name, 1, ["the campaign was killed"])]
    return found
