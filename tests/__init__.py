"""Tests of heedful. Shapes are checked in every module that names one.

Only there: where no arrays are handled (records, files, reports) mypy checks the types, and
checking them again in every call took about a quarter of the time of those tests.
"""

from pathlib import Path

from jaxtyping import install_import_hook

SOURCE = Path(__file__).parents[1] / "src"


def modules_with_shapes() -> list[str]:
    """The modules of heedful that import from jaxtyping, by their dotted names."""
    return [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in sorted(SOURCE.rglob("*.py"))
        if path.stem != "__init__" and "from jaxtyping import" in path.read_text("utf-8")
    ]


install_import_hook(modules_with_shapes(), "beartype.beartype")
