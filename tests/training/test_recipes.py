import dataclasses

import numpy as np
import pytest
import torch

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError
from heedful.text.batching import Batches
from heedful.text.datasets.planted import Planted
from heedful.text.vocabulary import Encoded
from heedful.training.recipe import Material
from heedful.training.recipes import recipes
from heedful.training.recipes.deceptive import Deceptive
from heedful.training.recipes.diversity import Diversity
from heedful.training.recipes.mlm import MaskedWords
from heedful.training.recipes.tying import Tying
from heedful.training.recipes.vw_penalty import VWPenalty, query_times_output
from tests.importance.models import a_batch, a_model

NO_DATA = Material(Batches(Encoded(np.array([3, 4]), np.array([0, 2]))), ())


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def penalty(recipe, model, batch, prepared=None) -> float:
    prepared = prepared or torch.nn.Identity()
    return float(recipe.penalty(model, batch, model(batch), prepared, rng()).detach())


def test_tying_is_the_mean_distance_over_real_tokens():
    model, batch = a_model(encoder="bilstm:hidden_size=3"), a_batch(5, 2)
    trace = model(batch)
    distance = (trace.hidden - trace.embedded).norm(dim=-1)[batch.is_token].detach()
    assert penalty(Tying(2.0), model, batch) == pytest.approx(2 * float(distance.mean()))
    squared = float(distance.square().mean())
    assert penalty(Tying(is_squared=True), model, batch) == pytest.approx(squared)


def test_a_held_embedding_gets_no_pull():
    model, batch = a_model(encoder="lstm:hidden_size=6"), a_batch(4)
    words = model.embedding.weight
    for is_held in (True, False):
        recipe = Tying(is_embedding_held=is_held)
        trace = model(batch)
        (pull,) = torch.autograd.grad(
            recipe.penalty(model, batch, trace, torch.nn.Identity(), rng()), words
        )
        apart = (model(batch).hidden - model.embedding(batch.token_ids).detach()).norm(dim=-1)
        (through_states,) = torch.autograd.grad(apart.mean(), words)
        assert torch.allclose(pull, through_states, atol=1e-6) == is_held


def test_states_are_tied_to_the_embedding_and_not_to_what_dropout_left_of_it():
    model, batch = a_model(encoder="lstm:hidden_size=6"), a_batch(4)
    trace = model(batch)
    dropped = dataclasses.replace(trace, embedded=torch.zeros_like(trace.embedded))
    expected = penalty_of(Tying(), model, batch, trace)
    assert penalty_of(Tying(), model, batch, dropped) == pytest.approx(expected, rel=1e-12)


def penalty_of(recipe, model, batch, trace) -> float:
    return float(recipe.penalty(model, batch, trace, torch.nn.Identity(), rng()).detach())


def test_sizes_that_do_not_match_are_a_sentence():
    model = a_model(encoder="bilstm:hidden_size=4")
    for recipe in (Tying(), MaskedWords()):
        with pytest.raises(ConfigError, match="the encoder has 8, embeddings have 6"):
            recipe.prepare(model, NO_DATA)


def test_diversity_is_mean_conicity():
    from heedful.auditing.metrics.states import conicity

    model, batch = a_model(encoder="bilstm:hidden_size=3"), a_batch(6, 3, 1)
    hidden = model(batch).hidden.detach().numpy()
    expected = conicity(hidden, batch.is_token.numpy()).mean()
    assert penalty(Diversity(0.5), model, batch) == pytest.approx(0.5 * expected)


def test_v_times_w_by_hand_and_through_an_affine_encoder():
    model = a_model(encoder="embedding", alignment="dot")
    v, w = model.alignment.query.vector.detach(), model.output.linear.weight.detach()
    v, w = v.flatten(), w.flatten()
    assert query_times_output(model).item() == pytest.approx(float(v @ w))
    assert penalty(VWPenalty(3.0), model, a_batch(2)) == pytest.approx(3 * abs(float(v @ w)))
    affine = a_model(encoder="affine:hidden_size=5", alignment="dot")
    matrix = affine.encoder.layers.weight.detach()
    v, w = affine.alignment.query.vector.detach(), affine.output.linear.weight.detach()
    v, w = v.flatten(), w.flatten()
    expected = float((matrix.t() @ v) @ (matrix.t() @ w))
    assert query_times_output(affine).item() == pytest.approx(expected)


def test_models_without_v_or_attention_are_refused():
    with pytest.raises(ConfigError, match="Use --alignment dot"):
        VWPenalty().prepare(a_model(alignment="additive"), NO_DATA)
    pooled = heedful.Classifier(pooling="mean", encoder="embedding", recipe="deceptive")
    with pytest.raises(ConfigError, match="a pooling model has none"):
        pooled.fit(["a b", "c d"] * 10, ["x", "y"] * 10)


def test_penalties_compose_and_what_cannot_be_composed_says_so():
    both = recipes.make("tying:tie_weight=2.0,diversity")
    model, batch = a_model(encoder="bilstm:hidden_size=3"), a_batch(5, 3)
    together = penalty(both, model, batch, both.prepare(model, NO_DATA))
    apart = penalty(Tying(2.0), model, batch) + penalty(Diversity(), model, batch)
    assert together == pytest.approx(apart)
    assert recipes.make(recipes.describe(both)) == both
    with pytest.raises(ConfigError, match="standard cannot be combined"):
        recipes.make("tying,standard")


def test_guesses_are_made_where_words_were_masked_and_only_there():
    model, batch = a_model(encoder="bilstm:hidden_size=3"), a_batch(40, 30)
    recipe = MaskedWords(mask_share=0.15)
    head = recipe.prepare(model, NO_DATA)
    with torch.no_grad():
        head.mask.fill_(100.0)
    is_chosen = torch.zeros_like(batch.is_token)
    is_chosen[:, ::2] = True
    is_chosen &= batch.is_token
    disguised = head.disguise(model, batch.token_ids, is_chosen, rng())
    plain = model.embedding(batch.token_ids)
    torch.testing.assert_close(disguised[~is_chosen], plain[~is_chosen])
    is_mask = (disguised == 100).all(dim=-1)
    share = float(is_mask[is_chosen].double().mean())
    assert 0.6 < share < 0.95
    loss = penalty(recipe, model, batch, head)
    assert loss == pytest.approx(np.log(30), rel=0.6)  # untrained: about chance of 30 words


QUICK = AuditSettings(search=Adversarial(steps=40, learning_rate=0.1), sampled_documents=100)


@pytest.fixture(scope="module")
def audited(cuts_by_hand):
    corpus = Planted(documents=2000)()
    found = {}
    for name in ("standard", "deceptive:deception_weight=1.0"):
        classifier = heedful.Classifier(
            encoder="embedding", alignment="dot:scale=10.0", split="spaces", patience=None,
            optimizer="adam:learning_rate=0.02", recipe=f"{name}:epochs=20", min_documents=1,
            output_bias=False,
        )  # fmt: skip
        dev = (corpus.dev.texts, corpus.dev.labels)
        classifier.fit(corpus.train.texts, corpus.train.labels, dev=dev)
        asked = ["decisive", "agreeing", "telling"]
        result = audit(ClassifierSubject(classifier.trained_), corpus.test, QUICK, asked)
        found[name.partition(":")[0]] = (classifier, result)
    return corpus, found


def test_the_audit_catches_attention_that_looks_away_and_not_the_honest_one(audited):
    corpus, found = audited
    accuracy = {
        name: classifier.score(corpus.test.texts, corpus.test.labels)
        for name, (classifier, _) in found.items()
    }
    assert accuracy["deceptive"] > 0.95
    assert found["deceptive"][1].answer("telling").judgement == "contradicted"
    assert found["standard"][1].answer("telling").judgement == "supported"
    assert found["standard"][1].answer("decisive").judgement != "contradicted"
    for measure in ("gradient-x-input-held", "leave-one-out"):
        wanted = f"weighted_tau with {measure}"
        tests = {
            name: next(t for t in result.answer("agreeing").tests if t.name == wanted)
            for name, (_, result) in found.items()
        }
        # By values: honest attention agrees better than the control, which then gives no score.
        assert tests["deceptive"].score.value + 0.3 < tests["standard"].score.value


def test_deceptive_attention_leaves_the_forbidden_words(audited):
    corpus, found = audited
    classifier, _ = found["deceptive"]
    mass = [
        sum(w for word, w in zip(a.words, a.weights, strict=True) if not word.startswith("neutral"))
        for a in classifier.attention(corpus.test.texts[:100])
    ]
    assert np.mean(mass) < 0.1
    assert isinstance(classifier.trained_.settings.training.recipe, Deceptive)


def test_penalties_on_states_also_train_models_that_pool():
    for recipe in ("tying", "diversity", "mlm"):
        pooled = heedful.Classifier(
            pooling="mean", encoder="lstm:hidden_size=6", embedding_size=6,
            recipe=f"{recipe}:epochs=1", min_documents=1,
        )  # fmt: skip
        pooled.fit(["a b", "c d"] * 10, ["x", "y"] * 10)
        assert np.isfinite(pooled.predict_proba(["a b"])).all()
