"""Exact models: audited in a job, with what is true of them beside the audit."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from heedful.auditing.questions.base import AuditSettings
from heedful.auditing.results import Audit
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.calibration.exact import Exact, read_exact
from heedful.calibration.exact_jobs import TRUTH, as_function, audit_exact
from heedful.calibration.pictures import Picture
from heedful.sweeps.steps import AuditStep
from heedful.text.datasets import load

DATA = "planted:documents=400:function_words=2"
STEP = AuditStep(ask=("telling",), settings=AuditSettings(sampled_documents=20, seeds=1))


def audited(folder, exact):
    """The audit of a model, and its doses as the job wrote them."""
    audit_exact(folder, lambda *said: None, exact=asdict(exact), data=DATA, audit=STEP, behind=None)
    return Audit.load(folder), json.loads((folder / TRUTH).read_text())


@pytest.mark.parametrize("architecture", ["module", "function"])
def test_doses_of_pictures_are_counted_on_the_documents_that_were_audited(tmp_path, architecture):
    picture = Picture(false_share=0.4)
    audit, doses = audited(tmp_path, Exact("some", architecture, picture=picture))
    counted = picture.is_false(audit.texts, audit.predictions).mean()
    assert doses["false-documents"] == pytest.approx(counted)
    assert doses["written-choice"] == 0
    # A function cannot be given other weights, so nothing is known of what bypasses them.
    assert ("bypass" in doses) == (architecture == "module")
    measured = {test.name: test.score.score for test in audit.answers[0].tests}
    assert measured["true pictures"] == pytest.approx(1 - counted, abs=0.03)


def test_a_label_that_is_written_into_words_has_the_dose_of_its_documents(tmp_path):
    model = BuiltModel(shown="function-words", written_share=0.5)
    audit, doses = audited(tmp_path, Exact("written", "module", model))
    words = [text.split() for text in audit.texts]
    expected = BuiltAdapter(model, 2).is_written(words).mean()
    assert doses == pytest.approx({"written-choice": expected})


def test_a_kind_without_pictures_of_its_own_keeps_the_doses_it_was_given(tmp_path):
    given = {"bypass": 0.25, "false-documents": 0.0}
    _, doses = audited(tmp_path, Exact("bypass", "module", BuiltModel(bypass=0.25), doses=given))
    assert doses == given


def test_an_exact_model_survives_being_written_down():
    exact = Exact("x", "module", BuiltModel(gain=2.0), Picture(0.2, ("negative",)), {"bypass": 0.1})
    assert read_exact(json.loads(json.dumps(asdict(exact)))) == exact


def test_a_built_model_as_a_function_says_and_shows_the_same():
    texts = list(load(DATA).test.texts)[:20]
    adapter = BuiltAdapter(BuiltModel(), 2)
    function, trace = as_function(adapter).read(texts), adapter.read([t.split() for t in texts])
    np.testing.assert_allclose(function.probabilities, trace.logits.softmax(dim=-1).numpy())
    np.testing.assert_allclose(function.weights, trace.weights.numpy(), atol=1e-6)
    # Without words it is even.
    assert as_function(adapter).predict(["", "  "]).tolist() == [[0.5, 0.5]] * 2
