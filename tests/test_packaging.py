"""What pip installs: few packages for the core, extras for the rest, and every file."""

import re
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

from heedful.errors import EXTRAS, INSTALLED_WITH, installed_by
from tests.test_core import NOT_NEEDED
from tools.package import missing_files, wanted_files

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OPTIONAL = PROJECT["project"]["optional-dependencies"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ]", one)[0].lower() for one in requirements}


def test_every_file_that_is_no_module_is_package_data():
    globs = PROJECT["tool"]["setuptools"]["package-data"]["heedful"]
    others = [name for name in wanted_files() if not name.endswith(".py")]
    assert len(others) > 30
    assert any(name.endswith("report.html") for name in others)
    assert any(name.endswith("zoo.toml") for name in others)
    for name in others:
        assert any(fnmatch(name.removeprefix("heedful/"), one) for one in globs), name


def test_a_wheel_that_lacks_a_file_is_found_out(tmp_path):
    wheel = tmp_path / "heedful.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("heedful/__init__.py", "")
    assert missing_files(wheel, ["heedful/__init__.py", "heedful/x.css"]) == ["heedful/x.css"]


def test_what_only_some_commands_need_is_an_extra_and_errors_name_it():
    core = names(PROJECT["project"]["dependencies"])
    for package, extra in EXTRAS.items():
        assert package not in core
        assert package in names(OPTIONAL[extra]), package
        assert installed_by(package) == f"'heedful[{extra}]'"
    optional = {INSTALLED_WITH.get(module, module) for module in NOT_NEEDED}
    assert not optional & (core - {"jinja2"})


def test_all_holds_every_extra_of_heedful_but_trackers_and_tools():
    (everything,) = OPTIONAL["all"]
    inside = set(re.findall(r"[\w-]+", everything.partition("[")[2]))
    others = {"all", "dev", "docs", "charts", "mlflow", "wandb", "tensorboard"}
    assert inside == set(OPTIONAL) - others
    assert "heedful[charts]" in OPTIONAL["web"]


def test_the_versions_of_python_that_are_declared_are_those_that_are_allowed():
    declared = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert declared == ["3.11", "3.12", "3.13"]
    assert PROJECT["project"]["requires-python"] == ">=3.11"
