"""The example notebooks run from the first cell to the last, and are kept without outputs."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def opened(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_kept_without_outputs(path):
    notebook = opened(path)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.workers
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_a_verdict(path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_EXAMPLE", "planted:documents=300")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    ran = NotebookClient(opened(path), timeout=300, kernel_name="python3").execute()
    outputs = [out for cell in ran.cells if cell.cell_type == "code" for out in cell.outputs]
    shown = [out.get("data", {}).get("text/html", "") for out in outputs]
    assert any("heedful-view" in html for html in shown)
    printed = "".join(out.get("text", "") for out in outputs if out.output_type == "stream")
    assert "A heat map claims" in printed
