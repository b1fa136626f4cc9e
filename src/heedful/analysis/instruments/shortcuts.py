"""Can a model write the label into its attention pattern? The experiment of Bai et al. 2021.

A task in, a `Probe` out: every arm is trained with every seed and read on the test documents. What
is attended to is the same for all texts, so whatever an arm gets right beyond the commonest label
went through the weights alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from heedful.analysis.instruments.base import OfTraining, analyses
from heedful.analysis.result import Result
from heedful.analysis.shortcuts.arms import (
    MITIGATIONS,
    ORDINARY,
    REFERENCE,
    Bench,
    Taught,
    arms,
    check_mask,
)
from heedful.analysis.shortcuts.findings import ASKS, FIGURES, NAME, Probe
from heedful.analysis.shortcuts.outcomes import Outcome, Truth, find
from heedful.auditing.bootstrap import BootstrapSettings, over_seeds
from heedful.config import above, at_least, size, to_plain, within
from heedful.errors import ConfigError, DataError
from heedful.model.build import build_model
from heedful.model.classifier import TextClassifier, Trace
from heedful.model.default_tokens import MOST_TOKENS, blindfold
from heedful.model.encoders import encoders
from heedful.model.projections import Projection, projections
from heedful.text.batching import Batches
from heedful.text.documents import Corpus, Split
from heedful.text.tokenize import Tokenizer
from heedful.text.vocabulary import SPECIAL_WORDS
from heedful.training.evaluate import evaluating
from heedful.training.fit import Watcher
from heedful.training.recipe import Material
from heedful.training.recipes.standard import Standard
from heedful.training.settings import Settings
from heedful.training.task import Labelled, Task
from heedful.training.train import one_thread_each
from heedful.training.trained import choose_device

Tell = Callable[[str, int, float], None]  # arm, seed, accuracy: as soon as it is known


@analyses.register(NAME)
@dataclass(frozen=True)
class Shortcuts(OfTraining):
    """Whether the label passes through the attention pattern alone, in five trainings (Bai)."""

    name = NAME
    asks = ASKS
    profile = "default"
    takes_settings = False  # all its trainings follow from the options below
    figures = FIGURES

    seeds: tuple[int, ...] = (1, 2, 3)
    tokens: int = 4  # default tokens to attend to
    mask: str = "softmax"  # a projection; or k-hot:k=1
    encoder: str = "embedding"  # the mean of its states is the query
    epochs: int = 6  # of each training; random-pretrained has two
    documents: int = 5_000  # to train on, at most
    embedding_size: int = 50
    dropout: float = 0.2
    batch_size: int = 128
    learning_rate: float = 0.01
    resamples: int = 2000  # behind every interval

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ConfigError("seeds should name at least one seed, as in 1,2,3.")
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"the same seed is given twice: {', '.join(map(str, self.seeds))}.")
        for seed in self.seeds:
            within(0, 2**32, seed=seed)
        at_least(2, documents=self.documents)
        within(2, MOST_TOKENS + 1, tokens=self.tokens)
        at_least(1, epochs=self.epochs, batch_size=self.batch_size, resamples=self.resamples)
        size(embedding_size=self.embedding_size)
        within(0, 1, dropout=self.dropout)
        above(0, learning_rate=self.learning_rate)
        encoders.make(self.encoder)  # refuses strangers
        check_mask(self.projection, self.tokens)

    @property
    def projection(self) -> Projection:
        """The projection that makes the mask."""
        return projections.make(self.mask)

    def analyse(
        self, corpus: Corpus | None, settings: Settings, device: str, watcher: Watcher
    ) -> Result:
        """Train every arm on the corpus with every seed."""
        if corpus is None:
            raise DataError("shortcuts trains on a corpus, and none was given.")
        task = Task.from_corpus(corpus, {})
        return probe_shortcuts(task, self, split=corpus.split, device=device).to_result()

    def of_seed(self, seed: int, split: Split) -> Settings:
        """All settings of one training."""
        return Settings().with_(
            split=split,
            encoder=self.encoder,
            pooling="mean",
            embedding_size=self.embedding_size,
            dropout=self.dropout,
            batch_size=self.batch_size,
            optimizer={"name": "amsgrad", "learning_rate": self.learning_rate},
            patience=None,  # attention may need epochs before it finds that writing pays
            select_by="loss",
            seed=seed,
        )


def probe_shortcuts(
    task: Task,
    settings: Shortcuts | None = None,
    *,
    split: Split = "words",
    device: str = "cpu",
    tell: Tell = lambda arm, seed, accuracy: None,
) -> Probe:
    """Train every arm with every seed and say whether the label passes through the pattern."""
    settings, target = settings or Shortcuts(), choose_device(device)
    task = replace(task, train=_sample(task.train, settings.documents, settings.seeds[0]))
    _check(task)
    truth = Truth(task.test.labels, _shares(task))
    outcomes: dict[str, list[Outcome]] = {}
    with one_thread_each():
        for seed in settings.seeds:
            for arm, outcome in _outcomes(task, settings, seed, split, target):
                outcomes.setdefault(arm, []).append(outcome)
                tell(arm, seed, float(outcome.hits(truth).mean()))
    rng, intervals = np.random.default_rng(settings.seeds[0]), BootstrapSettings(settings.resamples)
    findings = {arm: find(of, truth, rng, intervals) for arm, of in outcomes.items()}
    hits = {arm: np.stack([one.hits(truth) for one in of]) for arm, of in outcomes.items()}
    return Probe(
        labels=tuple(map(str, task.classes)),
        documents={"train": len(task.train), "dev": len(task.dev), "test": len(task.test)},
        majority_accuracy=float(truth.is_majority.mean()),
        ordinary=findings.pop(ORDINARY),
        arms=findings,
        falls={arm: over_seeds(hits[REFERENCE] - hits[arm], rng, intervals) for arm in MITIGATIONS},
        about={"data": task.describe(), "settings": to_plain(settings)},
    )


def _outcomes(
    task: Task, settings: Shortcuts, seed: int, split: Split, device: torch.device
) -> Iterator[tuple[str, Outcome]]:
    """The ordinary classifier, then every arm, all from the same initial values."""
    wanted = settings.of_seed(seed, split)
    tokenizer = Tokenizer.learn(task.train.texts, wanted.text)
    train, dev, test = (
        Batches(
            tokenizer.encode(part.texts),
            part.labels,
            batch_size=settings.batch_size,
            device=device,
        )
        for part in (task.train, task.dev, task.test)
    )
    if (train.documents.token_ids < len(SPECIAL_WORDS)).all():
        raise DataError(
            f"no word occurs in at least {wanted.text.min_documents} training documents, so there "
            "is nothing to compute attention from. Give more documents."
        )
    bench = Bench(
        training=wanted.training,
        material=Material(train, tokenizer.words),
        dev=dev if len(dev) else None,
        epochs=settings.epochs,
        mask=settings.projection,
    )

    def fresh() -> TextClassifier:
        model = build_model(wanted.model, len(tokenizer.words), len(task.classes), seed=seed)
        return model.to(device)

    ordinary = fresh()
    yield ORDINARY, _read(Taught(ordinary, bench.fit(ordinary, Standard(bench.epochs))), test, seed)
    for name, teach in arms.items():
        model = blindfold(
            fresh(), settings.tokens, wanted.model.alignment, settings.projection, seed=seed
        ).to(device)
        yield name, _read(teach(model, bench), test, seed)


def _read(taught: Taught, test: Batches, seed: int) -> Outcome:
    """One pass over the test documents: probabilities, and weights if there are any."""
    indices, probabilities, weights = [], [], []
    with evaluating(taught.model), torch.inference_mode():
        for batch in test.by_length():
            trace = taught.model(batch)
            indices.append(batch.indices)
            probabilities.append(trace.logits.double().softmax(dim=-1).cpu().numpy())
            if isinstance(trace, Trace):
                weights.append(trace.weights.double().cpu().numpy())
    order = np.argsort(np.concatenate(indices))
    return Outcome(
        seed=seed,
        probabilities=np.concatenate(probabilities)[order],
        weights=np.concatenate(weights)[order] if weights else None,
        effective_documents=taught.effective_documents,
    )


def _sample(part: Labelled, most: int, seed: int) -> Labelled:
    """At most so many documents, drawn at random and kept in their order."""
    if len(part) <= most:
        return part
    drawn = np.sort(np.random.default_rng(seed).choice(len(part), most, replace=False))
    return Labelled([part.texts[place] for place in drawn.tolist()], part.labels[drawn])


def _shares(task: Task) -> Float[ndarray, " classes"]:
    """How common each label is in training; one document more for each, so that none is 0."""
    counts = np.bincount(task.train.labels, minlength=len(task.classes)) + 1
    return counts / counts.sum()


def _check(task: Task) -> None:
    seen = np.unique(task.train.labels)
    if len(seen) < 2:
        names = ", ".join(str(task.classes[label]) for label in seen.tolist())
        raise DataError(
            f"every training document has the same label ({names}). "
            "The probe needs at least two different labels."
        )
    if not len(task.test):
        raise DataError("the probe needs test documents, and there are none.")
