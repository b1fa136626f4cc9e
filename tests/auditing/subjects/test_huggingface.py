"""Hugging Face classifiers under audit: random tiny models of eight architectures."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from transformers import AttentionInterface, TextClassificationPipeline

import heedful
from heedful.auditing.measuring import fewest_for_verdict
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.sampling import drawn
from heedful.auditing.subjects.base import Decides
from heedful.auditing.subjects.huggingface.attention import Watch, watching
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings, prepare_readings
from heedful.auditing.subjects.huggingface.loading import LoadedTransformer, of_pair
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.ranking import joint_intervals
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.auditing.subjects.huggingface.subject import DecidingTransformer, subject_of
from heedful.auditing.subjects.huggingface.tokenization import PieceCutter, shortened
from heedful.counterfactual.baselines import Frozen, Permuted, uniform
from heedful.errors import ConfigError, DataError
from heedful.readouts import readouts
from heedful.text.documents import Document, Documents
from tests.readouts.tiny import (
    KINDS,
    REPLACEABLE,
    fine_tuned,
    planted_documents,
    tiny_model,
    tiny_tokenizer,
)

# DeBERTa's own code, on import.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

TEXTS = ["Good old film, unhappily bad.", "a bad film", "new"]
CLASSES = ("bad", "good")
# A probability in single precision is good to 6e-8. Batches of other sizes, padding and imposed
# weights add up in another order on other processors, which costs a few such roundings.
ROUNDING = 1e-6


def a_model(kind: str = "Bert", **changes) -> TransformerModel:
    return TransformerModel(tiny_model(kind, **changes), tiny_tokenizer())


def a_subject(kind: str = "Bert", readout: str = "last-cls") -> DecidingTransformer:
    return subject_of(a_model(kind), readouts.make(readout), CLASSES)


def words_of(reading, row: int = 0) -> list[str]:
    return [reading.texts[row][start:end] for start, end in reading.offsets[row].tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_the_users_own_and_weights_sum_to_1_over_them(kind):
    subject = subject_of(a_model(kind), readouts.make("mean-layers"), CLASSES)
    reading = subject.read(TEXTS)
    assert words_of(reading) == ["Good", "old", "film", ",", "unhappily", "bad", "."]
    assert reading.is_token.sum(axis=1).tolist() == [7, 3, 1]
    np.testing.assert_allclose(reading.weights.sum(axis=1), 1)
    assert (reading.weights[~reading.is_token] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("readout", ["mean-layers", "attention-x-gradient"])
def test_padding_changes_nothing(kind, readout):
    subject = subject_of(a_model(kind), readouts.make(readout), CLASSES)
    together = subject.read(TEXTS)
    assert together.probabilities.std(axis=0).max() > 1e-4  # texts matter, beside the tolerances
    for row, text in enumerate(TEXTS):
        alone = subject.read([text])
        words = alone.weights.shape[1]
        np.testing.assert_allclose(alone.probabilities[0], together.probabilities[row], atol=1e-5)
        np.testing.assert_allclose(alone.weights[0], together.weights[row, :words], atol=1e-5)
    np.testing.assert_allclose(
        subject.model.probabilities(TEXTS), together.probabilities, atol=1e-5
    )


@pytest.mark.parametrize("kind", REPLACEABLE)
def test_other_weights_act_inside_the_model_and_rows_still_sum_to_1(kind):
    subject = a_subject(kind)
    reading = subject.read(TEXTS)
    one_hot = np.broadcast_to(np.eye(7), (3, 7, 7))
    moved = reading.moved(subject.decide(reading, one_hot))
    assert moved[0].max() > 100 * ROUNDING
    assert moved[2].max() < ROUNDING  # of one word, nothing can be taken away
    rows = []

    class Noted(Watch):
        def __call__(self, *told, **more):
            output, weights = super().__call__(*told, **more)
            rows.append(weights.sum(dim=-1))
            return output, weights

    batch = subject.model.cutter.pad(reading.inner)
    impose = _imposition(subject, batch, reading.weights, np.eye(7)[[2, 1, 0]])
    with torch.inference_mode(), watching(subject.model.model, Noted(impose)):
        subject.model.model(**batch.inputs)
    assert len(rows) == 2
    for sums in rows:
        is_real = batch.is_real[:, None].expand(sums.shape)
        torch.testing.assert_close(sums[is_real], torch.ones(int(is_real.sum())))


def _imposition(subject, batch, shown, imposed):
    from heedful.auditing.subjects.huggingface.attention import Imposition

    layers, heads = subject.readout.layers(2), subject.readout.heads(4)
    shown, imposed = (torch.from_numpy(weights) for weights in (shown, imposed))
    is_read = subject.model.is_read(batch)
    return Imposition.of(layers, heads, is_read, batch.word_of, shown, imposed)


@pytest.mark.parametrize("kind", REPLACEABLE)
@pytest.mark.parametrize("readout", readouts)
def test_imposing_the_shown_weights_changes_nothing(kind, readout):
    subject = a_subject(kind, readout)
    reading = subject.read(TEXTS)
    same = subject.decide(reading, reading.weights[:, None])[:, 0]
    np.testing.assert_allclose(same, reading.probabilities, atol=1e-5)


def test_a_head_gets_exactly_the_imposed_weights_and_specials_keep_theirs():
    subject = a_subject("Bert", "head:layer=1:head=2")
    reading = subject.read(TEXTS[:1])
    batch = subject.model.cutter.pad(reading.inner)
    wanted = (reading.weights + np.eye(7)[4] + np.eye(7)[1]) / 3  # word 4 has three pieces
    impose = _imposition(subject, batch, reading.weights, wanted)
    own, other = Watch(), Watch(impose)
    for watch in (own, other):
        with torch.inference_mode(), watching(subject.model.model, watch):
            subject.model.model(**batch.inputs)
    before, after = own.weights[1][0], other.weights[1][0]
    is_word = batch.word_of[0] >= 0
    torch.testing.assert_close(after[2, 0, ~is_word], before[2, 0, ~is_word])
    of_words = torch.zeros(7).scatter_add(0, batch.word_of[0, is_word], after[2, 0, is_word])
    torch.testing.assert_close(of_words / of_words.sum(), torch.tensor(wanted[0]).float())
    torch.testing.assert_close(after[[0, 1, 3]], before[[0, 1, 3]])  # other heads
    torch.testing.assert_close(after[2, 1:], before[2, 1:])  # other rows
    torch.testing.assert_close(other.weights[0], own.weights[0])  # the other layer


def test_all_weight_on_a_word_takes_it_from_all_others_in_every_head():
    subject = a_subject("Bert", "mean-layers")
    reading = subject.read(TEXTS[:1])
    batch = subject.model.cutter.pad(reading.inner)
    watch = Watch(_imposition(subject, batch, reading.weights, np.eye(7)[[4]]))
    with torch.inference_mode(), watching(subject.model.model, watch):
        subject.model.model(**batch.inputs)
    is_other = (batch.word_of[0] >= 0) & (batch.word_of[0] != 4)
    assert (torch.stack(watch.weights)[:, 0, :, 0, is_other] == 0).all()


def test_an_architecture_that_ignores_other_attention_is_only_read():
    model = a_model("DebertaV2")
    subject = subject_of(model, readouts.make("rollout"), CLASSES)
    assert not isinstance(subject, Decides)
    for question in ("decisive", "exclusive"):
        assert "DebertaV2ForSequenceClassification ignores attention" in subject.refuses(question)
    with pytest.raises(
        ConfigError, match="value-norm cannot be read: the model does not show the values"
    ):
        subject_of(model, readouts.make("value-norm"), CLASSES)
    loaded = LoadedTransformer("tiny", model, CLASSES)
    names, notes = subjects_of(loaded, None)
    assert list(names) == ["last-cls", "mean-layers", "rollout", "attention-x-gradient"]
    assert notes == [
        "value-norm is left out: the model does not show the values that it attends to"
    ]


OTHERS = {
    "MPNet": (KINDS["Bert"], "ignores attention"),
    "BigBird": (KINDS["Bert"], "ignores attention"),
    "XLNet": ({"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 37}, "ignores attention"),
}
UNREADABLE = {
    "FNet": ({"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 37}, "no attention"),
    "Longformer": (KINDS["Bert"] | {"attention_window": 4}, "cannot be read out"),
    "Funnel": (
        {"d_model": 32, "d_head": 8, "n_head": 4, "d_inner": 37, "block_sizes": [1, 1]},
        "cannot be read out",
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_further_architectures_that_ignore_it(kind, monkeypatch):
    monkeypatch.setitem(KINDS, kind, OTHERS[kind][0])
    assert OTHERS[kind][1] in a_model(kind).why_fixed


def test_layers_that_attend_in_a_narrower_space_are_not_added_up(monkeypatch):
    narrow = KINDS["Bert"] | {"embedding_size": 16, "intra_bottleneck_size": 16}
    monkeypatch.setitem(KINDS, "MobileBert", narrow)
    assert a_model("MobileBert").why_no_sums


@pytest.mark.parametrize("kind", UNREADABLE)
def test_attention_that_is_not_there_or_not_square_is_refused(kind, monkeypatch):
    monkeypatch.setitem(KINDS, kind, UNREADABLE[kind][0])
    with pytest.raises(ConfigError, match=UNREADABLE[kind][1]):
        a_model(kind)


def state_of(model) -> tuple:
    modes = [module.training for module in model.modules()]
    asks = [numbers.requires_grad for numbers in model.parameters()]
    hooks = [len(module._forward_hooks) for module in model.modules()]
    gathered = [numbers.grad is None for numbers in model.parameters()]
    return model.config._attn_implementation, modes, asks, hooks, gathered


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_left_as_it_was(kind):
    model = tiny_model(kind)
    model.train()
    model.get_input_embeddings().eval()
    next(model.parameters()).requires_grad_(False)
    before = state_of(model)
    numbers = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    registered = list(AttentionInterface._global_mapping)
    subject = subject_of(
        TransformerModel(model, tiny_tokenizer()), readouts.make("attention-x-gradient"), CLASSES
    )
    reading = subject.read(TEXTS)
    for measure in subject.measures:
        subject.importance(reading, measure)
    if isinstance(subject, Decides):
        subject.decide(reading, np.full((3, 1, 7), 1 / 7))
    assert state_of(model) == before
    assert list(AttentionInterface._global_mapping) == registered
    assert all(torch.equal(numbers[name], tensor) for name, tensor in model.state_dict().items())


def test_the_model_is_left_as_it_was_after_a_failure():
    model = tiny_model("Bert").train()
    before = state_of(model)
    registered = list(AttentionInterface._global_mapping)
    verbosity = transformers.logging.get_verbosity()
    with suppress(KeyError), watching(model, Watch()):
        assert model.config._attn_implementation.startswith("heedful-")
        raise KeyError
    assert state_of(model) == before
    assert list(AttentionInterface._global_mapping) == registered
    assert transformers.logging.get_verbosity() == verbosity


@pytest.mark.parametrize(
    ("changes", "reads"), [({}, "first"), ({"classifier_pooling": "mean"}, "all")]
)
def test_what_the_classifier_reads_is_found_out(changes, reads):
    assert a_model("ModernBert", **changes).reads == reads


def test_a_decoder_is_read_at_its_last_word(monkeypatch):
    monkeypatch.setitem(KINDS, "GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "pad_token_id": 0})
    model = a_model("GPT2")
    assert model.reads == "last"
    batch = model.cutter.pad(model.cutter.cut(TEXTS))
    lengths = batch.is_real.sum(dim=1)
    assert model.is_read(batch).int().argmax(dim=1).tolist() == (lengths - 1).tolist()
    subject = subject_of(model, readouts.make("last-cls"), CLASSES)
    assert isinstance(subject, Decides)


def test_long_texts_are_cut_and_counted():
    subject = a_subject("Roberta")
    assert subject.model.cutter.most == 39  # RoBERTa counts from behind its padding number
    reading = subject.read(["good " * 60, "a bad film"])
    assert reading.cut == 1
    assert reading.is_token.sum(axis=1).tolist() == [37, 3]
    kept = subject.predict_kept(reading, np.array([0]), reading.is_token[:1])
    np.testing.assert_allclose(kept, reading.probabilities[:1], atol=1e-5)


def test_a_word_is_deleted_from_the_text_itself():
    cutter = PieceCutter(tiny_tokenizer(), None, ["input_ids", "attention_mask"])
    (pieces,) = cutter.cut(["Good,  old film!  "])  # words: Good , old film !
    kept = [
        shortened(pieces, np.array(list(marks), dtype="i").astype(bool))
        for marks in ("11111", "01111", "10111", "11011", "10001", "00000")
    ]
    assert kept == [
        "Good,  old film!  ",
        ",  old film!",
        "Good old film!",
        "Good, film!",
        "Good !",
        "",
    ]


def test_words_that_share_a_piece_are_one_word():
    from tokenizers import pre_tokenizers

    tokenizer = tiny_tokenizer(["good", ".", "##.", "..."])
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    cutter = PieceCutter(tokenizer, None, ["input_ids", "attention_mask"])
    (pieces,) = cutter.cut(["good ... good"])
    assert pieces.offsets.tolist() == [[0, 4], [5, 8], [9, 13]]
    assert pieces.word_of.tolist() == [-1, 0, 1, 2, -1]


def test_odd_texts_are_read():
    reading = a_subject().read(["", "\ud800", "😀 \x00 good", "   "])
    assert reading.is_token.sum(axis=1).tolist() == [0, 1, 2, 0]
    assert np.isfinite(reading.weights).all()


def test_leave_one_out_is_what_the_model_says_of_the_shorter_text():
    subject = a_subject()
    reading = subject.read(["good old film"])
    scores = subject.importance(reading, "leave-one-out")
    target = reading.prediction[0]
    whole, *without = subject.model.probabilities(
        ["good old film", "old film", "good film", "good old"]
    )[:, target]
    np.testing.assert_allclose(scores[0], whole - np.array(without), atol=1e-6)


def test_integrated_gradients_add_up_to_what_all_words_add():
    subject = a_subject()
    reading = subject.read(TEXTS)
    total = subject.importance(reading, "integrated-gradients").sum(axis=1)
    batch = subject.model.cutter.pad(reading.inner)

    def without_words(embedded):
        return torch.where((batch.word_of >= 0)[..., None], 0.0, embedded)

    with subject.model.embedded(without_words):
        nothing = subject.model.model(**batch.inputs).logits.detach()
    whole = subject.model.model(**batch.inputs).logits.detach()
    rows = np.arange(3)
    gained = (whole - nothing).numpy()[rows, reading.prediction]
    np.testing.assert_allclose(total, gained, atol=1e-3 * np.abs(gained).max())


def test_held_attention_is_another_gradient():
    subject = a_subject()
    reading = subject.read(TEXTS)
    free, held, norm = (
        subject.importance(reading, m)
        for m in ("gradient-x-input", "gradient-x-input-held", "gradient-norm")
    )
    assert not np.allclose(free, held)
    model, watch = subject.model, Watch(holds=True)
    batch = model.cutter.pad(reading.inner)
    with model.embedded(), watching(model.model, watch):
        logits = model.model(**batch.inputs).logits
    assert not any(layer.requires_grad for layer in watch.weights)
    torch.testing.assert_close(
        logits.softmax(dim=-1).detach().double(),
        torch.tensor(reading.probabilities),
        atol=1e-5,
        rtol=0,
    )
    assert (norm[reading.is_token] > 0).all()
    for scores in (free, held, norm):
        assert (scores[~reading.is_token] == 0).all()


def test_an_unknown_measure_and_an_unknown_counterfactual_are_refused():
    subject = a_subject()
    reading = subject.read(TEXTS)
    with pytest.raises(ConfigError, match="has no contribution"):
        subject.importance(reading, "contribution")
    with pytest.raises(ConfigError, match="is not available for"):
        subject.otherwise(reading, Frozen(), 0)


def test_other_attentions_are_points_of_the_simplex():
    subject = a_subject()
    reading = subject.read(TEXTS)
    for other in (uniform, Permuted(5)):
        found = subject.otherwise(reading, other, 0)
        np.testing.assert_allclose(found.sum(axis=-1), 1)
        assert (found[~np.broadcast_to(reading.is_token[:, None], found.shape)] == 0).all()
    np.testing.assert_allclose(
        np.sort(subject.otherwise(reading, Permuted(3), 0), axis=-1),
        np.sort(reading.weights, axis=-1)[:, None].repeat(3, axis=1),
    )


def test_memory_that_runs_short_makes_batches_smaller(monkeypatch):
    model = a_model()
    whole = model.probabilities(TEXTS)
    model = a_model()
    forward = model.model.forward

    def scarce(**inputs):
        if len(inputs["input_ids"]) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(**inputs)

    monkeypatch.setattr(model.model, "forward", scarce)
    np.testing.assert_allclose(model.probabilities(TEXTS), whole, atol=1e-6)
    assert model.packer.notes == ["memory was low, so some texts were read in smaller batches"]


LABELLED = Documents(
    Document(f"{x} {y} film {z}", label)
    for x, label in (("good", "good"), ("bad", "bad"))
    for y in ("old", "new", "a", "is")
    for z in (".", "unhappily", "film")
)
QUICK = AuditSettings(sampled_documents=4)


@pytest.mark.parametrize("kind", ["Bert", "DebertaV2"])
def test_a_randomly_initialised_model_is_never_supported(kind):
    loaded = of_pair(tiny_model(kind), tiny_tokenizer(), "tiny")
    loaded, documents, _ = loaded.with_labels_of(LABELLED)
    subjects, _ = subjects_of(loaded, ["last-cls", "attention-x-gradient"])
    asked = [question for question in questions if question not in ("leak-free", "agreeing")]
    result = audit_readings(loaded, subjects, documents, AuditPlan(QUICK, asked), every_head=True)
    for audit in result.audits.values():
        assert audit.verdict != "may"
        assert not any(answer.judgement == "supported" for answer in audit.answers)
        assert "the model's accuracy is at chance: 50.0%, and" in audit.about["accuracy_at_chance"]
        assert audit.instead == ""
        reasons = {answer.question: answer.reason for answer in audit.answers if answer.reason}
        assert {"grounded", "discerning", "needed", "stable"} <= set(reasons)
        for question in ("decisive", "exclusive"):
            assert (question in reasons) == (kind == "DebertaV2")
    assert len(result.ranking) == 2 + 8
    assert result.sentence.startswith("No reading of this model's attention may be shown")


@pytest.fixture(scope="module")
def trained() -> LoadedTransformer:
    return of_pair(*fine_tuned(), "planted")


@pytest.mark.usefixtures("cuts_by_hand")
def test_a_model_fine_tuned_on_planted_evidence_is_supported(trained):
    documents = planted_documents(60, seed=7)
    subjects, _ = subjects_of(trained, ["last-cls", "mean-layers"])
    result = audit_readings(
        trained, subjects, documents, AuditPlan(questions=["decisive", "telling", "leak-free"])
    )
    assert result.chance == ""
    verdicts = {name: audit.verdict for name, audit in result.audits.items()}
    assert verdicts == {"last-cls": "may", "mean-layers": "may"}
    assert result.sentence.startswith("This model's attention may be shown as an explanation")


@pytest.mark.usefixtures("cuts_by_hand")
def test_what_a_model_at_chance_shows_is_not_supported_however_well_it_tells(trained):
    documents = planted_documents(60, seed=7)
    swapped = Documents(replace(d, label=CLASSES[d.label == "bad"]) for d in documents)
    subjects, _ = subjects_of(trained, ["attention-x-gradient"])
    right, wrong = (
        audit_readings(trained, subjects, some, AuditPlan(questions=["telling"]))
        for some in (documents, swapped)
    )
    telling = [found.audits["attention-x-gradient"].answer("telling") for found in (right, wrong)]
    assert [answer.judgement for answer in telling] == ["supported", "undecided"]
    assert wrong.chance.startswith("the model's accuracy is at chance: 0.0%, and ")
    assert "at chance" in telling[1].tests[0].note


def test_a_budget_leaves_all_readings_on_the_same_documents():
    loaded = of_pair(tiny_model("Bert"), tiny_tokenizer(), "tiny")
    loaded, documents, _ = loaded.with_labels_of(planted_documents(40, seed=3))
    subjects, _ = subjects_of(loaded, ["last-cls", "head:layer=1", "attention-x-gradient"])
    measured = []

    class Counting(AuditWatcher):
        def advance(self, documents):
            measured.append(documents)

    hasty = AuditPlan(QUICK, ["agreeing"], budget=1e-3)
    found = prepare_readings(loaded, subjects, documents, hasty).run(Counting()).audits
    assert list(found) == ["last-cls", "head:layer=1:head=0", "attention-x-gradient"]
    first, *others = found.values()
    assert all(first.texts == other.texts for other in others)
    assert first.documents == fewest_for_verdict(documents, drawn(documents, QUICK, None))
    assert measured[:3] == [1, 1, 1]  # the first document with every reading, before any other
    assert sum(measured) == 3 * first.documents


def test_a_budget_with_every_head_ranks_them_on_the_documents_it_came_to():
    loaded = of_pair(tiny_model("Bert"), tiny_tokenizer(), "tiny")
    loaded, documents, _ = loaded.with_labels_of(planted_documents(40, seed=3))
    subjects, _ = subjects_of(loaded, ["last-cls"])
    hasty = AuditPlan(QUICK, ["telling"], budget=1e-3)
    found = audit_readings(loaded, subjects, documents, hasty, every_head=True)
    assert len(found.ranking) == 1 + loaded.model.layers * loaded.model.heads
    assert {row["documents"] for row in found.ranking} == {QUICK.sampled_documents}


def test_in_python_a_pair_a_pipeline_and_a_tokenizer_beside_are_the_same():
    model, tokenizer = tiny_model("DistilBert"), tiny_tokenizer()
    model.config.id2label = dict(enumerate(CLASSES))
    pipeline = TextClassificationPipeline(model=model, tokenizer=tokenizer)
    texts = LABELLED.texts
    found = [
        heedful.audit(model, texts, QUICK, ["agreeing"], tokenizer=tokenizer),
        heedful.audit((model, tokenizer), texts, QUICK, ["agreeing"]),
        heedful.audit(pipeline, LABELLED, QUICK, ["agreeing"]),
    ]
    assert found[0].answers == found[1].answers == found[2].answers
    assert found[2].about["readout"] == "last-cls"
    with pytest.raises(ConfigError, match="needs its tokenizer"):
        heedful.audit(model, texts)
    with pytest.raises(DataError, match="dict cannot be read"):
        heedful.audit({}, texts)


def test_intervals_of_many_hold_together_and_are_wider_than_one():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 50))
    low, high = joint_intervals(values, np.random.default_rng(1), QUICK.bootstrap)
    alone = joint_intervals(values[:, :1], np.random.default_rng(1), QUICK.bootstrap)
    assert (low <= 0).all()  # 50 true means of 0: with single intervals two or three would miss it
    assert (high >= 0).all()
    assert high[0] - low[0] > 1.4 * (alone[1] - alone[0])[0]


LABELS = {
    ("bad", "good"): (CLASSES, ("bad", "good"), ""),
    ("Bad", "GOOD"): (CLASSES, ("bad", "good"), "labels matched: Bad = bad, GOOD = good"),
    ("0", "1"): (CLASSES, ("bad", "good"), "labels matched: 0 = bad, 1 = good"),
    ("no", "yes"): (
        ("LABEL_0", "LABEL_1"),
        ("no", "yes"),
        "labels matched in order: no = LABEL_0, yes = LABEL_1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("given", LABELS)
def test_labels_are_matched_by_name_or_number(given):
    classes, wanted, said = LABELS[given]
    loaded = LoadedTransformer("tiny", a_model(), classes)
    documents = Documents([Document("a", given[0]), Document("b", given[1]), Document("c")])
    loaded, documents, note = loaded.with_labels_of(documents)
    assert documents.labels == [*wanted, None]
    assert loaded.classes == wanted
    assert note == said


def test_labels_that_do_not_match_are_refused():
    loaded = LoadedTransformer("tiny", a_model(), CLASSES)
    with pytest.raises(DataError, match="the documents have no, yes, the model bad, good"):
        loaded.with_labels_of(Documents([Document("a", "yes"), Document("b", "no")]))
