"""KernelSHAP, LIME and other methods of Captum on words: identities, and Captum called by hand."""

import sys
from itertools import permutations

import captum.attr
import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnLasso

import heedful
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.errors import ConfigError, MissingPackage
from heedful.importance import from_captum_by_deletion, importances
from heedful.importance.base import seed_of
from heedful.importance.perturbation import KernelShap, Lime
from heedful.readouts import readouts
from heedful.text.documents import fingerprints
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import PLANTED, planted_documents, tiny_model, tiny_tokenizer

POINTS = {"good": 0.2, "fine": 0.1, "bad": -0.15, "poor": -0.05}
TEXT = "a good and fine film with a bad end and poor songs"


def additive():
    """The probability of the second class is 0.5 and the points of the words: what each word adds
    depends on no other."""

    def predict(texts):
        second = np.array([0.5 + sum(POINTS.get(w, 0.0) for w in t.split()) for t in texts])
        return np.column_stack([1 - second, second])

    return a_subject({}, predict=predict)


def importance(subject, text, measure):
    reading = subject.read([text])
    named = subject.with_measures([measure])
    return named.importance(reading, list(named.further)[-1])[0]


def a_decided_model(kind, *words):
    """A random one to which words matter: by its own weights they hardly move the probability."""
    model = tiny_model(kind, *words)
    with torch.no_grad():
        (model.score if kind == "GPT2" else model.classifier).weight.mul_(20)
    return model


def a_transformer(kind):
    model = TransformerModel(a_decided_model(kind), tiny_tokenizer())
    return subject_of(model, readouts.make("last-cls"), ("bad", "good"))


@pytest.mark.parametrize(
    ("measure", "near"),
    [
        (KernelShap(), 1e-4),
        (Lime(alpha=1e-6), 1e-4),
        (from_captum_by_deletion(captum.attr.ShapleyValueSampling, n_samples=2), 1e-6),
        (from_captum_by_deletion(captum.attr.FeatureAblation), 1e-6),
        (from_captum_by_deletion(captum.attr.Occlusion), 1e-6),
    ],
)
def test_where_words_only_add_up_every_method_is_leave_one_out(measure, near):
    subject = additive()
    found = importance(subject, TEXT, measure)
    expected = [POINTS.get(word, 0.0) for word in TEXT.split()]
    np.testing.assert_allclose(found, expected, atol=near)
    alone = subject.importance(subject.read([TEXT]), "leave-one-out")[0]
    np.testing.assert_allclose(found, alone, atol=near)


def shapley_values(subject, text):
    """By their definition: the mean over all orders of what a word adds to those before it."""
    reading = subject.read([text])
    words, target = len(reading.offsets[0]), reading.prediction[0]
    total, orders = np.zeros(words), list(permutations(range(words)))
    is_kept = np.array([[(s >> w) & 1 == 1 for w in range(words)] for s in range(2**words)])
    document = np.zeros(len(is_kept), dtype=np.int64)
    of = subject.predict_kept(reading, document, is_kept)[:, target]
    for order in orders:
        kept = 0
        for word in order:
            total[word] += of[kept | 1 << word] - of[kept]
            kept |= 1 << word
    return total / len(orders), of[-1] - of[0]


@pytest.mark.parametrize("kind", ["Bert", "GPT2"])
def test_kernel_shap_nears_the_shapley_values_and_sums_to_what_all_words_do(kind):
    subject, text = a_transformer(kind), "a good happily old film"
    exact, difference = shapley_values(subject, text)
    few, many = (importance(subject, text, KernelShap(n)) for n in (10, 3000))
    near, far = (np.abs(found - exact).max() for found in (many, few))
    assert near < min(far / 5, np.abs(exact).max() / 4)
    for found in (few, many):
        assert found.sum() == pytest.approx(difference, abs=1e-3)


def with_only(subject, text, target):
    """A forward function for Captum, in a loop: words written with blanks between them."""

    def forward(presence):
        words = text.split(" ")
        texts = [" ".join(w for w, p in zip(words, row, strict=True) if p) for row in presence]
        return torch.from_numpy(subject.predict_texts(texts)[:, target])

    return forward


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", ["kernel-shap", "lime"])
def test_captum_called_by_hand_gives_the_same(name, seed):
    subject, text = a_transformer("GPT2"), "a good unhappily old film is new"
    target = int(subject.read([text]).prediction[0])
    forward, present = with_only(subject, text, target), torch.ones(1, 7)
    torch.manual_seed(seed_of(seed, int(fingerprints([text])[0])))
    if name == "lime":
        by_hand = captum.attr.Lime(forward, SkLearnLasso(alpha=0.01))
    else:
        by_hand = captum.attr.KernelShap(forward)
    expected = by_hand.attribute(present, n_samples=50)[0]
    found = importance(subject, text, f"{name}:n_samples=50:seed={seed}")
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found).max() > 0.01
    other = importance(subject, text, f"{name}:n_samples=50:seed={seed + 1}")
    assert np.abs(found - other).max() > 1e-3


def test_a_word_of_several_pieces_is_taken_away_whole():
    subject = a_transformer("Bert")
    reading = subject.read(["unhappily good"])
    assert len(reading.inner[0].word_of) == 6  # [CLS] un ##happi ##ly good [SEP]
    asked = []
    plain = type(subject).predict_kept

    def watched(self, reading, document, is_kept):
        asked.append(is_kept)
        return plain(self, reading, document, is_kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(subject), "predict_kept", watched)
        found = subject.importance(reading, "kernel-shap")
    assert found.shape == (1, 2)
    assert len(np.concatenate(asked)) == 200
    _, difference = shapley_values(subject, "unhappily good")
    assert found.sum() == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("name", ["kernel-shap", "lime"])
@pytest.mark.parametrize("kind", ["Bert", "GPT2"])
def test_texts_of_one_word_of_none_and_of_unknown_words_have_scores(name, kind):
    subject = a_transformer(kind)
    reading = subject.read(["good", "", "zebra yak", "good zebra bad film"])
    found = subject.importance(reading, name)
    assert np.isfinite(found).all()
    assert (found[~reading.is_token] == 0).all()
    nothing = subject.predict_texts([""])[0, reading.prediction[0]]
    assert found[0, 0] == pytest.approx(reading.probabilities[0].max() - nothing)
    alone = subject.importance(subject.read(["good zebra bad film"]), name)
    np.testing.assert_allclose(found[3], alone[0], atol=1e-4)  # neighbours change nothing


def test_drawing_is_repeated_and_disturbs_nobody():
    subject = a_transformer("Bert")
    reading = subject.read(["a good film is old"])
    before = torch.random.get_rng_state()
    first = importance(subject, "a good film is old", KernelShap(20))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(1)
    again = subject.importance(reading, "kernel-shap:n_samples=20")[0]
    np.testing.assert_array_equal(first, again)


def test_a_sure_models_small_differences_are_kept():
    # 0.9999999 and less: single precision has no such differences, those from the whole text are.
    adds = {"good": 3e-8, "fine": 1e-8}

    def predict(texts):
        lost = np.array([1e-7 - sum(adds.get(w, 0.0) for w in t.split()) for t in texts])
        return np.column_stack([lost, 1 - lost])

    found = importance(a_subject({}, predict=predict), "a good and fine film", KernelShap())
    np.testing.assert_allclose(found, [0, 3e-8, 0, 1e-8, 0], atol=1e-10)


@pytest.mark.parametrize("kind", ["Bert", "GPT2"])
def test_an_audit_judges_what_is_asked_for(kind):
    pair = (a_decided_model(kind, PLANTED), tiny_tokenizer(PLANTED))
    shapley = from_captum_by_deletion(captum.attr.ShapleyValueSampling, n_samples=2)
    result = heedful.audit(
        pair, planted_documents(24), AuditSettings(sampled_documents=24), ["telling"],
        measures=["kernel-shap:n_samples=60", "lime:n_samples=60:alpha=0.001", shapley],
    )  # fmt: skip
    rows = {row["measure"]: row for row in result.evidence["measures"]}
    names = ["kernel-shap:n_samples=60", "lime:n_samples=60:alpha=0.001"]
    for name in (*names, "captum-shapley-value-sampling-by-deletion"):
        assert rows[name]["verdict"] in ("may", "not-safe", "may-not")
        assert rows[name]["comprehensiveness"] > rows["random"]["comprehensiveness"]
        assert f"comprehensiveness_{name}" in result.columns


def test_readings_of_one_model_share_the_scores(monkeypatch):
    subject, text = a_transformer("Bert"), "a good film is old"
    calls, plain = [], KernelShap.of
    monkeypatch.setattr(KernelShap, "of", lambda self, seen: calls.append(1) or plain(self, seen))
    other = subject_of(subject.model, readouts.make("rollout"), ("bad", "good"))
    first, again = (importance(one, text, "kernel-shap") for one in (subject, other))
    np.testing.assert_array_equal(first, again)
    assert len(calls) == 1


def test_without_captum_a_sentence_says_what_to_install(monkeypatch):
    subject = a_transformer("Bert")
    for name in [one for one in sys.modules if one.partition(".")[0] == "captum"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "captum", None)
    for name in ("kernel-shap", "lime"):
        sentence = (
            f"^{name} needs the package captum, which is not installed. Install it with pip "
            r"install 'heedful\[captum\]'\.$"
        )
        with pytest.raises(MissingPackage, match=sentence):
            subject.importance(subject.read(["a good film"]), name)
        with pytest.raises(MissingPackage, match=sentence):  # before anything is measured
            subject.with_measures([name])
        assert importances.options(name)["n_samples"] == 200


class OfTheText:
    """One number for all words."""

    def __init__(self, forward):
        self.forward_func = forward

    def attribute(self, present):
        return self.forward_func(torch.zeros_like(present))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: KernelShap(1), "n_samples should be at least 2, not 1."),
        (lambda: from_captum_by_deletion(3), "3 is not a Captum method"),
        (lambda: from_captum_by_deletion(captum.attr.Lime, target=1), "heedful sets these itself"),
        (
            lambda: from_captum_by_deletion(captum.attr.KernelShap, n_sample=3),
            "captum-kernel-shap-by-deletion has no option 'n_sample'. Did you mean 'n_samples'?",
        ),
        (
            lambda: from_captum_by_deletion(captum.attr.IntegratedGradients),
            "takes gradients, and deleted words have none. Use a method that",
        ),
        (
            lambda: from_captum_by_deletion(OfTheText, name="mine"),
            "mine should attribute to each of 12 words; it returned (1,). Request only",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ConfigError) as error:
        importance(additive(), TEXT, make())
    assert sentence in str(error.value)
