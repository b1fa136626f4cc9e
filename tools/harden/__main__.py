"""`python -m tools.harden [--share 0.05] [--page FILE]`: the campaign, and a table of counts."""

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

from tools.harden.campaigns import CAMPAIGNS, Bench, Found

PAGE = """# Hardening

What `make harden` did last: {counts}, {defects}, in {minutes:.0f} minutes on two cores that
others used too ({share:.0%} of the full campaign). A defect is a lost or mixed result, a traceback,
an exit code other than 0 to 3, or a control character in a terminal. What is promised, and
what is not: [SECURITY.md](../SECURITY.md). A short form runs in CI (`make harden-short`).

{table}

Not in the campaign, but in the tests: the page and the report in Chromium (`make test-browser`);
slow clients and half-sent heads (`tests/web/test_connections.py`); a server that is stopped with
work under way (`tests/cli/test_serve.py`); generated requests to every address
(`tests/web/test_schemathesis.py`). Nothing here kills `sweep`, `calibrate` and `heal` at random
moments yet: they write by the same functions as `train` and `audit`.
"""


def table(found: list[Found]) -> str:
    """Counts and defects in Markdown."""
    rows = [f"| {one.name} | {one.tried:,} | {len(one.defects)} |" for one in found]
    return "\n".join(["| what | attempts | defects |", "|---|---:|---:|", *rows])


def run(share: float) -> list[Found]:
    """All campaigns in a folder that is removed afterwards."""
    found: list[Found] = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            bench = Bench.made(share)
            for campaign in CAMPAIGNS:
                for one in campaign(bench):
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
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    found = run(given.share)
    defects = sum(len(one.defects) for one in found)
    tried = sum(one.tried for one in found)
    minutes = (time.monotonic() - started) / 60
    print(f"{tried:,} attempts, {defects} defects, {minutes:.1f} minutes")
    if given.page is not None:
        counts, count = f"{tried:,} attempts", f"{defects} defects"
        given.page.write_text(
            PAGE.format(
                counts=counts, defects=count, minutes=minutes, share=given.share, table=table(found)
            )
        )
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
