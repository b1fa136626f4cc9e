"""`python -m tools.harden [--share 0.05] [--page FILE]`: the campaign, and a table of counts."""

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

from tools.harden.bench import Found, make_bench
from tools.harden.campaigns import KILLS, MUTATIONS, campaigns
from tools.harden.lanes import run_in_lanes
from tools.harden.processes import import_everything

PAGE = """# Hardening

What `make harden` did last: {tried:,} attempts, {defects} defects, in {minutes:.0f} minutes on two
cores ({share:.0%} of the full campaign). Among them are {kills:,} kills and {mutations:,} mutated
files, settings, command lines and requests. A defect is a lost or mixed result, a traceback, an
exit code other than 0 to 3, or a control character in a terminal or a page. What is promised, and
what is not: [SECURITY.md](../SECURITY.md). A short form runs in CI (`make harden-short`).

{table}

*Resumed* means: called again (with `--resume`, where the command has it), and every file is then
the same as undisturbed, but for times. The calibration is one of two small models, and `heal` heals
a tiny random BERT. Workers of sweeps are forked here, to start at once; their own start is tested
in `tests/sweeps` and `tests/jobs`. The power cut is simulated by a disk that keeps only what was
flushed (`tools/harden/power_cut.py`).

Not in the campaign, but in the tests: the page and the report in Chromium (`make test-browser`);
slow clients and half-sent heads (`tests/web/test_connections.py`); a server that is stopped with
work under way (`tests/cli/test_serve.py`); generated requests to every address
(`tests/web/test_schemathesis.py`).
"""


def table(found: list[Found]) -> str:
    """Counts and defects in Markdown; parts of one campaign are one row."""
    rows: dict[str, Found] = {}
    for one in found:
        row = rows.setdefault(one.name, Found(one.name))
        row.tried += one.tried
        row.defects += one.defects
    lines = [f"| {one.name} | {one.tried:,} | {len(one.defects)} |" for one in rows.values()]
    return "\n".join(["| what | attempts | defects |", "|---|---:|---:|", *sorted(lines)])


def page(found: list[Found], share: float, minutes: float) -> str:
    """The page of docs."""
    return PAGE.format(
        tried=sum(one.tried for one in found),
        defects=sum(len(one.defects) for one in found),
        kills=sum(one.tried for one in found if KILLS in one.name),
        mutations=sum(one.tried for one in found if any(word in one.name for word in MUTATIONS)),
        minutes=minutes,
        share=share,
        table=table(found),
    )


def run(share: float, lanes: int, words: str) -> list[Found]:
    """All campaigns whose name has these words, in a folder that is removed afterwards."""
    found: list[Found] = []
    chosen = {name: one for name, one in campaigns().items() if words in name}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # one campaign becomes another user
        bench = Path(folder, "bench")
        bench.mkdir()
        os.chdir(bench)
        try:
            import_everything()
            make_bench()
            for one in run_in_lanes(chosen, bench, share, lanes):
                found.append(one)
                print(f"{one.tried:6,}  {len(one.defects):3}  {one.name}", flush=True)
                for defect in one.defects[:5]:
                    print(f"             {defect!a}", flush=True)
        finally:
            os.chdir(here)
    return found


def main() -> None:
    """Exit with code 1 if there is a defect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="how much of it, as a share")
    parser.add_argument("--page", type=Path, help="write the result into a page of docs")
    parser.add_argument("--lanes", type=int, default=2, help="campaigns at a time")
    parser.add_argument("--only", default="", help="campaigns whose name has these words")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    found = run(given.share, given.lanes, given.only)
    defects = sum(len(one.defects) for one in found)
    tried = sum(one.tried for one in found)
    minutes = (time.monotonic() - started) / 60
    print(f"{tried:,} attempts, {defects} defects, {minutes:.1f} minutes")
    if given.page is not None:
        given.page.write_text(page(found, given.share, minutes))
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
