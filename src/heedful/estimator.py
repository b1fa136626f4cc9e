"""`heedful.Classifier`: the same training in scikit-learn's habits.

`fit`, `predict`, `predict_proba`, `score`, `get_params`: so `cross_val_score`, `Pipeline` and
`GridSearchCV` work on it. Underneath is a plain `nn.Module`, at hand as `model_`.
"""

import inspect
import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from heedful.auditing.audit import audit as ask_all
from heedful.auditing.deep import check_same_documents, twins_wanted
from heedful.auditing.module_subject import ModuleSubject
from heedful.auditing.modules import ModuleAdapter
from heedful.auditing.questions import AuditSettings
from heedful.auditing.record import Audit
from heedful.auditing.subject import Judge, Subject
from heedful.auditing.subjects import ClassifierSubject
from heedful.auditing.twins import Twins, train_twins
from heedful.errors import DataError, counted
from heedful.importance.explanation import USUAL_MEASURES, Explanation
from heedful.importance.explanation import explain as explain_text
from heedful.importance.measure import Measure
from heedful.jobs.progress import JobLines
from heedful.model.alignments import Alignment
from heedful.model.classifier import Pooling, TextClassifier
from heedful.model.encoders import EncoderSettings
from heedful.model.hub import check_folder
from heedful.model.outputs import OutputSettings
from heedful.model.precision import Precision
from heedful.model.projections import Projection
from heedful.runs import CONFIG, RunFolder
from heedful.text.documents import Corpus, Document, Documents, Split, share_out
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


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier with attention.

    Families (encoder, alignment, projection, recipe, optimizer) take a name, a name with options
    ("bilstm:hidden_size=64") or an object. All other arguments are fields of the settings classes,
    which document them. `dev_share` of the documents given to `fit` choose the best epoch.
    """

    def __init__(
        self,
        encoder: str | EncoderSettings = "bilstm",
        alignment: str | Alignment = "additive",
        projection: str | Projection = "softmax",
        recipe: str | Recipe = "standard",
        optimizer: str | OptimizerSettings = "amsgrad",
        *,
        pooling: Pooling = "attention",
        keys: Literal["shared", "separate"] = "shared",
        query: Literal["learned", "text"] = "learned",
        embedding_size: int = 100,
        embedding_bound: float = 0.1,
        vectors: str | Path | None = None,
        freeze_vectors: bool = False,
        dropout: float = 0.5,
        output: str | OutputSettings = "linear",
        output_bias: bool = True,
        split: Split = "words",
        lowercase: bool = True,
        fold_digits: bool = False,
        min_documents: int = 2,
        max_vocabulary: int = 50_000,
        max_words: int = 500,
        batch_size: int = 32,
        patience: int | None = 3,
        select_by: Literal["accuracy", "loss"] = "accuracy",
        gradient_clip: float | None = 5.0,
        class_weights: Literal["none", "balanced"] = "none",
        seed: int = 1,
        dev_share: float = 0.1,
        device: str = "cpu",
        show_progress: bool = False,
    ) -> None:
        self.encoder = encoder
        self.alignment = alignment
        self.projection = projection
        self.recipe = recipe
        self.optimizer = optimizer
        self.pooling = pooling
        self.keys = keys
        self.query = query
        self.embedding_size = embedding_size
        self.embedding_bound = embedding_bound
        self.vectors = vectors
        self.freeze_vectors = freeze_vectors
        self.dropout = dropout
        self.output = output
        self.output_bias = output_bias
        self.split = split
        self.lowercase = lowercase
        self.fold_digits = fold_digits
        self.min_documents = min_documents
        self.max_vocabulary = max_vocabulary
        self.max_words = max_words
        self.batch_size = batch_size
        self.patience = patience
        self.select_by = select_by
        self.gradient_clip = gradient_clip
        self.class_weights = class_weights
        self.seed = seed
        self.dev_share = dev_share
        self.device = device
        self.show_progress = show_progress

    def fit(
        self,
        texts: Texts,
        labels: Labels,
        *,
        dev: tuple[Texts, Labels] | None = None,
    ) -> "Classifier":
        """Train on texts and labels; `dev` = (texts, labels) chooses the best epoch if given."""
        settings = self.settings
        task = self.task(texts, labels, dev)
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
        """The words of each text with the attention they get."""
        check_is_fitted(self)
        return self.trained_.attention(as_texts(texts))

    def explain(self, text: str, measures: Sequence[Measure] = USUAL_MEASURES) -> Explanation:
        """One text, word by word: attention beside other measures of importance."""
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
        """The classifier of a run folder, whoever trained it."""
        _refuse_pickled(Path(path))
        trained = Trained.load(path, device)
        classifier = cls(**trained.settings.flat(), device=device)
        classifier.trained_ = trained
        classifier.classes_ = np.array(trained.classes)
        return classifier

    def save_pretrained(self, path: str | Path) -> None:
        """`save`, by the name that it has in Hugging Face's libraries."""
        self.save(path)

    @classmethod
    def from_pretrained(cls, path: str | Path, device: str = "cpu") -> "Classifier":
        """`load`, by the name that it has in Hugging Face's libraries."""
        return cls.load(path, device)


def audit(
    classifier: object,
    documents: Documents | Sequence[str],
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    *,
    labels: Labels | None = None,
    measures: Sequence[Measure] = (),
    precision: Precision = "auto",
    judge: Judge | None = None,
    deep: str | Path | None = None,
    training: tuple[Any, ...] | None = None,
    tokenizer: object = None,
    readout: str = "last-cls",
    name: str = "classifier",
) -> Audit:
    """Ask whether a classifier's attention explains its decisions on some documents.

    The classifier is a fitted `Classifier`, a `ModuleAdapter` of any PyTorch module, anything that
    keeps the protocol of `Subject`, or a Hugging Face sequence classifier: a model with its
    `tokenizer`, a pair of them, or a pipeline, whose attention is read out as `readout` says
    (docs/transformers.md has several at once). `labels` go with documents that are plain texts;
    `measures` are further ones of importance, for a `Classifier`. `precision` "fp32" forbids bf16
    for shortened texts on a GPU, which is checked before it is used. With `deep`, a folder, about
    twenty twins of a `Classifier` are trained there for the questions that take them; `training`
    are the texts and labels that it was fitted on, and dev where it had one.
    """
    documents = _as_documents(documents, labels)
    if measures and not isinstance(classifier, Classifier):
        raise DataError(
            "further measures are for a fitted heedful.Classifier, whose inside they look at; "
            f"{type(classifier).__name__} is audited with its own."
        )
    if "transformers" in sys.modules:  # else nobody can have made a model of it
        from heedful.auditing.transformer_audits import audit_readings, subjects_of
        from heedful.auditing.transformer_loading import of_anything

        if (loaded := of_anything(classifier, tokenizer, precision)) is not None:
            if deep is not None or judge is not None:
                raise DataError(
                    "deep and judge are not for a Hugging Face model, audited as it is."
                )
            loaded, documents, _ = loaded.with_labels_of(documents)
            subjects, _ = subjects_of(loaded, [readout])
            (found,) = audit_readings(loaded, subjects, documents, settings, asked).audits.values()
            return found
    twins = None
    if deep is not None:
        if judge is not None:
            raise DataError("a deep audit from Python judges by the model itself: drop `judge`.")
        twins = _train_twins(classifier, settings or AuditSettings(), asked, Path(deep), training)
    if isinstance(classifier, Classifier):
        check_is_fitted(classifier)
        classifier = ClassifierSubject(classifier.trained_, measures, precision)
    if isinstance(classifier, ModuleAdapter):
        classifier = ModuleSubject(classifier)
    if not isinstance(classifier, Subject):
        raise DataError(
            f"{type(classifier).__name__} cannot be audited: give a fitted heedful.Classifier, a "
            "Hugging Face sequence classifier with its tokenizer, a heedful.ModuleAdapter of any "
            "other module (docs/any-module.md), or a heedful Subject."
        )
    return ask_all(
        classifier, documents, settings, asked, judge=judge, twins=twins, about={"name": name}
    )


def _train_twins(
    classifier: object,
    settings: AuditSettings,
    asked: Sequence[str] | None,
    folder: Path,
    training: tuple[Any, ...] | None,
) -> Twins:
    """The twins of a fitted classifier, which is kept beside them."""
    if not isinstance(classifier, Classifier) or training is None:
        raise DataError(
            "a deep audit trains twins of a fitted heedful.Classifier: give the texts and labels "
            "that it was fitted on as `training`."
        )
    check_is_fitted(classifier)
    task = classifier.task(*training)
    check_same_documents(classifier.trained_, task)
    run = folder / "itself"
    if not RunFolder(run).is_finished:
        classifier.save(run)
    kept = Trained.load(run).model.state_dict()
    if any(not torch.equal(kept[n], p.cpu()) for n, p in classifier.model_.state_dict().items()):
        raise DataError(f"{folder} holds twins of another classifier. Choose another folder.")
    wanted = twins_wanted(settings, classifier.trained_.settings, asked)
    with JobLines() if classifier.show_progress else nullcontext() as watcher:
        return train_twins(
            wanted, run, task, folder, chosen_words=settings.chosen_words, watcher=watcher
        )


def explain(
    classifier: Classifier, text: str, measures: Sequence[Measure] = USUAL_MEASURES
) -> Explanation:
    """One text, word by word, as a fitted classifier sees it."""
    return classifier.explain(text, measures)


def _as_documents(documents: Documents | Sequence[str], labels: Labels | None) -> Documents:
    """Documents as they are, or texts with their labels."""
    if isinstance(documents, Documents):
        if labels is not None:
            raise DataError("these documents carry their labels: drop `labels`, or give texts.")
        return documents
    texts = as_texts(documents)
    known = [None] * len(texts) if labels is None else map(str, as_labels(texts, labels))
    return Documents(map(Document, texts, known))


def _refuse_pickled(folder: Path) -> None:
    """Say of a folder whose weights are pickled how they are converted."""
    if RunFolder(folder).is_begun and not any(folder.glob("*.safetensors")):
        config = RunFolder(folder).read_json(CONFIG)
        if "schema" not in config:
            check_folder(folder)


def as_texts(texts: Texts) -> list[str]:
    """A list, array or series of strings as a list; anything else is refused."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got one string. Write [text].")
    listed = list(texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(f"texts should be strings; number {place} is {text!r:.60}.")
    return [str(text) for text in listed]


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
        raise DataError("labels should be all words or all numbers, not some of each.") from None
    place = {label: number for number, label in enumerate(classes)}
    return classes, np.array([place[label] for label in listed], dtype=np.int64)


def _labelled(texts: list[str], labels: Labels, classes: list[Label]) -> Labelled:
    listed = as_labels(texts, labels)
    place = {label: number for number, label in enumerate(classes)}
    unseen = sorted({str(label) for label in listed if label not in place})
    if unseen:
        raise DataError(f"dev has labels never seen in training: {', '.join(unseen[:5])}.")
    return Labelled(texts, np.array([place[label] for label in listed], dtype=np.int64))


def as_labels(texts: list[str], labels: Labels) -> list[Label]:
    """As many labels as texts, as Python's own words, numbers or truth values."""
    listed: list[Label] = []
    for place, given in enumerate(labels):
        label = given.item() if isinstance(given, np.generic) else given
        if not isinstance(label, str | int | float) or label != label:
            raise DataError(
                f"a label should be a word or a number; number {place} is {label!r:.60}."
            )
        listed.append(label)
    if len(texts) != len(listed):
        raise DataError(
            f"as many labels as texts are needed; got {counted(len(texts), 'text')} "
            f"and {counted(len(listed), 'label')}."
        )
    return listed
