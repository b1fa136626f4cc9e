"""Commands on a machine where a package is not installed, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import heedful as library

pytestmark = pytest.mark.workers


def call_without(package: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    program = (
        f"import sys; sys.modules[{package!r}] = None; "  # as if it were not installed
        "from heedful.cli import main; main()"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("package", "installed", "how"),
    [
        ("vl_convert", "vl-convert-python", "'heedful[charts]'"),
        ("altair", "altair", "'heedful[charts]'"),
        ("jinja2", "jinja2", "jinja2"),
    ],
)
def test_an_audit_is_kept_and_told_where_its_report_cannot_be_drawn(
    run, data, package, installed, how
):
    asked = ["--documents", "12", "--ask", "telling", "--include-trained", "-o", "out"]
    done = call_without(package, "audit", run, data, *asked)
    assert done.returncode == 3, done.stderr
    assert (
        f"heedful: the report needs the package {installed}, which is not installed. Install it "
        f"with pip install {how}. The results are saved in out; only the report is missing."
    ) in done.stderr
    assert "bug" not in done.stderr
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "audit.json",
        "per_example.parquet",
        "request.json",
    ]
    audit = library.Audit.load("out")
    assert audit.sentence in done.stdout
    assert "report:" not in done.stdout
    again = call_without("nothing", "audit", run, data, *asked, "--resume")  # once it is there
    assert again.returncode == 0, again.stderr
    assert Path("out/report.html").is_file()


def test_serving_names_what_to_install(run):
    for package in ("fastapi", "uvicorn"):
        done = call_without(package, "serve", run)
        assert done.returncode == 3, done.stderr
        assert done.stderr == (
            f"heedful: this command needs the package {package}, which is not installed. Install "
            "it with pip install 'heedful[web]'.\n"
        )


def test_an_analysis_is_saved_before_its_report_is_tried(run):
    done = call_without("vl_convert", "analyse", "dot-products", run, "-o", "out")
    assert done.returncode == 3, done.stderr
    assert "pip install 'heedful[charts]'" in done.stderr
    assert list(Path("out").glob("*.json"))
