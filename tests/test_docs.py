"""Pages of docs name modules that exist, and the lists that are typed there are complete."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from heedful.auditing.questions import audit_tests
from heedful.cli.app import app
from heedful.readouts import readouts
from tests.test_layering import ORDER
from tools import site

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/howto").glob("*.md")),
]
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_a_page_names_exist(page):
    text = page.read_text()
    dotted = set(re.findall(r"heedful((?:\.[a-z_]+)+)", text))
    for name in dotted:
        parts = name.strip(".").split(".")
        places = [
            (ROOT / "src/heedful").joinpath(*parts[:count]) for count in range(len(parts), 0, -1)
        ]
        is_there = any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)
        assert is_there or len(parts) == 1, f"{page.name}: heedful{name}"


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "tools"])
def test_what_scripts_import_exists(folder):
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("heedful"):
                home = import_module(str(node.module))
                for name in node.names:
                    is_module = (
                        find_spec(f"{node.module}.{name.name}") if _is_package(home) else None
                    )
                    assert hasattr(home, name.name) or is_module, f"{path.name}: {name.name}"


def _is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


def test_the_architecture_page_names_files_that_exist_and_every_room():
    text = (ROOT / "docs/architecture.md").read_text()
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|toml))?)`", text)
    assert len(named) > 30
    homes = [ROOT, ROOT / "tests", ROOT / "src/heedful"]
    homes += [ROOT / "src/heedful" / room for room in ("auditing", "auditing/subjects")]
    for name in named:
        assert any((home / name).exists() for home in homes), name
    rooms = text[text.index("## Rooms") : text.index("## To add a member")]
    for part in ORDER:
        assert part == "__main__" or f"`{part}`" in rooms or f"`{part}/`" in rooms, part


def test_the_audit_page_has_the_controls_of_every_test():
    page = (ROOT / "docs/audit.md").read_text()
    for test in audit_tests().values():
        assert test.floor in page, test.name
        assert test.ceiling in page, test.name


def test_docs_say_how_many_readings_are_audited():
    number = NUMBERS[len(readouts.audited)]
    assert f"{number} ways to read its attention" in (ROOT / "docs/commands.md").read_text()
    assert f"of {number} readings of its attention" in (ROOT / "README.md").read_text()


def test_pages_that_are_made_of_the_package_are_up_to_date():
    for name, text in site.pages().items():
        assert (ROOT / "docs" / name).read_text() == text, "python -m tools.site writes it again"


def test_every_command_is_on_the_page_of_commands():
    page = (ROOT / "docs/commands.md").read_text()
    names = [command.name for command in app.registered_commands]
    names += [group.name for group in app.registered_groups]
    assert len(names) > 15
    for name in names:
        assert f"| `heedful {name}" in page, name


def test_links_between_files_lead_somewhere():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if not link.startswith(("http", "mailto")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"
