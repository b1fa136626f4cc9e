"""heedful tells you whether you may read your text classifier's attention as an explanation.

    import heedful

    corpus = heedful.load("reviews-short")
    classifier = heedful.Classifier(encoder="bilstm", projection="sparsemax")
    classifier.fit(corpus.train.texts, corpus.train.labels)
    classifier.score(corpus.test.texts, corpus.test.labels)
    print(heedful.audit(classifier, corpus.test).sentence)

Names are imported when they are first used, so `import heedful` costs nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.api import audit, explain, heal
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.modules.adapter import ModuleAdapter, ModuleTrace
    from heedful.errors import DataWarning, HeedfulError
    from heedful.estimator import Classifier
    from heedful.sweeps.sweep import sweep
    from heedful.text.datasets import load
    from heedful.text.documents import Corpus, Document, Documents
    from heedful.text.readers import read
    from heedful.training import recipes

# Threads that wait should soon sleep, not spin: beside another job, spinning makes small
# steps many times slower. PyTorch's OpenMP reads this when it is first imported.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_HOMES = {
    "Audit": "heedful.auditing.results",
    "Classifier": "heedful.estimator",
    "Corpus": "heedful.text.documents",
    "DataWarning": "heedful.errors",
    "Document": "heedful.text.documents",
    "Documents": "heedful.text.documents",
    "HeedfulError": "heedful.errors",
    "ModuleAdapter": "heedful.auditing.subjects.modules.adapter",
    "ModuleTrace": "heedful.auditing.subjects.modules.adapter",
    "audit": "heedful.api",
    "explain": "heedful.api",
    "heal": "heedful.api",
    "load": "heedful.text.datasets",
    "read": "heedful.text.readers",
    "recipes": "heedful.training",
    "sweep": "heedful.sweeps.sweep",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("heedful")
    if name not in _HOMES:
        raise AttributeError(f"module 'heedful' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return import_module("heedful.training.recipes") if name == "recipes" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Audit",
    "Classifier",
    "Corpus",
    "DataWarning",
    "Document",
    "Documents",
    "HeedfulError",
    "ModuleAdapter",
    "ModuleTrace",
    "audit",
    "explain",
    "heal",
    "load",
    "read",
    "recipes",
    "sweep",
]
