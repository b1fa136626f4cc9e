"""Folders of Hugging Face models, and runs, with something wrong in them: a sentence says so."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.calibration import exact_jobs
from heedful.errors import ConfigError, RunError
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.text.tokenize import TextSettings, Tokenizer
from tests.readouts.tiny import PLANTED, tiny_model, tiny_tokenizer
from tools.harden.power_cut import contents, flushed_to_disk


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hf") / "tiny"
    tiny_model("Bert", PLANTED).save_pretrained(folder)
    tiny_tokenizer(PLANTED).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(whole) -> Path:
    return Path(shutil.copytree(whole, "tiny"))


def changed(path: Path, change: Callable[[dict], None]) -> None:
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))


def test_an_untouched_folder_is_loaded(folder):
    assert SequenceClassifier.load(str(folder)).probabilities(["a good film"]).shape == (1, 2)


def test_weights_that_are_cut_short_are_refused(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(RunError, match="the weights of tiny cannot be read: "):
        SequenceClassifier.load(str(folder))


@pytest.mark.parametrize("architectures", [5, [1], "BertForSequenceClassification"])
def test_architectures_that_are_no_list_of_names_are_refused(folder, architectures):
    changed(folder / "config.json", lambda stored: stored.update(architectures=architectures))
    with pytest.raises(ConfigError, match=r"names its architectures as .* Expected a list"):
        SequenceClassifier.load(str(folder))


def test_a_setting_of_another_type_is_refused(folder):
    changed(folder / "config.json", lambda stored: stored.update(hidden_act=7))
    with pytest.raises(RunError, match="of tiny can"):
        SequenceClassifier.load(str(folder))


def test_a_model_that_cannot_read_a_text_is_refused_before_any_work(folder):
    changed(folder / "config.json", lambda stored: stored.update(layer_norm_eps="small"))
    with pytest.raises(RunError, match="of tiny can"):
        SequenceClassifier.load(str(folder))


def test_a_tokenizer_of_which_a_library_panics_is_refused(folder):
    def forget(stored: dict) -> None:
        stored["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}],
            "pair": [],
            "special_tokens": {},
        }

    changed(folder / "tokenizer.json", forget)
    with pytest.raises(RunError, match="of tiny can"):
        SequenceClassifier.load(str(folder))


def test_words_of_a_run_without_one_for_the_unknown_are_refused():
    stored = json.loads(Tokenizer.learn(["a b", "a c"], TextSettings()).to_json())
    words = stored["model"]["vocab"]
    stored["model"]["vocab"] = {f"{word}!": number for word, number in words.items()}
    with pytest.raises(RunError, match="it has no word for unknown words"):
        Tokenizer.from_json(json.dumps(stored), TextSettings())


def test_a_small_bert_of_the_zoo_survives_a_power_cut(monkeypatch, tmp_path):
    root = tmp_path / "root"
    (root / "job").mkdir(parents=True)

    def train(folder: Path, *given: object, **settings: object) -> None:
        (folder / "model.safetensors").write_bytes(b"weights")

    monkeypatch.setattr(exact_jobs, "train_transformer", train)
    with flushed_to_disk(root) as disk:
        job = exact_jobs.transformer_job("planted", "tiny-bert", 1, "cpu", needs_all=False)
        job.work(root / "job", lambda *told: None, **job.arguments, **job.beside)
        RunFolder(root / "job").write_json("done.json", {})
        left = contents(disk.restore(tmp_path / "left"))
    assert left["job/model.safetensors"] == b"weights"
