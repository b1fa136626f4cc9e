"""A folder that holds an adapter (LoRA and its kind) and no model: loaded with its base and merged.

After merging, the model is an ordinary classifier with other numbers in it. The package peft does
both; it is an extra. Weights are read from safetensors only.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import safe_open

from heedful.errors import RunError, missing_packages_named
from heedful.model.hub import TOKENIZER_FILES, HubSource

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
HEADS = ("classifier.weight", "score.weight", "classifier.out_proj.weight")  # of classifiers


def is_adapter(name: str) -> bool:
    """Whether a folder holds an adapter and no model."""
    folder = Path(name)
    return (folder / CONFIG).is_file() and not (folder / "config.json").is_file()


def load_merged(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The classifier that an adapter makes of its base, and its tokenizer."""
    with missing_packages_named("an adapter folder"):
        from peft import PeftModel
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = Path(name)
    base = _base_of(folder)
    labels = _labels_of(folder)
    source = HubSource(base)
    load: Callable[..., Any] = AutoModelForSequenceClassification.from_pretrained
    model = source.fetch("weights", load, use_safetensors=True, num_labels=labels)
    try:
        merged = PeftModel.from_pretrained(model, name).merge_and_unload()
    except (ValueError, RuntimeError, KeyError, TypeError) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise RunError(f"the adapter in {name} does not fit its base {base}: {told}") from None
    has_tokenizer = any((folder / file).is_file() for file in TOKENIZER_FILES)
    load_tokenizer: Callable[..., Any] = AutoTokenizer.from_pretrained
    if has_tokenizer:
        return merged, load_tokenizer(name, local_files_only=True, trust_remote_code=False)
    return merged, source.fetch("tokenizer", load_tokenizer)


def _base_of(folder: Path) -> str:
    """The folder or hub name of the model that an adapter was trained on."""
    try:
        base = json.loads((folder / CONFIG).read_bytes())["base_model_name_or_path"]
    except (ValueError, KeyError, TypeError, RecursionError):
        base = None
    if not isinstance(base, str) or not base:
        raise RunError(f"{folder / CONFIG} does not name the model that the adapter belongs to.")
    return base


def _labels_of(folder: Path) -> int:
    """How many classes the classifier in an adapter has."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise RunError(
            f"{folder} holds no {WEIGHTS}. Pickled adapters are not read: save it again with "
            "save_pretrained, which writes safetensors."
        )
    with safe_open(path, "pt") as tensors:
        heads = [key for key in tensors.keys() if key.endswith(HEADS)]  # noqa: SIM118
        if not heads:
            raise RunError(
                f"the adapter in {folder} holds no classifier, so its head would be random. Train "
                "it with task_type='SEQ_CLS', which saves the head with the adapter."
            )
        return int(tensors.get_slice(heads[-1]).get_shape()[0])
