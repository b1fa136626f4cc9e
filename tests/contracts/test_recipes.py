"""Rules that every recipe keeps, new ones included."""

import numpy as np
import pytest

import heedful
from heedful.errors import ConfigError
from heedful.training.recipe import Penalised
from heedful.training.recipes import recipes
from tests.contracts.test_every_family import choices

SIZES = {"embedding_size": 6, "encoder": "bilstm:hidden_size=3", "alignment": "dot", "dropout": 0.1}
every_recipe = pytest.mark.parametrize("name", recipes)
every_penalty = pytest.mark.parametrize(
    "name", [n for n, member in recipes.items() if issubclass(member, Penalised) and n != "all-of"]
)


def fitted(recipe, texts, labels, **options):
    settings = {**SIZES, "min_documents": 1, "split": "spaces", "patience": None, **options}
    return heedful.Classifier(recipe=recipe, **settings).fit(texts, labels, dev=(texts, labels))


def weights_of(classifier) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in classifier.model_.state_dict().items()}


ORDINARY = (["good fine film"] * 8 + ["bad poor film"] * 8, ["p"] * 8 + ["n"] * 8)
ODD = {
    "one label rare": (["good fine"] * 15 + ["bad"] * 7, ["p"] * 15 + ["n"] * 7),
    "documents of one word": (["good"] * 8 + ["bad"] * 8, ["p"] * 8 + ["n"] * 8),
    "documents all alike": (["same words here"] * 16, ["p", "n"] * 8),
    "three labels": (["a x"] * 8 + ["b x"] * 8 + ["c x"] * 8, ["a"] * 8 + ["b"] * 8 + ["c"] * 8),
}
REFUSED = {
    ("deceptive", "documents all alike"): "deceptive avoids words",
    ("faithful", "documents of one word"): "every training text has only one",
}


@every_recipe
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_recipe_ends_in_nan(name, odd, seed):
    texts, labels = ODD[odd]
    recipe = recipes.make({"name": name, "epochs": 2})
    if sentence := REFUSED.get((name, odd)):
        with pytest.raises(ConfigError, match=sentence):
            fitted(recipe, texts, labels, seed=seed)
        return
    classifier = fitted(recipe, texts, labels, seed=seed)
    assert all(np.isfinite(values).all() for values in weights_of(classifier).values())
    assert np.isfinite(classifier.predict_proba(texts)).all()


@every_recipe
def test_a_recipe_as_one_word_is_read_back(name):
    recipe = recipes.make(name)
    if name != "all-of":
        assert recipes.make(recipes.spec(recipe)) == recipe
    assert recipes.make(recipes.describe(recipe)) == recipe


@every_recipe
def test_the_seed_decides_every_weight(name):
    one, same = (fitted(f"{name}:epochs=2", *ORDINARY) for _ in range(2))
    for key, values in weights_of(one).items():
        np.testing.assert_array_equal(values, weights_of(same)[key])


@pytest.mark.parametrize(("name", "option", "words"), choices(recipes))
def test_the_word_for_an_option_decides_what_is_learnt(name, option, words):
    models = [weights_of(fitted(f"{name}:{option}={word}:epochs=2", *ORDINARY)) for word in words]
    for model in models:
        assert all(np.isfinite(values).all() for values in model.values())
    # Not each need differ: `auto` is one of the others.
    assert len({str([values.tolist() for values in model.values()]) for model in models}) > 1


WEIGHTS = {"tying": "tie_weight", "diversity": "diversity_weight", "vw-penalty": "vw_weight"}


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_penalty_of_no_weight_changes_nothing(name):
    plain = fitted("standard:epochs=2", *ORDINARY)
    without = fitted(f"{name}:{WEIGHTS[name]}=0.0:epochs=2", *ORDINARY)
    for key, values in weights_of(plain).items():
        np.testing.assert_allclose(values, weights_of(without)[key], atol=1e-6)


@every_penalty
def test_every_penalty_changes_what_is_learnt(name):
    plain = weights_of(fitted("standard:epochs=2", *ORDINARY))
    penalised = weights_of(fitted(f"{name}:epochs=2", *ORDINARY))
    assert any(not np.allclose(plain[key], penalised[key], atol=1e-7) for key in plain)
