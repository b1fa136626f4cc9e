"""A folder imports only from what stands above it."""

import ast
from pathlib import Path

import heedful

SOURCE = Path(heedful.__file__).parent
ORDER = [
    *("errors", "visible", "terminal", "progress", "storage", "config", "registry", "runs"),
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
