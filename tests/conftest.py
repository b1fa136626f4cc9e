"""What tests share: where data lies, threads, a small corpus."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from heedful.auditing import operating_points
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Corpus
from tests.auditing.points import POINTS

settings.register_profile("heedful", deadline=None, max_examples=40)
settings.load_profile("heedful")


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)  # tests run in several processes


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def cuts_by_hand() -> Iterator[None]:
    """Audits are judged by points made by hand, whatever the package ships."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operating_points, "shipped", lambda: POINTS)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    place = os.environ.get("HEEDFUL_DATA")
    if not place:
        pytest.skip("HEEDFUL_DATA is not set, so the papers' corpora are not at hand")
    return Path(place)


@pytest.fixture(scope="session")
def planted() -> Corpus:
    return Planted(documents=600, neutral_vocabulary=60, evidence_vocabulary=5)()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that look at pages are a run of their own: `make test-browser`.

    The longest by far begins first: begun last, it would leave the other worker idle.
    """
    items.sort(key=lambda item: "sweeps/test_ray.py" not in item.nodeid)
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in the last lines, not only with an `s` among the dots, which pages nobody looked at."""
    skipped = terminalreporter.stats.get("skipped", [])  # of whole files too, which have no markers
    of_pages = [one for one in skipped if "browser" in getattr(one, "keywords", ())]
    for reason, tests in Counter(one.longrepr[2] for one in of_pages).items():
        line = f"Tests of pages SKIPPED: {tests}. {reason.removeprefix('Skipped: ')}"
        terminalreporter.section("pages", red=True, bold=True)
        terminalreporter.write_line(line, red=True, bold=True)
