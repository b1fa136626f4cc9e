"""A Hugging Face classifier from a folder, a hub name, a pair or a pipeline; its labels and ours.

Whatever cannot be audited is refused with a sentence. Weights are read from safetensors only:
nothing is ever unpickled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Pipeline,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.errors import ConfigError, DataError, RunError
from heedful.model.hub import HubSource
from heedful.model.precision import Precision
from heedful.text.documents import Documents

GENERATIVE = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


@dataclass(frozen=True)
class LoadedTransformer:
    """A model ready to be audited, and what its classes are called."""

    name: str
    model: TransformerModel
    classes: tuple[str, ...]

    def with_labels_of(self, documents: Documents) -> "tuple[LoadedTransformer, Documents, str]":
        """Model and documents that speak of the same labels, and a note on how they were matched.

        By name, whatever the case; else by number. A model that calls its classes LABEL_0, LABEL_1
        takes the names of the documents' labels, in their order.
        """
        labels = sorted({label for label in documents.labels if label is not None}, key=_natural)
        classes = self.classes
        if set(labels) <= set(classes):
            return self, documents, ""
        by_case = {name.lower(): name for name in classes}
        numbers = {str(number): name for number, name in enumerate(classes)}
        is_unnamed = all(re.fullmatch(r"LABEL_\d+", name) for name in classes)
        if len(by_case) == len(classes) and {label.lower() for label in labels} <= set(by_case):
            name_of = {label: by_case[label.lower()] for label in labels}
        elif set(labels) <= set(numbers):
            name_of = {label: numbers[label] for label in labels}
        elif is_unnamed and len(labels) == len(classes):
            name_of = dict(zip(labels, classes, strict=True))
        else:
            raise DataError(
                f"the labels of the documents do not match the model's: the documents have "
                f"{_listed(labels)}, the model {_listed(classes)}. Rename one of them (a model's "
                "names stand in its config.json as id2label)."
            )
        matched = ", ".join(f"{label} = {name}" for label, name in name_of.items())
        if is_unnamed:  # then the documents' names say more
            label_of = {name: label for label, name in name_of.items()}
            renamed = tuple(label_of.get(name, name) for name in classes)
            return replace(self, classes=renamed), documents, f"labels matched in order: {matched}"
        relabelled = Documents(
            replace(document, label=document.label and name_of[document.label])
            for document in documents
        )
        return self, relabelled, f"labels matched: {matched}"


def load_transformer(
    name: str, device: str = "cpu", precision: Precision = "auto"
) -> LoadedTransformer:
    """The classifier in a local folder, or of that name on the hub where there is a network."""
    from heedful.training.trained import choose_device

    place = choose_device(device)
    source = HubSource(name)
    config = source.fetch("config", AutoConfig.from_pretrained)
    _check_kind(name, config)
    load_model = AutoModelForSequenceClassification.from_pretrained
    model, told = source.fetch(
        "weights", load_model, use_safetensors=True, output_loading_info=True
    )
    if missing := sorted(told["missing_keys"]):
        raise RunError(
            f"the weights of {name} lack {', '.join(missing[:3])}: they would be random. Expected "
            "a classifier that was fine-tuned and saved whole."
        )
    tokenizer = source.fetch("tokenizer", AutoTokenizer.from_pretrained)
    return of_pair(model.to(place), tokenizer, source.short_name, precision)


def of_pair(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    name: str | None = None,
    precision: Precision = "auto",
) -> LoadedTransformer:
    """A model and its tokenizer as their owner loaded them."""
    name = name or type(model).__name__
    _check_kind(name, model.config, type(model).__name__)
    if tokenizer is None:
        raise ConfigError(
            "a Hugging Face model needs its tokenizer: give it as `tokenizer`, or give a pair."
        )
    rows = int(cast(Tensor, model.get_input_embeddings().weight).shape[0])
    if len(tokenizer) > rows:
        raise ConfigError(
            f"the tokenizer knows {len(tokenizer):,} pieces and the model {rows:,}: they do not "
            "belong together."
        )
    names = {int(number): str(label) for number, label in (model.config.id2label or {}).items()}
    classes = tuple(names[number] for number in sorted(names))
    return LoadedTransformer(name, TransformerModel(model, tokenizer, precision), classes)


def of_anything(
    given: object, tokenizer: object = None, precision: Precision = "auto"
) -> LoadedTransformer | None:
    """What was given, if it is a model with a tokenizer, a pair of them, or a pipeline."""
    if isinstance(given, Pipeline):
        return of_pair(given.model, given.tokenizer, precision=precision)
    if isinstance(given, tuple) and len(given) == 2:
        given, tokenizer = given
    if not isinstance(given, PreTrainedModel):
        return None
    if tokenizer is not None and not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ConfigError(f"{tokenizer!r:.60} is no tokenizer of transformers.")
    return of_pair(given, tokenizer, precision=precision)


def _check_kind(name: str, config: PreTrainedConfig, kind: str | None = None) -> None:
    """A sequence classifier with two classes or more, of which each text has one."""
    kinds = [kind] if kind else list(getattr(config, "architectures", None) or [])
    if any(part in one for one in kinds for part in GENERATIVE):
        raise ConfigError(
            f"{name} is a generative model ({kinds[0]}): it writes text and gives no classes. An "
            "audit takes a sequence classifier."
        )
    if kinds and not any("ForSequenceClassification" in one for one in kinds):
        raise ConfigError(
            f"{name} is a {kinds[0]}, without a classifier on top. Expected a model for sequence "
            "classification, fine-tuned and saved as one."
        )
    if getattr(config, "is_encoder_decoder", False):
        raise ConfigError(
            f"{name} is an encoder with a decoder ({config.model_type}): which of its attentions "
            "would be shown is not defined here."
        )
    if config.problem_type == "multi_label_classification":
        raise ConfigError(
            f"{name} gives each label a probability of its own; an audit needs one class per text."
        )
    if (config.num_labels or 0) < 2:
        raise ConfigError(f"{name} gives one number per text; an audit needs two classes or more.")


def _natural(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (10**9, label)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
