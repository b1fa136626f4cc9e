"""A Hugging Face classifier from a folder, a hub name, a pair or a pipeline; its labels and ours.

Whatever cannot be audited is refused with a sentence. Weights are read from safetensors only:
nothing is ever unpickled.
"""

from dataclasses import dataclass, replace

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.prompted import Prompt, load_prompted
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.model.hub import HubSource
from heedful.model.precision import Precision
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.text.documents import Documents
from heedful.text.labels import match_labels


@dataclass(frozen=True)
class LoadedTransformer:
    """A model ready to be audited, and what its classes are called."""

    name: str
    model: TransformerModel
    classes: tuple[str, ...]

    def with_labels_of(self, documents: Documents) -> "tuple[LoadedTransformer, Documents, str]":
        """Model and documents that use the same labels, and a note on how they were matched."""
        classes, documents, note = match_labels(self.classes, documents)
        return replace(self, classes=classes), documents, note


def load_transformer(
    name: str,
    device: str = "cpu",
    precision: Precision = "auto",
    long_texts: LongTexts = "cut",
) -> LoadedTransformer:
    """The classifier in a local folder, or of that name on the hub where there is a network."""
    from heedful.training.trained import choose_device

    place = choose_device(device)
    return _ready(SequenceClassifier.load(name).to(place), precision, long_texts)


def load_prompted_transformer(
    name: str,
    prompt: Prompt,
    device: str = "cpu",
    precision: Precision = "auto",
    long_texts: LongTexts = "cut",
) -> LoadedTransformer:
    """The decoder in a local folder, or of that name on the hub, asked by a prompt."""
    from heedful.training.trained import choose_device

    place = choose_device(device)
    model, tokenizer = load_prompted(name, prompt)
    around = (prompt.before, prompt.behind)
    model.to(place)  # type: ignore[arg-type]  # transformers types its wrapper wrongly
    ready = TransformerModel(model, tokenizer, precision, long_texts, around)
    return LoadedTransformer(HubSource(name).short_name, ready, tuple(prompt.words))


def of_pair(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    name: str | None = None,
    precision: Precision = "auto",
) -> LoadedTransformer:
    """A model and its tokenizer as their owner loaded them."""
    return _ready(SequenceClassifier.of_pair(model, tokenizer, name), precision)


def of_anything(
    given: object,
    tokenizer: object = None,
    precision: Precision = "auto",
    long_texts: LongTexts = "cut",
) -> LoadedTransformer | None:
    """What was given, if it is a model with a tokenizer, a pair of them, or a pipeline."""
    found = SequenceClassifier.of_anything(given, tokenizer)
    return None if found is None else _ready(found, precision, long_texts)


def _ready(
    found: SequenceClassifier, precision: Precision, long_texts: LongTexts = "cut"
) -> LoadedTransformer:
    model = TransformerModel(found.model, found.tokenizer, precision, long_texts)
    return LoadedTransformer(found.name, model, found.classes)
