"""Captum's methods as measures: equal to ours where we have the same, refused in sentences."""

from functools import partial
from itertools import permutations

import captum.attr
import numpy as np
import pytest
import torch

import heedful
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.errors import ConfigError
from heedful.importance import Need, from_captum, importances
from heedful.importance.attention import attention, attention_score
from heedful.importance.base import ready
from heedful.importance.gradients import IntegratedGradients
from heedful.readouts import readouts
from tests.importance.models import a_batch, a_model, predicted
from tests.readouts.tiny import tiny_model, tiny_tokenizer

METHODS = [
    "IntegratedGradients", "InputXGradient", "Saliency", "DeepLift", "GradientShap", "Occlusion",
    "FeatureAblation", "ShapleyValueSampling", "KernelShap", "Lime",
]  # fmt: skip


@pytest.fixture(scope="module")
def classifier(planted):
    made = heedful.Classifier(
        encoder="embedding", embedding_size=8, dropout=0.0, optimizer="adam:learning_rate=0.05",
        recipe="standard:epochs=4", split="spaces",
    )  # fmt: skip
    return made.fit(planted.train.texts, planted.train.labels)


@pytest.mark.parametrize("encoder", ["embedding", "bilstm"])
def test_methods_that_we_have_too_give_our_numbers(encoder):
    model, batch = a_model(encoder=encoder), a_batch(6, 4)
    target = predicted(model, batch)
    pairs = [
        (from_captum(captum.attr.IntegratedGradients, n_steps=30), IntegratedGradients(30)),
        (from_captum(captum.attr.InputXGradient), importances["gradient-x-input"]),
        (from_captum(captum.attr.FeatureAblation, of="probabilities"), importances["ablation"]),
        (from_captum(captum.attr.Occlusion, of="probabilities"), importances["ablation"]),
    ]
    for theirs, ours in pairs:
        torch.testing.assert_close(theirs(model, batch, target), ours(model, batch, target))


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks", "ignore:You are providing")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_rules_of_measures(method):
    model, batch = a_model(encoder="bilstm"), a_batch(5, 3)
    measure = from_captum(getattr(captum.attr, method))
    target = predicted(model, batch)
    drawn = torch.random.get_rng_state()
    scores = measure(model.train(), batch, target)
    assert scores.shape == batch.token_ids.shape
    assert scores.isfinite().all()
    assert scores.abs().sum() > 0 or method == "Lime"  # which gives small effects nothing
    assert (scores[~batch.is_token] == 0).all()
    assert not scores.requires_grad
    assert model.training
    assert all(numbers.grad is None for numbers in model.parameters())
    assert not any(part._forward_hooks or part._backward_hooks for part in model.modules())
    assert torch.equal(torch.random.get_rng_state(), drawn)
    torch.rand(1)  # somebody else draws
    if method != "GradientShap":  # it draws from numpy
        torch.testing.assert_close(measure(model, batch, target), scores)


def test_a_method_is_a_class_an_object_of_one_or_a_function_that_makes_one():
    model, batch = a_model(encoder="bilstm"), a_batch(5, 3)
    target, kind = predicted(model, batch), captum.attr.IntegratedGradients
    another = a_model(encoder="embedding")
    object_of_another = kind(another, multiply_by_inputs=False)
    gradients = from_captum(object_of_another)(model, batch, target)
    by_function = from_captum(partial(kind, multiply_by_inputs=False), name="mine")
    torch.testing.assert_close(gradients, by_function(model, batch, target))
    assert not torch.allclose(gradients, from_captum(kind)(model, batch, target))
    assert object_of_another.forward_func is another
    hooks = from_captum(captum.attr.DeepLift(a_model(encoder="embedding")))
    with pytest.warns(UserWarning, match="Setting forward"):
        found = hooks(model, batch, target)
    with pytest.warns(UserWarning, match="Setting forward"):
        again = from_captum(captum.attr.DeepLift)(model, batch, target)
    torch.testing.assert_close(again, found)


def test_a_layer_behind_the_embedding_may_be_looked_at_and_the_embedding_itself_need_not():
    model, batch = a_model(encoder="bilstm"), a_batch(5, 3)
    target, kind = predicted(model, batch), captum.attr.LayerIntegratedGradients
    of_states = from_captum(kind(model, model.encoder))
    by_function = from_captum(lambda forward: kind(forward, forward.model.encoder), name="states")
    scores = of_states(model, batch, target)
    torch.testing.assert_close(scores, by_function(model, batch, target))
    assert of_states.name == "captum-layer-integrated-gradients"
    with pytest.raises(ConfigError, match="Use the same method without a layer"):
        from_captum(kind(model, model.embedding))(model, batch, target)
    with pytest.raises(
        ConfigError, match=r"to the vector of each word, \(2, 5\) of them; it returned"
    ):
        from_captum(kind(model, model.output))(model, batch, target)


WRONG = [
    (lambda: from_captum(3), "3 is not a Captum method"),
    (lambda: from_captum("IntegratedGradients"), "'IntegratedGradients' is not a Captum method"),
    (lambda: from_captum(int), "is not a Captum method"),
    (lambda: from_captum(a_model()), "is not a Captum method"),
    (lambda: from_captum(lambda forward: forward), "give one as `name`"),
    (lambda: from_captum(captum.attr.Saliency, target=1), "target: heedful sets these itself"),
    (
        lambda: from_captum(captum.attr.IntegratedGradients, n_step=3),
        "has no option 'n_step'. Did you mean 'n_steps'?",
    ),
    (lambda: from_captum(lambda forward: forward, name="mine"), "mine should turn a forward"),
    (
        lambda: from_captum(captum.attr.IntegratedGradients, return_convergence_delta=True),
        "it returned tuple",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG)
def test_what_is_no_method_is_refused(make, sentence):
    model, batch = a_model(encoder="embedding"), a_batch(5, 3)
    with pytest.raises(ConfigError) as error:
        make()(model, batch, predicted(model, batch))
    assert sentence in str(error.value)


def by_length(model, batch, target):
    return batch.is_token.double()


def test_measures_are_called_by_their_names():
    measures = ["ablation", IntegratedGradients(5), importances["attention"], by_length]
    theirs = from_captum(captum.attr.InputXGradient)
    assert list(ready([*measures, theirs])) == [
        "ablation", "integrated-gradients:steps=5", "attention", "by-length",
        "captum-input-x-gradient",
    ]  # fmt: skip
    assert list(ready([attention, attention_score])) == ["attention", "attention-score"]
    with pytest.raises(ConfigError, match="two measures are called 'captum-input-x-gradient'"):
        ready([theirs, theirs])
    for wrong in (3, captum.attr.Saliency, captum.attr.Saliency(a_model()), None):
        with pytest.raises(ConfigError, match="is not an importance measure"):
            ready([wrong])


def test_an_explanation_has_them_beside_ours(classifier, planted):
    theirs = from_captum(captum.attr.IntegratedGradients, n_steps=20)
    explanation = classifier.explain(planted.test.texts[0], [theirs, "integrated-gradients"])
    ours, captums = (
        explanation.scores[name] for name in ("integrated-gradients", "captum-integrated-gradients")
    )
    assert captums == pytest.approx(ours, abs=1e-5)
    assert {d.measure for d in explanation.deletions} == set(explanation.scores)


def test_an_audit_ranks_them_with_ours(classifier, planted):
    theirs = from_captum(captum.attr.IntegratedGradients, n_steps=20, name="theirs")
    quick = AuditSettings(sampled_documents=20)
    result = heedful.audit(classifier, planted.test[:30], quick, ["telling"], measures=[theirs])
    told = {row["measure"]: row["comprehensiveness"] for row in result.evidence["measures"]}
    assert told["theirs"] == pytest.approx(told["integrated-gradients"], abs=1e-6)
    of_transformers = {Need.HELD_LAYERS, Need.LAYERS}
    ours = {name for name in importances.audited if not importances[name].needs & of_transformers}
    assert set(told) == {*ours, "theirs"}
    with pytest.raises(ConfigError, match=r"^every audit already ranks ablation: leave it out of"):
        heedful.audit(classifier, planted.test, measures=["ablation"])


@pytest.fixture(scope="module", params=["Bert", "GPT2"])
def transformer(request):
    model = TransformerModel(tiny_model(request.param), tiny_tokenizer())
    return subject_of(model, readouts.make("last-cls"), ("bad", "good"))


TEXTS = ["a good unhappily old film", "bad", "a zebra is new . a film is happily old", ""]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (from_captum(captum.attr.IntegratedGradients, n_steps=20), "integrated-gradients"),
        (from_captum(captum.attr.InputXGradient), "gradient-x-input"),
        (
            from_captum(captum.attr.IntegratedGradients, n_steps=20, internal_batch_size=12),
            "integrated-gradients",
        ),
    ],
)
def test_gradients_of_a_transformer_are_ours_too(transformer, theirs, ours):
    reading = transformer.read(TEXTS)
    with_theirs = transformer.with_measures([theirs])
    found, expected = (
        one.importance(reading, name)
        for one, name in ((with_theirs, theirs.name), (transformer, ours))
    )
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert all(numbers.grad is None for numbers in transformer.model.model.parameters())


def test_every_document_of_a_transformer_is_read_with_its_own_noise(transformer):
    """Methods that repeat each document in turn, and not all of them again and again."""
    by_noise = from_captum(
        lambda forward: captum.attr.NoiseTunnel(captum.attr.InputXGradient(forward)),
        name="smooth", nt_type="smoothgrad", nt_samples=3, stdevs=1e-6,
    )  # fmt: skip
    reading = transformer.read(TEXTS)
    found = transformer.with_measures([by_noise]).importance(reading, "smooth")
    expected = transformer.importance(reading, "gradient-x-input")
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["Saliency", "GradientShap"])
def test_other_gradients_of_a_transformer_have_scores_for_words_alone(transformer, method):
    measure = from_captum(getattr(captum.attr, method), name="theirs")
    reading = transformer.read(TEXTS)
    found = transformer.with_measures([measure]).importance(reading, "theirs")
    assert np.isfinite(found).all()
    assert (found[~reading.is_token] == 0).all()
    assert (found[reading.is_token] != 0).all()


def test_of_probabilities_in_a_transformer(transformer):
    reading, kind = transformer.read(TEXTS[:1]), captum.attr.InputXGradient
    logits, probabilities, other = (
        transformer.with_measures([one]).importance(reading, one.name, target)
        for one, target in (
            (from_captum(kind), None),
            (from_captum(kind, of="probabilities"), None),
            (from_captum(kind, of="probabilities"), 1 - reading.prediction),
        )
    )
    np.testing.assert_allclose(other, -probabilities, atol=1e-6)  # two classes
    assert not np.allclose(logits, probabilities)


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        (from_captum(captum.attr.KernelShap), "from_captum_by_deletion, which deletes whole words"),
        (from_captum(captum.attr.DeepLift), "hooks modules or looks at a layer"),
        (
            from_captum(captum.attr.IntegratedGradients, return_convergence_delta=True),
            "it returned tuple",
        ),
    ],
)
def test_what_a_transformer_has_not_is_refused_with_what_works(transformer, theirs, sentence):
    with pytest.raises(ConfigError) as error:
        transformer.with_measures([theirs]).importance(transformer.read(TEXTS), theirs.name)
    assert sentence in str(error.value)


def test_an_audit_of_a_transformer_ranks_them_with_ours(transformer):
    theirs = from_captum(captum.attr.InputXGradient, name="theirs")
    pair = (transformer.model.model, tiny_tokenizer())
    texts = [" ".join(words) for words in permutations(("a", "good", "bad", "film"))]
    result = heedful.audit(pair, texts, asked=["telling"], measures=[theirs])
    told = {row["measure"]: row for row in result.evidence["measures"]}
    ours = told["gradient-x-input"]["comprehensiveness"]
    assert told["theirs"]["comprehensiveness"] == pytest.approx(ours, abs=1e-6)
    assert told["theirs"]["verdict"] in ("may", "not-safe", "may-not")
