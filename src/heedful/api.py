"""`heedful.audit`, `explain` and `heal`: what people call, whatever classifier they have."""

import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted

from heedful.auditing.conformal import RISK
from heedful.auditing.deep import check_same_documents, twins_wanted
from heedful.auditing.explanation import explain_with, subject_of_any
from heedful.auditing.given_scores import GivenScores
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, NewDocuments, prepare_audit
from heedful.auditing.subjects.base import Judge, Subject
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.auditing.subjects.retrained import Twins, train_twins
from heedful.auditing.withholding import Withholding, measures_by_default
from heedful.config import at_least, seconds_in
from heedful.errors import DataError, DataWarning
from heedful.estimator import Classifier, Labels, as_labels, as_texts
from heedful.importance.base import Measure
from heedful.importance.explanation import USUAL_MEASURES, Explanation
from heedful.jobs.progress import JobLines
from heedful.model.hub import HF
from heedful.model.precision import Precision
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.storage import held
from heedful.text.documents import Corpus, Document, Documents, share_out
from heedful.text.readers import read_object
from heedful.text.saved_datasets import DatasetObject
from heedful.training.heal import EPOCHS, KEPT, Healing, Patient, heal_settings
from heedful.training.progress import EpochLines
from heedful.training.trained import Trained, choose_device


def audit(
    classifier: object,
    documents: Documents | DatasetObject | Sequence[str],
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    *,
    labels: Labels | None = None,
    sample: int | None = None,
    budget: str | float | None = None,
    include_trained: bool = False,
    tolerate: float | None = None,
    measures: Sequence[Measure] = (),
    attributions: object = None,
    precision: Precision = "auto",
    judge: Judge | None = None,
    deep: str | Path | None = None,
    training: tuple[Any, ...] | None = None,
    tokenizer: object = None,
    readout: str = "last-cls",
    long_texts: LongTexts = "cut",
    name: str = "classifier",
) -> Audit:
    """Test whether a classifier's attention explains its decisions on some documents.

    `classifier` is a fitted `Classifier`, a `ModuleAdapter` of any PyTorch module, any object with
    the protocol of `Subject`, or a Hugging Face sequence classifier: a model with its `tokenizer`,
    a pair of them, or a pipeline. `readout` says how the attention of a Hugging Face model is read
    (docs/transformers.md audits several readouts at once). Texts that are too long for the model
    are cut, or, with `long_texts="windows"`, read in overlapping windows.

    `documents` are `Documents`, a list of texts with `labels`, or a `Dataset` of the package
    datasets, whose columns are found by their names. `sample` audits that many documents, drawn at
    random; `budget` ("90s", "5m", "1h" or seconds) audits as many as fit in the time. Documents
    that were used to train a `Classifier` or to choose its best epoch are left out with a warning,
    unless `include_trained` is set. `tolerate` is the share of documents that may have a false
    picture (default: 0.15).

    `measures` are further measures of importance; your own functions work with a `Classifier`.
    `attributions` are scores of words or tokens computed by other tools, as a file or an object
    (docs/attributions.md). They are judged on the documents that have them; see `given` and
    `given_sentences` of the audit. `precision="fp32"` forbids bf16, which is otherwise used for
    shortened texts on a GPU if a check allows it.

    `deep` is a folder in which about twenty variants of a `Classifier` are trained for the
    questions that need retrained models. `training` are the texts and labels that the classifier
    was fitted on, and dev if it was given.
    """
    documents = _as_documents(documents, labels)
    at_least(1, sample=sample)
    seconds = None if budget is None else seconds_in(budget)
    settings = settings or AuditSettings()
    if tolerate is not None:
        settings = replace(settings, tolerate=tolerate)
    plan = AuditPlan(settings, asked, sample, seconds, include_trained)
    given = GivenScores.read(attributions)
    if "transformers" in sys.modules:  # else nobody can have made a model of it
        from heedful.auditing.subjects.huggingface.audit_readings import prepare_readings
        from heedful.auditing.subjects.huggingface.loading import of_anything
        from heedful.auditing.subjects.huggingface.readings import subjects_of

        if (loaded := of_anything(classifier, tokenizer, precision, long_texts)) is not None:
            if deep is not None or judge is not None:
                raise DataError(
                    "judge and deep are not available in Python for a Hugging Face model. For a "
                    "deep audit use the command line: heedful audit hf:… --deep."
                )
            loaded, documents, _ = loaded.with_labels_of(documents)
            subjects, _ = subjects_of(loaded, [readout])
            subjects = {name: one.with_measures(measures) for name, one in subjects.items()}
            prepared_readings = prepare_readings(loaded, subjects, documents, plan, given=given)
            _warn_unscored(prepared_readings.chosen)
            (found,) = prepared_readings.run().audits.values()
            return found
    twins = None
    if deep is not None:
        plan = replace(plan, settings=settings.deepened())
        if judge is not None:
            raise DataError("`judge` and `deep` cannot be combined in Python: drop `judge`.")
        with held(deep):
            twins = _train_twins(classifier, plan.settings, asked, Path(deep), training)
    if isinstance(classifier, Classifier):
        check_is_fitted(classifier)
        documents = classifier.trained_.with_own_labels(documents)
    subject = _as_subject(classifier, precision).with_measures(measures)
    prepared = prepare_audit(
        subject, documents, plan, about={"name": name}, judge=judge, twins=twins, given=given
    )
    if prepared.chosen.note:
        advice = "include_trained=True audits them too"
        warnings.warn(f"{prepared.chosen.note}; {advice}.", DataWarning, stacklevel=2)
    _warn_unscored(prepared.chosen)
    return prepared.run()


def _warn_unscored(chosen: NewDocuments) -> None:
    if chosen.unscored_note:
        warnings.warn(f"{chosen.unscored_note}.", DataWarning, stacklevel=3)


def _as_subject(classifier: object, precision: Precision) -> Subject:
    """What an audit sees of whatever was given."""
    if isinstance(classifier, Classifier):
        check_is_fitted(classifier)
        return ClassifierSubject(classifier.trained_, precision)
    return subject_of_any(classifier)


def explain(
    classifier: object,
    text: str,
    measures: Sequence[Measure] | None = None,
    *,
    tokenizer: object = None,
    readout: str = "last-cls",
    audit: Audit | None = None,
    risk: float = RISK,
) -> Explanation:
    """Explain one text word by word.

    `classifier`, `tokenizer` and `readout` are as in `audit`. Without `measures`, the usual
    measures of importance are computed, including attention. With an `audit` of the same model,
    measures that it refuses are left out by default, and `shown` and `why` say whether the heat map
    of attention may be shown: of texts like the audited ones, at most the share `risk` is shown
    with a false heat map.
    """
    if isinstance(classifier, Classifier):
        subject = _as_subject(classifier, "auto") if audit is not None else None
        usual = USUAL_MEASURES if audit is None else measures_by_default(audit)
        found = classifier.explain(text, usual if measures is None else measures)
    else:
        subject = subject_of_any(classifier, tokenizer, readout)
        found = explain_with(subject, text, measures)
    if audit is None or subject is None:
        return found
    return Withholding.by_audit(audit, subject, risk).explained(found)


def heal(
    model: object,
    texts: Documents | Sequence[str],
    labels: Labels | None = None,
    *,
    tokenizer: object = None,
    output: str | Path | None = None,
    tune: bool = False,
    epochs: int | None = None,
    dev_share: float = 0.1,
    test_share: float = 0.1,
    seed: int = 1,
    device: str = "cpu",
    show_progress: bool = False,
) -> Classifier:
    """Train attention that may be shown for a finished Hugging Face classifier.

    The classifier still decides. `model` is a folder or a name on the Hub (with or without "hf:"),
    a model with its `tokenizer`, a pair of them, or a pipeline. Attention learns from the model's
    own decisions; `labels` are used only to measure accuracy at the end (`metrics` of the run).
    With `output`, a run folder is written, or resumed if it is unfinished. `tune` also fine-tunes
    the copy of the encoder that attention reads; the model itself never changes.
    """
    target = choose_device(device)
    documents = _as_documents(texts, labels)
    patient, name = _patient(model, tokenizer, target)
    settings = heal_settings(name, tune, epochs or EPOCHS).with_(seed=seed)
    corpus = share_out(Corpus("in memory", documents), dev_share, test_share, seed=0)
    folder = None if output is None else RunFolder(output)
    if folder is not None and (folder.is_finished or not folder.is_begun):
        folder = RunFolder.new(folder.path)
    healing = Healing.prepare(patient, corpus, settings, {})
    for note in healing.notes:
        warnings.warn(f"{note}.", DataWarning, stacklevel=2)
    with EpochLines("", score=KEPT) if show_progress else nullcontext() as watcher:
        return Classifier.of(healing.run(folder, device, watcher), device)


def _patient(model: object, tokenizer: object, device: torch.device) -> tuple[Patient, str]:
    """The model that is to be healed, and the name of its encoder's source."""
    if isinstance(model, str | Path):
        name = str(model).removeprefix(HF)
        return Patient.load(name, device), name
    found = SequenceClassifier.of_anything(model, tokenizer)
    if found is None:
        raise DataError(
            "expected a Hugging Face sequence classifier (a folder, a name, a model with its "
            f"tokenizer, or a pipeline), not {model!r:.60}."
        )
    return Patient.of(found, device), found.name


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
            "a deep audit retrains a fitted heedful.Classifier: give the texts and labels that it "
            "was fitted on as `training`."
        )
    check_is_fitted(classifier)
    if classifier.trained_.original is not None:
        raise DataError("a healed model cannot be retrained: audit it without `deep`.")
    task = classifier.task(*training)
    check_same_documents(classifier.trained_, task)
    run = folder / "itself"
    if not RunFolder(run).is_finished:
        classifier.save(run)
    kept = Trained.load(run).model.state_dict()
    if any(not torch.equal(kept[n], p.cpu()) for n, p in classifier.model_.state_dict().items()):
        raise DataError(f"{folder} holds retrained models of another classifier. Choose another.")
    wanted = twins_wanted(settings, classifier.trained_.settings, asked)
    with JobLines() if classifier.show_progress else nullcontext() as watcher:
        return train_twins(
            wanted, run, task, folder, chosen_words=settings.chosen_words, watcher=watcher
        )


def _as_documents(
    documents: Documents | DatasetObject | Sequence[str], labels: Labels | None
) -> Documents:
    """Documents as they are, those of a data set, or texts with their labels."""
    if isinstance(documents, DatasetObject):
        documents, _ = read_object(documents, needs_labels=False)
    if isinstance(documents, Documents):
        if labels is not None:
            raise DataError("these documents have labels already: drop `labels`, or give texts.")
        return documents
    texts = as_texts(documents)
    known = [None] * len(texts) if labels is None else map(str, as_labels(texts, labels))
    return Documents(map(Document, texts, known))
