"""Small runs and an audit of one of them, in a folder as `heedful serve` is given one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.counterfactual.adversarial import Adversarial
from heedful.text.documents import Corpus
from heedful.training.trained import Trained
from heedful.web import create_app
from tests.report import browser as browsers
from tests.web.browsing import serving

HERE = "http://127.0.0.1"
QUICK = AuditSettings(search=Adversarial(steps=20, learning_rate=0.1))


def trained_on(corpus: Corpus, **options: Any) -> Trained:
    classifier = heedful.Classifier(
        embedding_size=8, dropout=0.0, optimizer="adam:learning_rate=0.05", split="spaces",
        **{"encoder": "embedding", "recipe": "standard:epochs=2", **options},
    )  # fmt: skip
    return classifier.fit(corpus.train.texts, corpus.train.labels).trained_


@pytest.fixture(scope="session")
def words(planted: Corpus) -> Trained:
    return trained_on(planted)


@pytest.fixture(scope="session")
def bilstm(planted: Corpus) -> Trained:
    return trained_on(planted, encoder="bilstm:hidden_size=6")


@pytest.fixture(scope="session")
def served_folder(
    planted: Corpus, words: Trained, bilstm: Trained, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Holds the runs `words` and `bilstm` and the audit `audits/words`; only to be read."""
    folder = tmp_path_factory.mktemp("served")
    words.save(folder / "words")
    bilstm.save(folder / "bilstm")
    about = {"name": "words", "data": "planted", **words.describe()}
    asked = [name for name in questions if name != "leak-free"]  # trains many small models
    found = audit(ClassifierSubject(words), planted.test[:60], QUICK, asked, about=about)
    found.save(folder / "audits" / "words")
    return folder


@pytest.fixture
def own_folder(served_folder: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may break."""
    return Path(shutil.copytree(served_folder, tmp_path / "own"))


Opener = Callable[..., TestClient]


@pytest.fixture
def serve() -> Opener:
    """Open some folders as a visitor of this machine would."""

    def open_(*folders: Path, base_url: str = HERE, **options: Any) -> TestClient:
        return TestClient(create_app(folders, **options), base_url=base_url)

    return open_


@pytest.fixture(scope="module")
def client(served_folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app([served_folder]), base_url=HERE) as opened:
        yield opened


@pytest.fixture(scope="module")  # while it runs, so does an event loop, which others may want
def browser() -> Iterator[Browser]:
    with browsers.browser() as started:
        yield started


@pytest.fixture(scope="module")
def address(served_folder: Path) -> Iterator[str]:
    """Where the page over the folder is answered."""
    with serving(served_folder) as at:
        yield at


@pytest.fixture(scope="session")
def text(planted: Corpus) -> str:
    """A document of the audit."""
    return planted.test.texts[0]
