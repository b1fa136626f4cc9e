"""The memory that reading a large Parquet file takes, and what its documents take afterwards.

    python benchmarks/parquet_memory.py [--rows 400000] [--words 30] [--other 400]

A file of made-up documents with a label and another column of the given width, which nobody
needs. It is written and read in processes of their own; resident set, MB.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = [f"word{number}" for number in range(5000)]
ROWS_AT_ONCE = 20_000


def write(path: Path, rows: int, words: int, other: int) -> None:
    """The file, some rows at a time."""
    import pyarrow
    import pyarrow.parquet

    rng = random.Random(0)
    kinds = [(name, pyarrow.string()) for name in ("text", "label", "other")]
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema(kinds)) as file:
        for start in range(0, rows, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, rows - start)
            columns = {
                "text": [" ".join(rng.choices(WORDS, k=words)) for _ in range(count)],
                "label": rng.choices(["good", "bad"], k=count),
                "other": [f"{rng.getrandbits(4 * other):0{other}x}" for _ in range(count)],
            }
            file.write_table(pyarrow.table(columns))


def memory() -> dict[str, float]:
    """Now and at most so far, in MB."""
    now = next(
        int(line.split()[1])
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return {"now": now / 1024, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def read(path: Path) -> None:
    """Print what memory there was before, after and at most."""
    import pyarrow.parquet  # noqa: F401  (so that it does not count)

    from heedful.text.readers import read_documents

    before = memory()
    documents, _ = read_documents(path)
    characters = sum(map(len, documents.texts)) / 2**20
    print(json.dumps({"before": before, "after": memory(), "text": characters}))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 400_000])
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--other", type=int, default=400)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        read(options.read)
        return
    print("| rows | file, MB | its texts, MB | before | after | peak |\n|---|---|---|---|---|---|")
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made-up.parquet"
            write(path, rows, options.words, options.other)
            asked = [sys.executable, __file__, "--read", str(path)]
            done = subprocess.run(asked, capture_output=True, text=True, check=True)
            size = path.stat().st_size / 2**20
        found = json.loads(done.stdout)
        after = found["after"]
        print(
            f"| {rows:,} | {size:.0f} | {found['text']:.0f} | {found['before']['now']:.0f} | "
            f"{after['now']:.0f} | {after['peak']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
