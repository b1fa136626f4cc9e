"""`heedful audit hf:…`, as a user types it."""

import json
import re
from functools import wraps
from pathlib import Path

import pandas
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import heedful as heedful_package
from heedful.auditing.results import Audit
from heedful.auditing.subjects.huggingface.subject import TransformerSubject
from heedful.errors import EnvironmentFailure
from tests.readouts.tiny import (
    DECODERS,
    KINDS,
    PLANTED,
    planted_documents,
    tiny_model,
    tiny_tokenizer,
)


@pytest.fixture
def documents() -> Path:
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(24, seed=7)]
    path = Path("documents.jsonl")
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


ASK = ("--ask", "telling", "--ask", "needed")


def test_readings_are_audited_side_by_side_and_a_sentence_sums_them_up(heedful, saved, documents):
    chosen = ("--readout", "last-cls", "--readout", "head:layer=1:head=2", "--heads")
    chosen = (*chosen, "--documents", "8")
    answer = heedful("audit", f"hf:{saved}", documents, "-o", "audit", *ASK, *chosen)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == lines[-3]  # the verdict comes first, and once more where the eye ends
    assert lines[1].startswith("A heat map claims")
    assert lines[3].startswith("planted (BertForSequenceClassification), 2 × 4 layers and heads")
    assert "its classifier reads the first position" in answer.out
    assert "needed: not asked: it needs retrained models" in answer.out
    assert "hold for all 9 readings together" in answer.out
    assert "tests are judged" in answer.out
    assert "The rates are for small models with planted evidence" in answer.out
    assert lines[-3].startswith("No reading of this model's attention may be shown so far: ")
    ranked = json.loads(Path("audit/readings.json").read_text())
    assert len(ranked["ranking"]) == 9
    assert ranked["sentence"] == lines[-3]
    assert list(ranked["verdicts"]) == ["last-cls", "head:layer=1:head=2"]
    for folder in ("1-last-cls", "2-head-layer-1-head-2"):
        frame = pandas.read_parquet(f"audit/{folder}/per_example.parquet")
        assert len(frame) == 8
    page = Path("audit/report.html").read_text()
    assert "head:layer=1:head=2" in page
    assert re.search(r"number \d of 9 readings; intervals hold together", page)
    assert heedful("audit", f"hf:{saved}", documents, "-o", "audit").code == 2


def test_one_reading_is_shown_whole_and_as_json(heedful, saved, documents):
    ask = ("audit", f"hf:{saved}", documents, "--ask", "agreeing", "--readout", "rollout")
    answer = heedful(*ask, "--documents", "10")
    assert answer.code == 0, answer.err
    assert "kendall_tau with leave-one-out" in answer.out
    assert "a random sample of 10 of 24 documents" in answer.out
    found = json.loads(heedful(*ask, "--json").out)
    assert list(found["audits"]) == ["rollout"]
    assert found["audits"]["rollout"]["about"]["architecture"] == "BertForSequenceClassification"
    assert heedful(*ask, "--fail-on", "not-safe").code == 1


def test_memory_that_ran_short_is_told_everywhere(heedful, saved, documents, monkeypatch):
    kind = transformers.BertForSequenceClassification
    forward = kind.forward

    @wraps(forward)
    def scarce(self, input_ids, **more):
        if len(input_ids) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, input_ids, **more)

    ask = ("audit", f"hf:{saved}", documents, "--ask", "leak-free", "--readout", "last-cls")
    ask = (*ask, "--readout", "mean-layers", "--documents", "8", "--precision", "fp32")
    note = "memory was low, so some texts were read in smaller batches"
    assert "memory ran short" not in heedful(*ask).err
    monkeypatch.setattr(kind, "forward", scarce)
    answer = heedful(*ask, "-o", "audit")
    assert answer.code == 0, answer.err
    assert answer.err.count(note) == 1
    for reading in ("1-last-cls", "2-mean-layers"):
        about = json.loads(Path(f"audit/{reading}/audit.json").read_text())["about"]
        assert about["notes"] == [note]
    assert json.loads(Path("audit/readings.json").read_text())["notes"] == [note]
    assert note in Path("audit/report.html").read_text()
    assert json.loads(heedful(*ask, "--json").out)["notes"] == [note]


def test_a_killed_audit_goes_on(heedful, saved, documents, monkeypatch):
    ask = ("audit", f"hf:{saved}", documents, "--ask", "agreeing", "--readout", "last-cls")
    ask = (*ask, "--readout", "rollout")
    monkeypatch.setattr("heedful.report.write_report", lambda *_, **__: None)  # slow
    whole = heedful(*ask, "-o", "whole").out
    read, calls = TransformerSubject.read, []

    def killed(self, texts):
        calls.append(self.readout)
        if len(set(calls)) == 2:
            raise EnvironmentFailure("stopped by SIGTERM.")
        return read(self, texts)

    monkeypatch.setattr(TransformerSubject, "read", killed)
    assert heedful(*ask, "-o", "audit").code == 3
    monkeypatch.setattr(TransformerSubject, "read", read)
    assert heedful(*ask, "-o", "audit").code == 2
    other = heedful(*ask, "-o", "audit", "--resume", "--seed", "1")
    assert "started with seed = 0, not 1" in other.err
    answer = heedful(*ask, "-o", "audit", "--resume")
    assert answer.code == 0, answer.err
    assert answer.out.replace("audit/report", "whole/report") == whole
    assert not list(Path("audit").glob("*/parts"))
    again = heedful(*ask, "-o", "audit", "--resume")
    assert again.code == 0, again.err
    assert "audit is finished already; nothing to do." in again.err
    assert again.out == answer.out
    swapped = (*ask[:-1], "value-norm", "-o", "audit", "--resume")
    assert "started with readings = ['last-cls', 'rollout']" in heedful(*swapped).err


CODE = """
from pathlib import Path

Path({trace!r}).touch()  # what must never happen unasked

from transformers import BertConfig, BertForSequenceClassification


class OwnConfig(BertConfig):
    model_type = "own"


class OwnForSequenceClassification(BertForSequenceClassification):
    config_class = OwnConfig
"""


@pytest.fixture
def with_code(saved) -> Path:
    """A model that only its own Python can load, which leaves a trace when it runs."""
    own = {"AutoConfig": "OwnConfig", **dict.fromkeys(AUTO, "OwnForSequenceClassification")}
    config = json.loads((saved / "config.json").read_text()) | {
        "model_type": "own",
        "architectures": ["OwnForSequenceClassification"],
        "auto_map": {name: f"own_code.{kind}" for name, kind in own.items()},
    }
    (saved / "config.json").write_text(json.dumps(config))
    (saved / "own_code.py").write_text(CODE.format(trace=str(Path("trace").absolute())))
    return saved


AUTO = ("AutoModel", "AutoModelForSequenceClassification")


def test_code_in_a_model_folder_is_never_run_whatever_standard_input_says(
    heedful, with_code, documents
):
    for command in (
        ("audit", f"hf:{with_code}", documents),
        ("train", documents, "--pretrained", with_code, "-o", "run"),
    ):
        answer = heedful(*command, stdin=b"yes\n" * 10)
        assert answer.code == 2, answer.err
        assert (
            "the config of planted cannot be loaded without running the Python that comes with the "
            "model (own_code.py), and heedful never runs code from a model folder." in answer.err
        )
        assert "Do you wish to run" not in answer.out + answer.err
        assert not Path("trace").exists()


def test_a_model_that_transformers_knows_too_is_audited_without_its_own_code(
    heedful, with_code, documents
):
    config = json.loads((with_code / "config.json").read_text())
    config |= {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}
    (with_code / "config.json").write_text(json.dumps(config))
    ask = ("--ask", "agreeing", "--readout", "last-cls", "--documents", "8")
    answer = heedful("audit", f"hf:{with_code}", documents, *ask, stdin=b"yes\n" * 10)
    assert answer.code == 0, answer.err
    assert not Path("trace").exists()


@pytest.mark.usefixtures("own_modules")
def test_a_model_that_its_owner_loaded_with_its_code_is_audited(with_code):
    load = transformers.AutoModelForSequenceClassification.from_pretrained
    model = load(with_code, trust_remote_code=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(with_code, trust_remote_code=True)
    assert Path("trace").exists()
    documents = planted_documents(8, seed=7)
    found = heedful_package.audit(model, documents, asked=["decisive"], tokenizer=tokenizer)
    assert found.about["architecture"] == "OwnForSequenceClassification"


@pytest.fixture
def own_modules(monkeypatch) -> None:
    """transformers copies such code to a place of its own: here, one that is gone afterwards."""
    place = str(Path("modules").absolute())
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", place)
    monkeypatch.syspath_prepend(place)


def save(kind: str, folder: str, *, tokenizer: bool = True, **changes) -> Path:
    tiny_model(kind, **changes).save_pretrained(folder)
    if tokenizer:
        tiny_tokenizer().save_pretrained(folder)
    return Path(folder)


def generative() -> Path:
    config = transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=20)
    transformers.GPT2LMHeadModel(config).save_pretrained("writer")
    tiny_tokenizer().save_pretrained("writer")
    return Path("writer")


def without_head() -> Path:
    transformers.BertModel(transformers.BertConfig(**KINDS["Bert"])).save_pretrained("bare")
    tiny_tokenizer().save_pretrained("bare")
    return Path("bare")


def pickled() -> Path:
    folder = save("Bert", "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    return folder


def without_classifier() -> Path:
    folder = save("Bert", "half")
    numbers = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in numbers.items() if "classifier" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def no_model() -> Path:
    Path("empty").mkdir()
    return Path("empty")


def no_attention() -> Path:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 37}
    config = transformers.FNetConfig(**sizes, vocab_size=16, pad_token_id=0)
    transformers.FNetForSequenceClassification(config).save_pretrained("fourier")
    tiny_tokenizer().save_pretrained("fourier")
    return Path("fourier")


def other_labels() -> Path:
    return save("Bert", "stars", num_labels=3, id2label={0: "one", 1: "two", 2: "three"})


def large_tokenizer() -> Path:
    folder = save("Bert", "two", tokenizer=False)
    tiny_tokenizer([f"w{number}" for number in range(50)]).save_pretrained(folder)
    return folder


BAD = {
    "empty contains no Hugging Face model: config.json is missing": no_model,
    "writer is a generative model (GPT2LMHeadModel)": generative,
    "bare is a BertModel, without a classifier on top": without_head,
    "the weights of half lack classifier.bias, classifier.weight: they": without_classifier,
    "alone contains no tokenizer. Save it there with": lambda: save(
        "Bert", "alone", tokenizer=False
    ),
    "the documents have bad, good, the model one, two, three": other_labels,
    "the weights in pickled are pickled": pickled,
    "the model returns no attention": no_attention,
    "one number per text. Expected two classes": lambda: save("Bert", "line", num_labels=1),
    "is a multi-label classifier": lambda: save(
        "Bert", "many", problem_type="multi_label_classification"
    ),
    "the tokenizer has 54 pieces and the model 16": large_tokenizer,
    "nobody/nothing is not a local folder, and its config cannot be": lambda: "nobody/nothing",
    "no such folder: ./nowhere": lambda: "./nowhere",
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_a_sentence(heedful, documents, sentence, monkeypatch):
    monkeypatch.setattr("heedful.model.hub._has_network", lambda: False)
    answer = heedful("audit", f"hf:{BAD[sentence]()}", documents)
    assert answer.code == 2, answer.err
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_options_that_do_not_go_together_are_refused(heedful, saved, documents):
    for options, sentence in (
        (("--cores", "2"), "not available for a Hugging Face model: --cores."),
        (("--train", "sst2"), "--train, --cores and --memory need --deep"),
        (("--judge", "other"), "not available for a Hugging Face model: --judge."),
        (("--readout", "last"), "no readout named 'last'. Did you mean 'last-cls'?"),
        (("--readout", "head:layer=9"), "no layer 9: the model has 2 layers"),
        (("--heads", "--ask", "agreeing"), "--heads ranks by the question telling"),
    ):
        answer = heedful("audit", f"hf:{saved}", documents, *options)
        assert answer.code == 2
        assert sentence in answer.err


def test_a_deep_audit_trains_a_copy_as_judge_and_searches_for_both_limits(
    heedful, saved, documents
):
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(200, seed=11)]
    Path("others.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = ("--ask", "telling", "--readout", "last-cls", "--deep", "--train", "others.jsonl")
    answer = heedful("audit", f"hf:{saved}", documents, "-o", "audit", *asked)
    assert answer.code == 0, answer.err
    assert "fine-tuning a copy of the model on texts with words replaced" in answer.err
    assert "true pictures, words masked" in answer.out
    assert "true pictures, judge trained on masked texts" in answer.out
    assert "normalised comprehensiveness of attention" in answer.out
    assert "best ranking: " in answer.out
    (folder,) = [one for one in Path("audit").iterdir() if one.is_dir()]
    found = Audit.load(folder)
    assert found.settings["beam_width"] == 5
    assert {"is_true_trained", "is_true_masked", "fall_worst order"} <= set(found.columns)


def test_a_deep_audit_of_all_documents_says_why_no_judge_is_trained(heedful, saved, documents):
    asked = ("--ask", "telling", "--readout", "last-cls", "--deep")
    answer = heedful("audit", f"hf:{saved}", documents, *asked)
    assert answer.code == 0, answer.err
    assert "no judge is trained on masked texts: it learns from at least 100 texts" in answer.err
    assert "judge trained on masked texts            no number  it learns from" in answer.out


def test_readouts_go_with_hugging_face_models_only(heedful, documents):
    answer = heedful("audit", "run", documents, "--readout", "rollout")
    assert answer.code == 2
    assert "--readout and --heads need hf:" in answer.err


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
@pytest.mark.parametrize("kind", ["DebertaV2", *(kind for kind in DECODERS if kind != "Qwen2")])
def test_encoders_and_decoders_of_every_usual_kind_end_in_a_verdict(heedful, documents, kind):
    # Some kinds of tokenizer add a token of their own when they are loaded.
    tiny_model(kind, PLANTED, vocab_size=len(PLANTED) + 8).save_pretrained("random")
    tiny_tokenizer(PLANTED).save_pretrained("random")
    ask = ("--ask", "decisive", "--ask", "telling", "--readout", "last-cls", "--documents", "21")
    answer = heedful("audit", "hf:random", documents, *ask, "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["verdicts"]["last-cls"] in ("may", "may-not", "not-safe")
    (audit,) = told["audits"].values()
    judged = {row["measure"]: row["verdict"] for row in audit["evidence"]["measures"]}
    assert {"leave-one-out", "gradient-x-input", "decomposition"} <= judged.keys()
    if kind in DECODERS:
        assert audit["about"]["classifier_reads"] == "the last position"
        assert {"generic-attention", "value-zeroing"} <= judged.keys()


def test_a_qwen_with_a_tokenizer_of_its_own_ends_in_a_verdict():
    # From a folder, its kind of tokenizer is always one of bytes, whatever was saved.
    pair = tiny_model("Qwen2", PLANTED), tiny_tokenizer(PLANTED)
    documents = planted_documents(21, seed=7)
    found = heedful_package.audit(pair, documents, asked=["decisive", "telling"])
    assert found.verdict in ("may", "may-not", "not-safe")
    assert found.about["classifier_reads"] == "the last position"
    assert "decomposition" in {row["measure"] for row in found.evidence["measures"]}


def test_a_tokenizer_that_keeps_no_word_of_the_texts_ends_in_a_sentence(heedful, documents):
    tiny_model("Qwen2", PLANTED, vocab_size=len(PLANTED) + 8).save_pretrained("random")
    tiny_tokenizer(PLANTED).save_pretrained("random")  # read as one of bytes, it knows no word
    ask = ("--ask", "decisive", "--ask", "telling", "--readout", "last-cls")
    answer = heedful("audit", "hf:random", documents, *ask)
    assert answer.code == 2
    assert "every document has only one word" in answer.err


def test_a_model_whose_embeddings_cannot_be_followed_is_judged_by_deletions(heedful, documents):
    sizes = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 37, "num_labels": 2}
    config = transformers.XLNetConfig(**sizes, vocab_size=4 + len(PLANTED), pad_token_id=0)
    transformers.XLNetForSequenceClassification(config).save_pretrained("random")
    tiny_tokenizer(PLANTED).save_pretrained("random")
    ask = ("--ask", "telling", "--readout", "last-cls", "--documents", "8")
    answer = heedful("audit", "hf:random", documents, *ask)
    assert answer.code == 0, answer.err
    assert "gradients are not available: the embeddings of XLNetForSequenceClass" in answer.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem_type": "multi_label_classification"}, "is a multi-label classifier"),
        ({"num_labels": 1}, "predicts one number per text. Expected two classes or more"),
        ({"problem_type": "regression"}, "estimates numbers (problem_type is regression)"),
    ],
)
def test_heads_for_many_labels_or_a_number_are_refused_in_a_sentence(
    heedful, documents, change, message
):
    tiny_model("Bert", PLANTED, **change).save_pretrained("random")
    tiny_tokenizer(PLANTED).save_pretrained("random")
    answer = heedful("audit", "hf:random", documents)
    assert answer.code == 2
    assert message in answer.err
