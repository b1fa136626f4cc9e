"""A view of the page is named once, in `app.js`: tests, docs and static files follow."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import heedful
from heedful.web import create_app
from tests.web import screenshots, test_page_access

STATIC = Path(heedful.__file__).parent / "web" / "static"
DOCS = Path(__file__).parents[2] / "docs" / "serve.md"
SAVED = Path(__file__).parents[1] / "golden" / "version-0.1" / "words-audit"
APP = (STATIC / "app.js").read_text(encoding="utf-8")


def views(script: str) -> dict[str, tuple[str, str]]:
    """The views of the page: address -> (name on its tab, function that makes it)."""
    declared = script.partition("const VIEWS = {")[2].partition("\n};")[0]
    found = re.findall(r"^  (\w+): \{ name: \"([^\"]+)\", make: (\w+) \},$", declared, re.MULTILINE)
    return {view: (name, make) for view, name, make in found}


def test_every_line_of_the_list_is_read_so_a_new_view_is_seen():
    added = APP.replace("const VIEWS = {", 'const VIEWS = {\n  dummy: { name: "D", make: dummy },')
    assert views(added) == {"dummy": ("D", "dummy"), **views(APP)}
    declared = APP.partition("const VIEWS = {")[2].partition("\n};")[0]
    assert len(views(APP)) == len(declared.strip().splitlines())


def test_every_view_is_looked_at_for_access_and_pictured():
    assert set(test_page_access.VIEWS) == set(views(APP))
    assert set(screenshots.VIEWS) == set(views(APP))


@pytest.mark.parametrize("view", views(APP))
def test_a_view_is_one_module_that_is_served_and_described(view):
    name, make = views(APP)[view]
    (module,) = re.findall(rf"^import \{{ {make} \}} from \"\./(\w+\.js)\";$", APP, re.MULTILINE)
    assert f"export function {make}(" in (STATIC / module).read_text(encoding="utf-8")
    assert name.lower() in DOCS.read_text(encoding="utf-8").lower()


def test_the_modules_of_all_views_are_served():
    with TestClient(create_app([SAVED]), base_url="http://127.0.0.1") as client:
        for module in re.findall(r"from \"\./(\w+\.js)\"", APP):
            answer = client.get(f"/static/{module}")
            assert answer.status_code == 200, module
