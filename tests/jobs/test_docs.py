"""The how-to page does what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "jobs.md"


def test_the_example_runs_and_a_second_time_finds_everything_done(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.split("\n")[:3] == [f"seed-{n} done " for n in (1, 2, 3)]
    assert sorted(path.name for path in Path("twins").iterdir()) == ["seed-1", "seed-2", "seed-3"]
    names: dict = {}
    exec(compile(example, str(PAGE), "exec"), names)
    assert all(outcome.was_done_before for outcome in names["outcomes"].values())
