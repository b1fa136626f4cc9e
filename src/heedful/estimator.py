"""`heedful.Classifier`: a classifier with the interface of scikit-learn.

It has `fit`, `predict`, `predict_proba`, `score` and `get_params`, so `cross_val_score`, `Pipeline`
and `GridSearchCV` work with it. The trained `nn.Module` is available as `model_`.
"""

import inspect
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from heedful.errors import DataError, DataWarning, counted
from heedful.importance.base import Measure
from heedful.importance.explanation import USUAL_MEASURES, Explanation
from heedful.importance.explanation import explain as explain_text
from heedful.model.alignments import Alignment
from heedful.model.build import ModelSettings
from heedful.model.classifier import Pooling, TextClassifier
from heedful.model.encoders import EncoderSettings
from heedful.model.hub import check_folder
from heedful.model.outputs import OutputSettings
from heedful.model.precision import Precision
from heedful.model.projections import Projection
from heedful.runs import CONFIG, RunFolder
from heedful.text.documents import Corpus, Document, Documents, Split, share_out
from heedful.text.labels import doubtful_labels
from heedful.text.tokenize import TextSettings
from heedful.training.fit import TrainingSettings
from heedful.training.optimizers import OptimizerSettings
from heedful.training.progress import EpochLines
from heedful.training.recipe import Recipe
from heedful.training.settings import STAGE_OF, Settings
from heedful.training.task import Label, Labelled, Task
from heedful.training.train import train
from heedful.training.trained import Trained, WordWeights

Texts = Collection[object]
"""A list, array or series of strings; `as_texts` checks."""

Labels = Collection[object]
"""As many labels as texts: words, numbers or booleans."""


@dataclass(eq=False, repr=False)  # scikit-learn compares and prints estimators in its own way
class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier with attention.

    Families (encoder, alignment, projection, recipe, optimizer) take a name, a name with options
    ("bilstm:hidden_size=64") or an object. All other arguments are fields of the settings classes,
    where they are documented. `fit` sets aside the share `dev_share` of the documents to choose the
    best epoch.
    """

    encoder: str | EncoderSettings = "bilstm"
    alignment: str | Alignment = "additive"
    projection: str | Projection = "softmax"
    recipe: str | Recipe = "standard"
    optimizer: str | OptimizerSettings = "amsgrad"
    _: KW_ONLY
    pooling: Pooling = ModelSettings.pooling
    keys: str = ModelSettings.keys
    query: Literal["learned", "text"] = ModelSettings.query
    embedding_size: int = ModelSettings.embedding_size
    embedding_bound: float = ModelSettings.embedding_bound
    weight_bound: float | None = ModelSettings.weight_bound
    vectors: str | Path | None = ModelSettings.vectors
    freeze_vectors: bool = ModelSettings.freeze_vectors
    dropout: float = ModelSettings.dropout
    output: str | OutputSettings = "linear"
    output_bias: bool = ModelSettings.output_bias
    split: Split = TextSettings.split
    lowercase: bool = TextSettings.lowercase
    fold_digits: bool = TextSettings.fold_digits
    min_documents: int = TextSettings.min_documents
    max_vocabulary: int = TextSettings.max_vocabulary
    max_words: int = TextSettings.max_words
    batch_size: int = TrainingSettings.batch_size
    patience: int | None = TrainingSettings.patience
    select_by: Literal["accuracy", "loss"] = TrainingSettings.select_by
    gradient_clip: float | None = TrainingSettings.gradient_clip
    class_weights: Literal["none", "balanced"] = TrainingSettings.class_weights
    averaging: float = TrainingSettings.averaging
    precision: Precision = TrainingSettings.precision
    seed: int = TrainingSettings.seed
    dev_share: float = 0.1
    device: str = "cpu"
    show_progress: bool = False

    def fit(
        self,
        texts: Texts,
        labels: Labels,
        *,
        dev: tuple[Texts, Labels] | None = None,
    ) -> "Classifier":
        """Train on texts and labels; `dev` = (texts, labels), if given, chooses the best epoch.

        A `DataWarning` names labels that are probably mistakes.
        """
        settings = self.settings
        task = self.task(texts, labels, dev)
        learnt = (task.classes[number] for part in (task.train, task.dev) for number in part.labels)
        for sentence in doubtful_labels(learnt):
            warnings.warn(sentence, DataWarning, stacklevel=2)
        with EpochLines("") if self.show_progress else nullcontext() as watcher:
            self.trained_ = train(task, settings, device=self.device, watcher=watcher)
        self.classes_ = np.array(task.classes)
        return self

    def task(self, texts: Texts, labels: Labels, dev: tuple[Texts, Labels] | None = None) -> Task:
        """What `fit` would learn from: the documents, cut into train and dev."""
        listed = as_texts(texts)
        classes, numbers = _numbered(listed, labels)
        numbered = Labelled(listed, numbers)
        if dev is None:
            train_part, dev_part = hold_out(numbered, self.dev_share, self.settings.training.seed)
        else:
            train_part, dev_part = numbered, _labelled(as_texts(dev[0]), dev[1], classes)
        nothing = Labelled([], np.empty(0, dtype=np.int64))
        return Task(tuple(classes), train_part, dev_part, nothing, {"name": "in memory"})

    @property
    def settings(self) -> Settings:
        """All settings; what is left at its default, the recipe may change."""
        defaults = inspect.signature(type(self).__init__).parameters
        given = {name: getattr(self, name) for name in STAGE_OF}
        changes = {name: value for name, value in given.items() if value != defaults[name].default}
        return Settings().with_(**changes)

    def predict_proba(self, texts: Texts) -> Float[ndarray, "documents classes"]:
        """Class probabilities; columns in the order of `classes_`."""
        check_is_fitted(self)
        return self.trained_.probabilities(as_texts(texts))

    def predict(self, texts: Texts) -> ndarray:
        """The most probable label of each text."""
        best = self.predict_proba(texts).argmax(axis=1)
        return self.classes_[best]

    def attention(self, texts: Texts) -> list[WordWeights]:
        """The words of each text with their attention weights."""
        check_is_fitted(self)
        return self.trained_.attention(as_texts(texts))

    def explain(self, text: str, measures: Sequence[Measure] = USUAL_MEASURES) -> Explanation:
        """Explain one text word by word, by attention and other measures of importance."""
        check_is_fitted(self)
        return explain_text(self.trained_, text, measures)

    @property
    def model_(self) -> TextClassifier:
        """The trained module."""
        check_is_fitted(self)
        return self.trained_.model

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One row per epoch: losses and dev scores."""
        check_is_fitted(self)
        return self.trained_.history

    def save(self, path: str | Path) -> None:
        """Write a run folder, as `heedful train -o` does."""
        check_is_fitted(self)
        self.trained_.save(path)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> "Classifier":
        """The classifier of a run folder, however it was trained."""
        _refuse_pickled(Path(path))
        return cls.of(Trained.load(path, device), device)

    @classmethod
    def of(cls, trained: Trained, device: str = "cpu") -> "Classifier":
        """A finished run as a fitted classifier."""
        classifier = cls(**trained.settings.flat(), device=device)
        classifier.trained_ = trained
        classifier.classes_ = np.array(trained.classes)
        return classifier

    def save_pretrained(self, path: str | Path) -> None:
        """The same as `save`, under the name that Hugging Face's libraries use."""
        self.save(path)

    @classmethod
    def from_pretrained(cls, path: str | Path, device: str = "cpu") -> "Classifier":
        """The same as `load`, under the name that Hugging Face's libraries use."""
        return cls.load(path, device)


def _refuse_pickled(folder: Path) -> None:
    """Say of a folder whose weights are pickled how they are converted."""
    if RunFolder(folder).is_begun and not any(folder.glob("*.safetensors")):
        config = RunFolder(folder).read_json(CONFIG)
        if "schema" not in config:
            check_folder(folder)


def as_texts(texts: object) -> list[str]:
    """A list, array or series of strings as a list; anything else is refused."""
    listed = _as_list(texts, "text")
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(f"texts should be strings; number {place} is {_why_no_text(text)}")
    return [str(text) for text in listed]


def _why_no_text(given: object) -> str:
    """What came instead of a text, and what to do."""
    if given is None or (isinstance(given, float) and given != given):
        return f"missing ({given}). Leave out the documents without a text, or give them ''."
    if isinstance(given, bytes | bytearray):
        return f"{given!r:.60}. Decode bytes first, as in text.decode('utf-8')."
    return f"{given!r:.60}."


@runtime_checkable
class _Shaped(Protocol):
    """An array, a series or a table."""

    shape: tuple[int, ...]


@runtime_checkable
class _Table(_Shaped, Protocol):
    """A table of pandas or one like it."""

    columns: Iterable[object]


def _as_list(given: object, noun: str) -> list[object]:
    """What holds one text or label per document, as a list; `noun` is what is expected."""
    wanted = f"expected a list of {noun}s, got "
    if isinstance(given, str | bytes | bytearray):
        kind = "one string" if isinstance(given, str) else "bytes"
        raise DataError(f"{wanted}{kind}. Write [{noun}].")
    if isinstance(given, Mapping):
        keys = list(given)
        raise DataError(
            f"{wanted}a dict with the keys {_some(keys)}. Give the list under one of the keys, as "
            f"in given[{_column(keys, noun)!r}], or list(given.values())."
        )
    if isinstance(given, _Table):
        names = list(given.columns)
        raise DataError(
            f"{wanted}a table of {counted(len(names), 'column')} ({_some(names)}). Give one "
            f"column, as in frame[{_column(names, noun)!r}]."
        )
    if isinstance(given, _Shaped) and len(given.shape) != 1:
        raise DataError(
            f"{wanted}an array of shape {tuple(given.shape)}. Give an array of one axis, such as "
            "one column: array[:, 0]."
        )
    if not isinstance(given, Iterable):
        raise DataError(f"{wanted}{given!r:.60}.")
    return list(given)


def _column(names: list[object], noun: str) -> object:
    """The name to use as an example."""
    if noun in names:
        return noun
    return names[0] if names else noun


def _some(names: list[object]) -> str:
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")


def hold_out(part: Labelled, share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Cut a share of the documents off, class by class, repeats of a text kept together."""
    documents = Documents(
        Document(text, str(number)) for text, number in zip(part.texts, part.labels, strict=True)
    )
    corpus = share_out(Corpus("", documents), dev_share=share, test_share=0.0, seed=seed)
    train_part, dev_part = (
        Labelled(some.texts, np.array([int(str(label)) for label in some.labels], dtype=np.int64))
        for some in (corpus.train, corpus.dev)
    )
    return train_part, dev_part


def _numbered(texts: list[str], labels: Labels) -> tuple[list[Label], Int[ndarray, " documents"]]:
    """The different labels in order, and each text's place among them."""
    listed = as_labels(texts, labels)
    try:
        classes = sorted(set(listed))
    except TypeError:
        raise DataError("labels should be all words or all numbers, not both.") from None
    place = {label: number for number, label in enumerate(classes)}
    return classes, np.array([place[label] for label in listed], dtype=np.int64)


def _labelled(texts: list[str], labels: Labels, classes: list[Label]) -> Labelled:
    listed = as_labels(texts, labels)
    place = {label: number for number, label in enumerate(classes)}
    unseen = sorted({str(label) for label in listed if label not in place})
    if unseen:
        raise DataError(f"dev has labels never seen in training: {', '.join(unseen[:5])}.")
    return Labelled(texts, np.array([place[label] for label in listed], dtype=np.int64))


def as_labels(texts: list[str], labels: object) -> list[Label]:
    """As many labels as texts, as Python's own words, numbers or truth values."""
    listed: list[Label] = []
    for place, given in enumerate(_as_list(labels, "label")):
        label = given.item() if isinstance(given, np.generic) else given
        if not isinstance(label, str | int | float) or label != label:
            raise DataError(
                f"a label should be a word or a number; number {place} is {label!r:.60}."
            )
        listed.append(label)
    if len(texts) != len(listed):
        raise DataError(
            f"expected one label per text; got {counted(len(texts), 'text')} "
            f"and {counted(len(listed), 'label')}."
        )
    return listed
