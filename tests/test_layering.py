"""A folder imports only from what stands above it."""

import ast
from collections import defaultdict
from pathlib import Path

import heedful

SOURCE = Path(heedful.__file__).parent
ORDER = [
    *("errors", "visible", "terminal", "progress", "storage", "config", "records"),
    *("registry", "runs"),
    *("text", "model", "training"),
    *("jobs", "importance", "counterfactual", "readouts", "auditing", "analysis"),
    *("sweeps", "papers", "calibration", "plots", "report", "estimator", "api", "web", "cli"),
    "__main__",
]


def imported_parts(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            is_top = node.module == "heedful"
            modules = [f"heedful.{alias.name}" for alias in node.names] if is_top else [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        names |= {m.split(".")[1] for m in modules if m.startswith("heedful.")}
    return names


# The one arrow that points down: `audit.to_html(path)` is where people look for the report.
ALLOWED_DOWN = {("results.py", "report"), ("readings.py", "report")}


def test_every_import_points_upwards():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        allowed = ORDER[: ORDER.index(part) + 1]
        wrong += [
            f"{path.name} imports {name}"
            for name in imported_parts(path) - set(allowed)
            if (path.name, name) not in ALLOWED_DOWN
        ]
    assert wrong == []


def test_there_is_no_drawer_for_odds_and_ends():
    names = {path.stem for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


FEWEST_LINES = 40  # of a module that only one other module imports
MOST_PLOT_LINES = 400


def importers() -> dict[str, set[str]]:
    """Every dotted name that is imported somewhere in heedful -> the modules that import it."""
    found = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                found[name].add(str(path.relative_to(SOURCE)))
    return found


def test_a_module_that_only_one_other_imports_is_no_scrap():
    """Members of families are imported by nobody by name, so they may be short."""
    found, scraps = importers(), []
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        is_short = len(path.read_text().splitlines()) < FEWEST_LINES
        if path.stem != "__init__" and is_short and len(found[name]) == 1:
            scraps.append(f"{name}, imported by {found[name].pop()}")
    assert sorted(scraps) == []


def test_figures_are_drawn_in_few_modules_that_can_be_read_in_one_sitting():
    modules = {
        path.stem: len(path.read_text().splitlines())
        for path in (SOURCE / "plots").glob("*.py")
        if path.stem != "__init__"
    }
    assert len(modules) < 12, sorted(modules)
    assert not {name for name, lines in modules.items() if lines > MOST_PLOT_LINES}
