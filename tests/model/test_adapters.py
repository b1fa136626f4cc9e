"""Adapter folders: merged into their base, or refused in a sentence."""

import json
from importlib.util import find_spec

import pytest
import torch

from heedful.errors import MissingPackage, RunError
from heedful.model.adapters import load_merged
from heedful.model.sequence_classifier import SequenceClassifier
from tests.readouts.tiny import tiny_model, tiny_tokenizer

needs_peft = pytest.mark.skipif(find_spec("peft") is None, reason="peft is an extra")
TEXTS = ["a good film", "bad"]


@pytest.fixture
def base(tmp_path):
    model = tiny_model("Bert", num_labels=3)
    for part in (model, tiny_tokenizer()):
        part.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def adapter(base, folder, **changes):
    """A LoRA adapter with numbers in it, and what the model gives with it."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=3)
    settings = {"task_type": "SEQ_CLS", "target_modules": ["query", "value"], "r": 2} | changes
    adapted = get_peft_model(model, LoraConfig(**settings))
    with torch.no_grad():
        for name, numbers in adapted.named_parameters():
            if "lora_B" in name:
                numbers.normal_()
    adapted.save_pretrained(folder)
    adapted.eval()
    with torch.no_grad():
        inputs = tiny_tokenizer()(TEXTS, padding=True, return_tensors="pt")
        return adapted(**inputs).logits.softmax(dim=-1).numpy()


@needs_peft
@pytest.mark.filterwarnings("ignore")  # peft's own
def test_an_adapter_is_merged_into_its_base(base, tmp_path):
    expected = adapter(base, tmp_path / "lora")
    found = SequenceClassifier.load(str(tmp_path / "lora"))
    assert found.name == "lora"
    assert len(found.classes) == 3
    assert type(found.model).__name__ == "BertForSequenceClassification"
    probabilities = found.to(torch.device("cpu")).probabilities(TEXTS)
    torch.testing.assert_close(
        torch.tensor(probabilities), torch.tensor(expected), atol=1e-5, rtol=0
    )
    plain = SequenceClassifier.load(str(base)).to(torch.device("cpu")).probabilities(TEXTS)
    assert abs(plain - expected).max() > 1e-3


@needs_peft
@pytest.mark.filterwarnings("ignore")
def test_an_adapter_without_a_classifier_is_refused(base, tmp_path):
    adapter(base, tmp_path / "lora", task_type=None)
    with pytest.raises(RunError, match=r"holds no classifier, so its head would be random"):
        load_merged(str(tmp_path / "lora"))


@needs_peft
def test_a_broken_adapter_is_refused(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(RunError, match=r"does not name the model that the adapter belongs to"):
        load_merged(str(tmp_path))
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "x/y"}))
    with pytest.raises(RunError, match=r"holds no adapter_model\.safetensors"):
        load_merged(str(tmp_path))


@pytest.mark.skipif(find_spec("peft") is not None, reason="peft is installed")
def test_without_the_package_it_is_named(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(MissingPackage, match=r"an adapter folder needs the package peft"):
        SequenceClassifier.load(str(tmp_path))
