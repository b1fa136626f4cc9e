"""Any module through its adapter: the same answers as the classifier that it wraps, and checks."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import heedful
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.modules.adapter import ModuleAdapter, ModuleTrace
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.counterfactual.adversarial import Adversarial
from heedful.counterfactual.baselines import Frozen, Permuted, uniform
from heedful.errors import ConfigError, DataError

PAGE = Path(__file__).parents[3] / "docs" / "any-module.md"
QUICK = AuditSettings(search=Adversarial(steps=20, learning_rate=0.1), sampled_documents=20)
TEXTS = ["positiveaaa neutralaaa", "Neutralaab", "neutralaaa neutralaab negativeaaa unheard of"]


LACKS_EMBEDDINGS = (
    "this module has no gradient-norm, which needs gradients with respect to word embeddings. "
    "Available: attention, "
)


class Wrapped(ModuleAdapter):
    """Our own classifier as if it were somebody else's module."""

    def __init__(self, trained) -> None:
        super().__init__(trained.model, trained.classes)
        self.trained = trained

    def words(self, text):
        return self.trained.tokenizer.offsets(text).tolist()

    def read(self, documents):
        batch = self.trained.batches([" ".join(words) for words in documents]).whole()
        trace = self.module.read(self.module.embed(batch), batch.is_token)
        return ModuleTrace(trace.hidden, trace.weights, trace.logits, trace.embedded)

    def decide(self, states, weights):
        return self.module.decide(states, weights)


@pytest.fixture(scope="module")
def trained(planted):
    made = heedful.Classifier(
        encoder="bigru:hidden_size=6", embedding_size=8, optimizer="adam:learning_rate=0.03",
        recipe="standard:epochs=4", split="spaces",
    )  # fmt: skip
    return made.fit(planted.train.texts, planted.train.labels).trained_


def both(trained, texts=TEXTS):
    subjects = ClassifierSubject(trained), ModuleSubject(Wrapped(trained))
    return [(subject, subject.read(texts)) for subject in subjects]


def test_a_module_reads_and_decides_as_the_classifier_that_it_is(trained):
    (ours, known), (module, found) = both(trained)
    np.testing.assert_allclose(found.weights, known.weights, atol=1e-6)
    np.testing.assert_allclose(found.probabilities, known.probabilities, atol=1e-6)
    np.testing.assert_array_equal(found.is_token, known.is_token)
    attentions = np.random.default_rng(0).dirichlet(np.ones(found.weights.shape[1]), size=(3, 7))
    np.testing.assert_allclose(
        module.decide(found, attentions), ours.decide(known, attentions), atol=1e-6
    )
    np.testing.assert_allclose(
        module.without_evidence(found), ours.without_evidence(known), atol=1e-6
    )
    document, is_kept = np.array([2, 0, 2, 1]), np.random.default_rng(1).random((4, 5)) < 0.5
    is_kept[1] = False
    np.testing.assert_allclose(
        module.predict_kept(found, document, is_kept),
        ours.predict_kept(known, document, is_kept & known.is_token[document]),
        atol=1e-6,
    )


def test_every_measure_of_a_module_is_the_classifiers_own(trained):
    (ours, known), (module, found) = both(trained)
    by_text = {"random"}  # the classifier draws by the place in the corpus
    assert set(module.measures) - by_text == {
        "attention", "leave-one-out", "leave-one-out-states", "gradient-x-input",
        "gradient-x-input-held", "gradient-norm", "state-gradient-norm", "weight-gradient",
        "attention-x-gradient",
    }  # fmt: skip
    for measure in set(module.measures) - by_text:
        expected = ours.importance(known, measure)
        # Gradients in single precision, summed in another order: a few roundings of their size.
        np.testing.assert_allclose(
            module.importance(found, measure), expected, rtol=1e-5, atol=1e-6
        )


def test_states_and_their_influence_are_the_classifiers_own(trained):
    (ours, known), (module, found) = both(trained)
    expected = ours.states(known)
    for name, states in module.states(found).items():
        is_token = found.is_token[..., None]
        np.testing.assert_allclose(states * is_token, expected[name] * is_token, atol=1e-6)
    np.testing.assert_allclose(module.influence(found), ours.influence(known), atol=1e-5)


def test_the_same_word_has_the_same_number_and_padding_none(trained):
    _, (module, found) = both(trained)
    ids = module.word_ids(found)
    assert ids[0, 1] == ids[2, 0] != ids[2, 1] == ids[1, 0]
    assert (ids >= 0).tolist() == found.is_token.tolist()


def test_other_attentions_are_points_of_the_simplex_over_the_words(trained):
    _, (module, found) = both(trained)
    for kind in (uniform, Permuted(100), QUICK.search):
        attentions = module.otherwise(found, kind, seed=1)
        np.testing.assert_allclose(attentions.sum(axis=-1), 1, atol=1e-5)
        assert (attentions * ~found.is_token[:, None] == 0).all()
        np.testing.assert_array_equal(attentions, module.otherwise(found, kind, seed=1))
    with pytest.raises(ConfigError, match="needs the internals of a heedful classifier"):
        module.otherwise(found, Frozen(), seed=1)


def test_reading_a_few_words_at_a_time_changes_nothing(trained):
    adapter = Wrapped(trained)
    adapter.words_at_once = 5
    few = ModuleSubject(adapter)
    _, (module, found) = both(trained)
    reading = few.read(TEXTS)
    assert len(reading.inner[1]) > 1
    np.testing.assert_allclose(reading.weights, found.weights, atol=1e-6)
    for measure in module.measures:
        np.testing.assert_allclose(
            few.importance(reading, measure),
            module.importance(found, measure),
            rtol=1e-5,
            atol=1e-6,
        )


def test_a_text_without_words_is_decided_from_nothing(trained):
    module = ModuleSubject(Wrapped(trained))
    for texts in (["", "neutralaaa positiveaaa"], [" ", ""]):
        reading = module.read(texts)
        assert (reading.weights[0] == 0).all()
        np.testing.assert_allclose(
            reading.probabilities[0], module.without_evidence(reading)[0], atol=1e-6
        )
        assert (module.importance(reading, "gradient-x-input")[0] == 0).all()
        assert (module.states(reading)["hidden"][0] == 0).all()


def test_a_text_without_words_leaves_the_others_alone(trained):
    _, (module, found) = both(trained)
    beside = module.read([*TEXTS, ""])
    np.testing.assert_allclose(beside.probabilities[:3], found.probabilities, atol=1e-6)
    known, states = (module.states(reading)["hidden"][:3] for reading in (found, beside))
    np.testing.assert_allclose(states, known, atol=1e-6)


def test_a_group_of_texts_without_any_word_has_no_variants(trained):
    subject = ModuleSubject(Wrapped(trained))
    reading = subject.read(["  "])
    nothing = np.empty(0, dtype=np.int64), np.empty((0, 1), dtype=bool)
    assert subject.predict_kept(reading, *nothing).shape == (0, len(trained.classes))
    assert not subject.importance(reading, "leave-one-out").any()


def test_an_audit_asks_what_can_be_asked_and_says_why_it_does_not_ask_the_rest(trained, planted):
    texts, labels = planted.test.texts[:40], planted.test.labels[:40]
    result = heedful.audit(Wrapped(trained), texts, QUICK, labels=labels)
    asked = {answer.question for answer in result.answers if answer.judgement is not None}
    assert asked == {"decisive", "exclusive", "agreeing", "telling", "grounded", "leak-free"}
    reasons = {a.question: a.reason for a in result.answers if a.judgement is None}
    assert "training documents" in reasons["discerning"]
    assert reasons["needed"] == reasons["stable"]
    assert "audited as it is" in reasons["needed"]
    assert result.about["labelled_documents"] == 40
    own = heedful.audit(ClassifierSubject(trained), planted.test[:40], QUICK)
    for question in ("telling", "agreeing"):
        known = {test.name: test.score.value for test in own.answer(question).tests}
        for test in result.answer(question).tests:
            assert test.score.value == pytest.approx(known[test.name], abs=0.01)


def test_without_embeddings_what_takes_them_is_not_asked(trained):
    class Bare(Wrapped):
        def read(self, documents):
            return replace(super().read(documents), embedded=None)

    module = ModuleSubject(Bare(trained))
    assert "returns no embeddings" in module.refuses("grounded")
    assert set(ModuleSubject(Wrapped(trained)).measures) - set(module.measures) == {
        "gradient-x-input", "gradient-x-input-held", "gradient-norm"
    }  # fmt: skip
    with pytest.raises(ConfigError, match=LACKS_EMBEDDINGS):
        module.importance(module.read(TEXTS), "gradient-norm")


class Small(nn.Module):
    """A bag of words with attention, small enough to break in every way."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, 4)
        self.embedding.weight.requires_grad_(False)
        self.dropout = nn.Dropout(0.5)
        self.score, self.head = nn.Linear(4, 1), nn.Linear(4, 2)


class SmallAdapter(ModuleAdapter):
    def words(self, text):
        return [match.span() for match in re.finditer(r"\S+", text)]

    def read(self, documents):
        width = max(map(len, documents))
        ids = torch.tensor([[ord(w[0]) for w in d] + [0] * (width - len(d)) for d in documents])
        embedded = self.module.dropout(self.module.embedding(ids))
        scores = self.module.score(embedded).squeeze(-1).masked_fill(ids == 0, -torch.inf)
        weights = scores.softmax(dim=-1)
        return ModuleTrace(embedded, weights, SmallAdapter.decide(self, embedded, weights))

    def decide(self, states, weights):
        return self.module.head((weights.unsqueeze(-1) * states).sum(dim=1))


def a_small_adapter(kind=SmallAdapter):
    torch.manual_seed(0)
    return kind(Small(), ["bad", "good"])


def test_the_module_is_left_as_it_was_also_after_a_failure():
    adapter = a_small_adapter()
    module = adapter.module.train()
    module.head.eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    heedful.audit(adapter, [f"a b{n} c d" for n in "efghijk"], QUICK)

    def raising(states, weights):
        raise ZeroDivisionError

    adapter.decide = raising
    with pytest.raises(ZeroDivisionError):
        heedful.audit(adapter, ["a b"], QUICK)
    assert [part.training for part in (module, module.dropout, module.head)] == [True, True, False]
    assert [numbers.requires_grad for numbers in module.parameters()] == [False, *[True] * 4]
    assert all(numbers.grad is None for numbers in module.parameters())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_a_module_in_half_precision_is_audited_too():
    adapter = a_small_adapter()
    adapter.module.bfloat16()
    result = heedful.audit(adapter, [f"a b{n} c d" for n in "efghijk"], QUICK)
    assert np.isfinite(result.columns["epsilon_max_jsd"]).all()
    assert result.columns["permuted_tvd"].max() > 0


@pytest.mark.usefixtures("cuts_by_hand")
def test_weights_that_the_decision_ignores_may_not_be_shown(trained, planted):
    class Deaf(Wrapped):
        def decide(self, states, weights):
            return self.module.decide(states, torch.full_like(weights, 1 / weights.shape[1]))

        def read(self, documents):
            trace = super().read(documents)
            return replace(trace, logits=self.decide(trace.states, trace.weights))

    same_length = [text for text in planted.test.texts if len(text.split()) == 12][:30]
    result = heedful.audit(Deaf(trained), same_length, QUICK, ["decisive"])
    assert result.verdict == "may-not"


def changed(**fields):
    """A reader whose trace has other fields."""

    def read(self, documents):
        trace = SmallAdapter.read(self, documents)
        return replace(trace, **{name: change(trace) for name, change in fields.items()})

    return {"read": read}


def without_gradients(self, documents):
    with torch.no_grad():
        trace = SmallAdapter.read(self, documents)
    return replace(trace, embedded=trace.states)


def in_inference_mode(self, documents):
    with torch.inference_mode():
        return SmallAdapter.read(self, documents)


WRONG = {
    "read should return a heedful.ModuleTrace, not tuple": {"read": lambda self, documents: ()},
    "logits of decide should be a tensor of floating-point numbers, not list": {
        "decide": lambda self, states, weights: []
    },
    "logits of read should be a tensor of floating-point numbers, not torch.int64": changed(
        logits=lambda trace: trace.logits.long()
    ),
    r"\(documents, words\) = \(2, 2\); they have \(2, 1\)": changed(
        weights=lambda trace: trace.weights[:, :1]
    ),
    r"\(documents, words, size\) = \(2, 2, any\); they have \(2, 4\)": changed(
        states=lambda trace: trace.states[:, 0]
    ),
    r"\(documents, classes\) = \(2, 2\); they have \(2, 1\)": changed(
        logits=lambda trace: trace.logits[:, :1]
    ),
    "states of read contain numbers that are not finite": changed(
        states=lambda trace: trace.states / 0
    ),
    "those of 'a' sum to 0.5, and with padding to 1": changed(
        weights=lambda trace: torch.full_like(trace.weights, 0.5)
    ),
    "sum to 2, and": changed(weights=lambda trace: 2 * trace.weights),
    "these look like probabilities": changed(logits=lambda trace: trace.logits.softmax(dim=-1)),
    "embedded should be the tensor": changed(embedded=lambda trace: 1 * trace.states),
    "Is read under torch.no_grad": {"read": without_gradients},
    "made under torch.inference_mode": {"read": in_inference_mode},
    "decide should be differentiable": {"decide": torch.no_grad()(SmallAdapter.decide)},
    "logits of decide should have the shape": {"decide": lambda self, states, weights: weights[0]},
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_an_adapter_gives_is_checked_before_anything_is_asked(sentence):
    adapter = a_small_adapter(type("Wrong", (SmallAdapter,), WRONG[sentence]))
    with pytest.raises(DataError, match=sentence):
        ModuleSubject(adapter)


def test_a_decision_that_is_not_the_modules_own_is_refused():
    wrong = changed(logits=lambda trace: trace.logits + torch.tensor([0.0, 1.0]))
    subject = ModuleSubject(a_small_adapter(type("Wrong", (SmallAdapter,), wrong)))
    with pytest.raises(DataError, match=r"for 'x y' the module gives .*, decide .*every step"):
        subject.read(["x y"])


def test_padding_that_is_read_is_found_out():
    class Wide(SmallAdapter):
        def read(self, documents):
            trace = super().read(documents)
            states = trace.states + trace.states.shape[1]
            return ModuleTrace(states, trace.weights, self.decide(states, trace.weights))

    subject = ModuleSubject(a_small_adapter(Wide))
    subject.read(["x y", "y x"])
    with pytest.raises(DataError, match=r"'z' gets .* with longer ones and .* alone"):
        subject.read(["x y z", "z"])


@pytest.mark.parametrize("places", [[(0, 9)], [(2, 1)], [(1, 2), (0, 1)], [(1, 1)], [(0, 1, 2)]])
def test_words_that_do_not_stand_in_the_text_are_refused(places):
    subject = ModuleSubject(a_small_adapter())
    subject.adapter.words = lambda text: places
    with pytest.raises(DataError, match="words should return"):
        subject.read(["x y"])


def test_what_is_no_adapter_is_told_how_to_become_one():
    with pytest.raises(DataError, match=r"a heedful.ModuleAdapter of any other module"):
        heedful.audit(Small(), ["a b"])
    with pytest.raises(ConfigError, match="at least two different classes"):
        SmallAdapter(Small(), ["a", "a"])


def test_labels_go_with_texts_and_what_looks_inside_with_a_classifier(planted):
    adapter = a_small_adapter()
    with pytest.raises(DataError, match="documents have labels already"):
        heedful.audit(adapter, planted.test, labels=planted.test.labels)
    with pytest.raises(DataError, match="expected one label per text"):
        heedful.audit(adapter, ["a b"], labels=["good", "bad"])
    with pytest.raises(ConfigError, match="no ablation, which needs the internals of a heedful"):
        heedful.audit(adapter, ["a b"], measures=["ablation"])


def test_the_page_does_what_it_says(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})
    out = capsys.readouterr().out
    assert out.startswith("The attention of this model")
    assert len(re.findall("not asked: ", out)) == 3
