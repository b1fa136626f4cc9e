import subprocess
import sys

import pytest

pytestmark = pytest.mark.workers


def heedful(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "heedful", *arguments], capture_output=True, text=True, check=False
    )


def test_python_m_heedful_is_the_command_line():
    done = heedful("list", "projections")
    assert done.returncode == 0, done.stderr
    assert "sparsemax" in done.stdout


def test_usage_lines_name_the_program_and_failures_keep_their_exit_codes():
    done = heedful("--help")
    assert done.returncode == 0, done.stderr
    assert "Usage: heedful [OPTIONS] COMMAND" in done.stdout
    wrong = heedful("predict", "no-such-run", "text")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("heedful: ")
