"""A folder imports only from what stands above it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import heedful

SOURCE = Path(heedful.__file__).parent
ORDER = [
    *("errors", "visible", "heatmap", "terminal", "progress", "interruption", "storage", "config"),
    *("records", "seals", "intervals", "registry", "runs", "signatures", "verification"),
    *("text", "model", "training"),
    *("jobs", "importance", "counterfactual", "readouts", "auditing", "analysis"),
    *("sweeps", "papers", "calibration", "plots", "notebook", "report", "estimator", "api"),
    *("integrations", "web", "cli", "__main__"),
]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def imports(tree: ast.AST) -> Iterator[str]:
    """What is imported, also within functions; not what is for annotations alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imports(node)


# The arrows that point down: what people look for on an audit, such as `audit.to_html(path)`.
ALLOWED_DOWN = {
    *(
        ("heedful.auditing.doors", home)
        for home in (
            *("heedful.auditing.plain_words", "heedful.report", "heedful.notebook"),
            *("heedful.integrations.metrics", "heedful.integrations.model_card"),
        )
    ),
    ("heedful.auditing.subjects.huggingface.readings", "heedful.report"),
    ("heedful.importance.explanation", "heedful.notebook"),
    ("heedful.training.trained", "heedful.notebook"),
}
# Within functions, outside the command line (whose modules import nothing heavy at the top): what
# takes seconds to import and is seldom needed.
ALLOWED_LAZY = {
    ("heedful.api", "heedful.auditing.subjects.huggingface"),
    ("heedful.auditing.explanation", "heedful.auditing.subjects.huggingface"),
    ("heedful.auditing.explanation", "heedful.readouts"),
    ("heedful.auditing.subjects.huggingface.loading", "heedful.training.trained"),
    ("heedful.web.store", "heedful.web.transformers"),
    ("heedful.model.projections", "heedful.model.sparse_kernels"),  # where there is Triton
    ("heedful.importance.recurrent", "heedful.model.recurrent_launches"),
} | ALLOWED_DOWN


@pytest.fixture(scope="module")
def arrows() -> dict[str, set[str]]:
    """Every module -> the modules of heedful that it imports, at the top or within a function."""
    parsed = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
    return {
        name: {one for one in imports(tree) if one in MODULES and one != "heedful"}
        for name, tree in parsed.items()
        if name != "heedful"  # it imports nothing until a name is asked for
    }


def test_every_import_points_upwards(arrows):
    wrong = [
        f"{module} imports {name}"
        for module, names in arrows.items()
        for name in names
        if ORDER.index(name.split(".")[1]) > ORDER.index(module.split(".")[1])
        and (module, name) not in ALLOWED_DOWN
    ]
    assert wrong == []


def test_modules_import_each_other_in_no_circle(arrows):
    without = {m: {n for n in names if (m, n) not in ALLOWED_DOWN} for m, names in arrows.items()}
    TopologicalSorter(without).prepare()  # raises CycleError, which names the circle


def test_imports_within_functions_are_few():
    found = {
        (module, name)
        for module, path in MODULES.items()
        if not module.startswith("heedful.cli")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for name in imports(function)
        if name in MODULES
    }
    allowed = {
        one for one in found if any(one[0] == m and one[1].startswith(n) for m, n in ALLOWED_LAZY)
    }
    assert found - allowed == set()


def test_there_is_no_drawer_for_odds_and_ends():
    names = {path.stem for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


def classes_of(module: str) -> set[str]:
    tree = ast.parse(MODULES[module].read_text())
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def test_a_name_of_the_audits_protocol_means_nothing_else():
    protocol = "heedful.auditing.subjects.base"
    twice = {m: classes_of(m) & classes_of(protocol) for m in MODULES if m != protocol}
    assert {module: names for module, names in twice.items() if names} == {}


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
