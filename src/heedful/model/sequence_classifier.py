"""A Hugging Face sequence classifier as its owner trained it: texts in, probabilities out.

Whatever is not a classifier of one class per text is refused with a sentence. Weights are read from
safetensors only: nothing is ever unpickled.
"""

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.errors import ConfigError, RunError, misfits_named
from heedful.model.adapters import is_adapter, load_merged
from heedful.model.digest import weights_digest
from heedful.model.hub import HubSource, quieten
from heedful.model.precision import in_full
from heedful.model.pretrained import most_positions
from heedful.text.documents import whole_characters

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

GENERATIVE = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
# Cutting a text short is a setting of the tokenizer while it cuts, so threads take turns.
_ONE_AT_A_TIME = threading.Lock()
PIECES_AT_ONCE = {"cpu": 8_192, "cuda": 131_072}  # padding included


@dataclass(frozen=True)
class SequenceClassifier:
    """A model, its tokenizer and the names of its classes."""

    name: str
    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    classes: tuple[str, ...]

    @classmethod
    def load(cls, name: str) -> "SequenceClassifier":
        """The classifier in a local folder, or of that name on the hub where there is a network."""
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        if is_adapter(name):
            return cls.of_pair(*load_merged(name), Path(name).resolve().name)
        source = HubSource(name)
        config = source.fetch("config", AutoConfig.from_pretrained)
        check_kind(name, config)
        load_model = AutoModelForSequenceClassification.from_pretrained
        model, told = source.fetch(
            "weights", load_model, use_safetensors=True, output_loading_info=True
        )
        if missing := sorted(told["missing_keys"]):
            raise RunError(
                f"the weights of {name} lack {', '.join(missing[:3])}: they would be random. "
                "Expected a complete, fine-tuned classifier."
            )
        tokenizer = source.fetch("tokenizer", AutoTokenizer.from_pretrained)
        with misfits_named(lambda told: _not_a_pair(name, told)):
            found = cls.of_pair(model, tokenizer, source.short_name)
            found.try_out()
        return found

    @classmethod
    def of_pair(
        cls,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase | None",
        name: str | None = None,
    ) -> "SequenceClassifier":
        """A model and its tokenizer as their owner loaded them."""
        name = name or type(model).__name__
        check_kind(name, model.config, type(model).__name__)
        if tokenizer is None:
            raise ConfigError(
                "a Hugging Face model needs its tokenizer: give it as `tokenizer`, or give a pair."
            )
        _check_end(name, model.config, tokenizer)
        rows = int(cast(Tensor, model.get_input_embeddings().weight).shape[0])
        if len(tokenizer) > rows:
            raise ConfigError(
                f"the tokenizer has {len(tokenizer):,} pieces and the model {rows:,}: they do "
                "not belong together."
            )
        names = {int(number): str(label) for number, label in (model.config.id2label or {}).items()}
        return cls(name, model, tokenizer, tuple(names[number] for number in sorted(names)))

    @classmethod
    def of_anything(cls, given: object, tokenizer: object = None) -> "SequenceClassifier | None":
        """What was given, if it is a model with a tokenizer, a pair of them, or a pipeline."""
        from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerBase

        if isinstance(given, Pipeline):
            return cls.of_pair(given.model, given.tokenizer)
        if isinstance(given, tuple) and len(given) == 2:
            given, tokenizer = given
        if not isinstance(given, PreTrainedModel):
            return None
        if tokenizer is not None and not isinstance(tokenizer, PreTrainedTokenizerBase):
            raise ConfigError(f"{tokenizer!r:.60} is not a tokenizer of transformers.")
        return cls.of_pair(given, tokenizer)

    @classmethod
    def kept_in(cls, folder: Path, name: str, classes: Sequence[str]) -> "SequenceClassifier":
        """One that `save` has written, under the names that it had then."""
        quieten()  # loading a run should not draw a model's progress bars
        return replace(cls.load(str(folder)), name=name, classes=tuple(classes))

    def save(self, folder: Path) -> None:
        """Write model and tokenizer into a folder, as `save_pretrained` does."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def to(self, device: torch.device) -> "SequenceClassifier":
        """The same on a device, and in evaluation mode."""
        self.model.to(device)  # type: ignore[arg-type]  # transformers types its wrapper wrongly
        self.model.eval()
        return self

    def try_out(self) -> None:
        """Read a short text, so that parts that do not belong together show it before any work."""
        self._cut(["a text"])
        if self.model.dtype == torch.float32:  # half precision may need another device
            self.to(self.model.device).probabilities(["a text"])

    @cached_property
    def digest(self) -> str:
        """A word that changes with any of the model's numbers."""
        return weights_digest(self.model)

    @in_full()
    def probabilities(
        self, texts: Sequence[str], tell: Callable[[int], None] = lambda count: None
    ) -> Float[ndarray, "texts classes"]:
        """Class probabilities of each text; `tell` is called with the number read."""
        found = np.empty((len(texts), len(self.classes)), dtype=np.float32)
        encoded = self._cut(texts)
        lengths = np.array([len(row["input_ids"]) for row in encoded], dtype=np.int64)
        for rows in _packed(lengths, PIECES_AT_ONCE[self.model.device.type]):
            with _ONE_AT_A_TIME:
                batch = self.tokenizer.pad([encoded[r] for r in rows.tolist()], return_tensors="pt")
            with torch.inference_mode():
                logits = self.model(**batch.to(self.model.device)).logits
            found[rows] = logits.float().softmax(dim=-1).cpu().numpy()
            tell(len(rows))
        return found

    def _cut(self, texts: Sequence[str]) -> list[dict[str, list[int]]]:
        """The pieces of each text, as many as the model reads, by the names that it takes."""
        if not len(texts):
            return []
        most = most_positions(self.model, self.tokenizer)
        end = only_end(self.model.config, self.tokenizer)
        whole = [without_end(whole_characters(text), end) for text in texts]
        with _ONE_AT_A_TIME:
            found = self.tokenizer(whole, truncation=most is not None, max_length=most)
        taken = inspect.signature(self.model.forward).parameters
        names = [name for name in found if name in taken]
        return [{name: found[name][row] for name in names} for row in range(len(texts))]


def _not_a_pair(name: str, told: str) -> RunError:
    return RunError(
        f"the model and the tokenizer of {name} cannot read a text ({told}). Expected a folder "
        "made by save_pretrained, of a model that was saved whole."
    )


def _packed(lengths: Int[ndarray, " texts"], at_once: int) -> Iterator[Int[ndarray, " some"]]:
    """Texts of like length together, longest first, as many as there is room for."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, at_once // max(1, int(lengths[order[start]])))
        yield order[start : start + size]
        start += size


def _architectures(name: str, config: "PreTrainedConfig") -> list[str]:
    """The kinds of model that a configuration names; a list of names, if it names any."""
    named = getattr(config, "architectures", None) or []
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        raise ConfigError(
            f"the configuration of {name} names its architectures as {named!r:.60}. Expected a "
            "list of names, as in config.json of a model that transformers saved."
        )
    return named


def only_end(config: "PreTrainedConfig", tokenizer: "PreTrainedTokenizerBase") -> str:
    """The token that must stand at the end of a text alone; none but for encoder-decoders."""
    return str(tokenizer.eos_token or "") if getattr(config, "is_encoder_decoder", False) else ""


def without_end(text: str, end: str) -> str:
    """A text with blanks for the token that ends texts, so that nothing else moves."""
    return text.replace(end, " " * len(end)) if end else text


def _check_end(name: str, config: "PreTrainedConfig", tokenizer: "PreTrainedTokenizerBase") -> None:
    """An encoder-decoder classifies by the state of the token that ends a text."""
    end = getattr(config, "eos_token_id", None)
    if getattr(config, "is_encoder_decoder", False) and end not in tokenizer("a")["input_ids"]:
        raise ConfigError(
            f"{name} classifies by the token that ends a text (number {end}), and its tokenizer "
            "adds none. Expected the tokenizer that it was trained with."
        )


def check_kind(name: str, config: "PreTrainedConfig", kind: str | None = None) -> None:
    """A sequence classifier with two classes or more, of which each text has one."""
    kinds = [kind] if kind else _architectures(name, config)
    if any(part in one for one in kinds for part in GENERATIVE):
        raise ConfigError(
            f"{name} is a generative model ({kinds[0]}): it generates text and predicts no class. "
            "Expected a sequence classifier."
        )
    if kinds and not any("ForSequenceClassification" in one for one in kinds):
        raise ConfigError(
            f"{name} is a {kinds[0]}, without a classifier on top. Expected a model for sequence "
            "classification, fine-tuned and saved as one."
        )
    if config.problem_type == "multi_label_classification":
        raise ConfigError(
            f"{name} is a multi-label classifier. Expected a model with one class per text."
        )
    if config.problem_type == "regression":
        raise ConfigError(
            f"{name} estimates numbers (problem_type is regression); expected two classes or more."
        )
    if (config.num_labels or 0) < 2:
        raise ConfigError(f"{name} predicts one number per text. Expected two classes or more.")
