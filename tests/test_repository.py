"""Files that other tools read: they are well formed and agree with the package."""

import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_the_citation_names_this_version_and_licence():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_an_issue_template_asks_for_something(path):
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    assert any(one.get("validations", {}).get("required") for one in form["body"])
    assert len({one["id"] for one in form["body"]}) == len(form["body"])


def test_commits_are_checked_by_tools_that_development_installs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_ci_makes_the_package_and_the_site():
    script = (ROOT / ".ci/run").read_text()
    targets = (ROOT / "Makefile").read_text()
    for target in ("lint", "test", "package", "docs"):
        assert f"make {target}\n" in script
        assert f"\n{target}: .venv/installed-dev" in targets


def test_the_image_serves_where_its_comment_says():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    (entry,) = (line for line in lines if line.startswith("ENTRYPOINT"))
    (port,) = (line.split()[1] for line in lines if line.startswith("EXPOSE"))
    assert f'"--port", "{port}"' in entry
    assert any(f":{port}:{port}" in line for line in lines if line.startswith("#"))
