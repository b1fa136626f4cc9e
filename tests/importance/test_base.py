"""What a measure of importance is."""

import pytest
import torch

from heedful.errors import ConfigError
from heedful.importance.base import FunctionMeasure, Importances
from heedful.importance.seen import Need
from tests.auditing.doubles import a_subject
from tests.importance.models import a_batch, a_model, predicted


def words(seen):
    """1 for every word."""
    return seen.is_token.double()


def test_a_registered_function_keeps_its_summary_and_its_needs():
    family = Importances("importance measure")
    assert family.register("words", needs=[Need.DELETIONS])(words) is words
    assert family.summary("words") == "1 for every word."
    assert family["words"] == FunctionMeasure(words, frozenset({Need.DELETIONS}))
    assert family.audited == ["words"]


def test_a_measure_of_anything_is_also_called_with_a_classifier():
    model, batch = a_model(encoder="embedding"), a_batch(3, 2)
    scores = FunctionMeasure(words, frozenset())(model, batch, predicted(model, batch))
    torch.testing.assert_close(scores, batch.is_token.double())


def test_a_class_that_is_no_measure_is_refused():
    with pytest.raises(ValueError, match="'wrong': a class of measures derives from Importance"):
        Importances("importance measure").register("wrong")(dict)


def test_a_measure_that_looks_at_what_it_did_not_name_is_told_to_name_it():
    subject = a_subject({"good": 2.0})
    seen = subject.see(subject.read(["a good film"]))
    for look, what in (
        (lambda: seen.by_parts(lambda part: part.run().logits), "word embeddings"),
        (lambda: seen.by_weights(lambda weights, slope: slope), "attention weights"),
        (lambda: seen.decide(lambda weights: weights.unsqueeze(1)), "with other weights"),
    ):
        with pytest.raises(ConfigError, match=f"does not provide .*{what}; list it in"):
            look()
