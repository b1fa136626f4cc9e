"""Shell completion: what a shell asks for, it gets."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.workers


def test_a_shell_completes_commands():
    asked = {"_HEEDFUL_COMPLETE": "complete_bash", "COMP_WORDS": "heedful au", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "heedful"],
        env=os.environ | asked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["audit"], done.stderr
