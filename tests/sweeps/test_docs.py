"""The how-to page does what it says, and the example grid is the one it shows."""

import re
import tomllib
from pathlib import Path

import pytest

from heedful.sweeps.sweep import MOST_CELLS

pytestmark = pytest.mark.workers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sweep.md").read_text()


def test_the_example_runs(capsys):
    (grid,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert tomllib.loads(grid) == tomllib.loads((ROOT / "examples" / "grid.toml").read_text())
    Path("grid.toml").write_text(grid)
    names: dict = {}
    exec(compile(code, "sweep.md", "exec"), names)
    assert names["swept"].states == {"done": 8}
    printed = capsys.readouterr().out
    assert re.search(r"additive +0\.1 +0\.9\d+\n", printed)
    promised = {name.strip("`") for name in re.findall(r"`(?:test|audit)\.[a-z_0-9]+`", PAGE)}
    assert promised <= set(names["frame"].columns)
    assert "verdict" in names["frame"]
    assert f"`--max-cells` ({MOST_CELLS})" in PAGE
