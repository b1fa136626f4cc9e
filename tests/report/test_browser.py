"""Tests of pages on a machine without a browser: never passed over in silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report import browser

ROOT = Path(__file__).parents[2]
PAGE = "tests/report/test_in_a_browser.py::test_headings_leave_no_level_out"


def test_without_chromium_the_summary_says_how_many_tests_were_skipped_and_what_to_install():
    # Neither CI nor what this run was started with: processes, plugins, options.
    kept = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", PAGE],
        env={**kept, "PATH": ""}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    assert "Tests of pages SKIPPED: 1. Chromium is not installed" in ended.stdout
    assert "apt-get install chromium" in ended.stdout


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_without_chromium_tests_of_pages_fail_in_ci_and_are_skipped_elsewhere(
    ci, outcome, monkeypatch
):
    monkeypatch.setattr(browser, "CHROMIUM", None)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="Install it: apt-get install chromium"), browser.browser():
        pass
