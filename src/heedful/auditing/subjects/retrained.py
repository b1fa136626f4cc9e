"""Models retrained for comparison with the one under audit: which ones, and how they are made.

A question names the twins it needs as changes to the settings of the run. All of them are trained
as jobs, in parallel and resumable, each in a run folder of its own; then questions ask them as they
ask the model itself.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heedful import runs
from heedful.auditing.metrics.top import choose_top
from heedful.auditing.subjects.base import Decides, IsToken, Subject, Words
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.replacing import randomly_replaced
from heedful.errors import ConfigError, RunError
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job, Tell
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from heedful.jobs.training import train_run
from heedful.runs import RunFolder
from heedful.storage import make_folder
from heedful.training.recipe import Penalised
from heedful.training.recipes import recipes
from heedful.training.recipes.standard import Standard
from heedful.training.settings import Settings
from heedful.training.task import Labelled, Task
from heedful.training.trained import Trained

TEXTS_AT_ONCE = 64
ITSELF = "itself"  # the run under audit, as the base of a twin
MASKED_JUDGE = "masked-judge"  # the twin that learns from texts with words replaced


@dataclass(frozen=True)
class Twin:
    """A model to train: the run's settings with some changes."""

    name: str
    changes: Mapping[str, Any]
    base: str | None = None  # the twin (or the run itself) that its recipe works on
    # Of each document, that it learns from; masked: all, and again with a random share replaced.
    words: Literal["all", "chosen", "others", "masked"] = "all"


@dataclass(frozen=True)
class Twins:
    """The twins that were trained, and why others were not."""

    subjects: Mapping[str, Decides] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""  # how they were trained, where not as the run was
    judge: Subject | None = None  # learnt the run's answers from texts with words replaced
    why_no_judge: str = ""

    def named(self, prefix: str) -> dict[str, Decides]:
        """Those whose names begin so, by the rest of their names."""
        return {
            name.removeprefix(prefix): subject
            for name, subject in self.subjects.items()
            if name.startswith(prefix)
        }

    def why_none(self, prefix: str) -> str:
        """Why there is none of that name: not asked for, or its training failed."""
        if self.named(prefix):
            return ""
        reasons = [reason for name, reason in self.failed.items() if name.startswith(prefix)]
        if reasons:
            return f"the models it needs could not be trained: {reasons[0]}"
        return "it needs retrained models: --deep trains them"


def as_trained(run: Settings) -> dict[str, Any]:
    """Changes that train a twin as the run was, if that is a way for any model; else as usual."""
    recipe = run.training.recipe
    return {} if isinstance(recipe, Penalised | Standard) else {"recipe": "standard"}


def without_attention(run: Settings) -> dict[str, Any]:
    """Changes that train a twin with uniform weights, as the run was as far as that makes sense."""
    recipe = run.training.recipe
    is_pointless = isinstance(recipe, Penalised) and recipe.teaches_attention
    return {**(as_usual(run) if is_pointless else as_trained(run)), "projection": "uniform"}


def as_usual(run: Settings, recipe: str = "standard") -> dict[str, Any]:
    """Changes that train by a plain recipe, for as long as the run was, if it had one stage.

    An encoder with ways of its own (few epochs for a pretrained one) says nothing about others.
    """
    own = run.training.recipe
    is_plain = isinstance(own, Penalised | Standard) and "recipe" not in run.model.encoder.wants()
    epochs = (own.epochs if is_plain else None) or Standard().epochs
    return {"recipe": f"{recipe}:epochs={epochs}"}


def context_free(run: Settings, recipe: str = "standard") -> dict[str, Any]:
    """Changes that make a model which sees one word at a time."""
    parts = {"encoder": "mlp", "keys": "shared", "query": "learned", "output": "linear"}
    return {**parts, **as_usual(run, recipe)}


def adversary(
    weight: float, epochs: int, run: Settings, *, base: str = ITSELF, name: str = "adversary-"
) -> Twin:
    """A model that answers as the run does and looks elsewhere; it carries the same penalty."""
    changes = context_free(run) if base != ITSELF else {}
    recipe: dict[str, Any] = {"name": "adversary", "adversary_weight": weight, "epochs": epochs}
    if base == ITSELF and isinstance(run.training.recipe, Penalised):
        recipe["regulariser"] = _penalty(run.training.recipe)
    return Twin(f"{name}{weight:g}", {**changes, "recipe": recipe}, base=base)


def _penalty(recipe: Penalised) -> str:
    """The penalty as one word; several stand in one already."""
    described = recipes.describe(recipe)
    return str(described["of"]) if described["name"] == "all-of" else recipes.spec(recipe)


def other_seeds(run: Settings, count: int) -> list[int]:
    """Seeds beside the run's own."""
    return [(run.training.seed + number) % 2**32 for number in range(1, count + 1)]


def train_twins(
    twins: Sequence[Twin],
    run: Path,
    task: Task,
    folder: Path,
    *,
    chosen_words: int,
    answers: Path | None = None,
    budget: Budget | None = None,
    watcher: JobWatcher | None = None,
    device: str = "cpu",
) -> Twins:
    """All twins trained in `folder`, those done before left as they are.

    `answers` is the run whose predictions the approximators learn: the run under audit, unless
    another model judges.
    """
    trained = Trained.load(run)
    settings = trained.settings
    _check_same_run(folder, trained)
    jobs = [
        twin_job(twin, settings, run, task, chosen_words, answers or run, device) for twin in twins
    ]
    outcomes = run_jobs(jobs, folder, budget, watcher)
    done = [name for name, outcome in outcomes.items() if outcome.state == "done"]
    failed = {name: outcome.reason for name, outcome in outcomes.items() if name not in done}
    return load_twins(folder, done, settings, device, failed)


def load_twins(
    folder: Path,
    names: Sequence[str],
    run: Settings,
    device: str = "cpu",
    failed: Mapping[str, str] | None = None,
) -> Twins:
    """Twins of a run that were trained in `folder`."""
    found = {name: ClassifierSubject(Trained.load(folder / name, device)) for name in names}
    return Twins(
        {name: subject for name, subject in found.items() if name != MASKED_JUDGE},
        failed or {},
        "by the standard recipe, unlike the run" if as_trained(run) else "",
        judge=found.get(MASKED_JUDGE),
    )


def _check_same_run(folder: Path, trained: Trained) -> None:
    """Refuse a folder that holds twins of another model."""
    place, now = RunFolder(folder), {"model": trained.provenance.get("sha256", {}).get(runs.MODEL)}
    if not (folder / runs.TWINS_OF).is_file():
        make_folder(folder)
        place.write_json(runs.TWINS_OF, now)
    elif place.read_json(runs.TWINS_OF) != now:
        raise RunError(
            f"{folder} holds retrained models of another model (or of an earlier training of this "
            "one). Choose another folder."
        )


def twin_job(
    twin: Twin,
    run_settings: Settings,
    run: Path,
    task: Task,
    chosen_words: int,
    answers: Path,
    device: str,
) -> Job:
    """The training of a twin, after that of the twin it works on, whose folder is beside it."""
    arguments: dict[str, Any] = {"task": task, "settings": run_settings.with_(**twin.changes)}
    places = {"run": str(run.absolute()), "device": device}  # where, which is no part of what
    after = () if twin.base in (None, ITSELF) else (twin.base,)
    if twin.words == "all":
        arguments["base"] = twin.base
        return Job(twin.name, train_twin, arguments, after, beside=places)
    if twin.words == "masked":
        return Job(twin.name, learn_masked, arguments, after, beside=places)
    arguments |= {"words": twin.words, "count": chosen_words}
    arguments["answered_by"] = ITSELF if answers == run else answers.name
    places["answers"] = str(answers.absolute())
    return Job(twin.name, approximate, arguments, after, beside=places)


def train_twin(
    folder: Path,
    tell: Tell,
    *,
    task: Task,
    settings: Settings,
    base: str | None,
    run: str,
    device: str = "cpu",
) -> None:
    """Train a twin; its base is the run itself or a twin in the folder beside."""
    if base is not None:
        place = Path(run) if base == ITSELF else folder.parent / base
        recipe = dataclasses.replace(settings.training.recipe, base=str(place.absolute()))  # type: ignore[type-var]
        training = dataclasses.replace(settings.training, recipe=recipe)
        settings = dataclasses.replace(settings, training=training)
    train_run(folder, tell, task, settings, device)


def approximate(
    folder: Path,
    tell: Tell,
    *,
    task: Task,
    settings: Settings,
    words: Literal["chosen", "others"],
    count: int,
    answered_by: str,
    run: str,
    answers: str,
    device: str = "cpu",
) -> None:
    """Train a model to give the answers of another from the chosen words, or from the others."""
    subject, black_box = ClassifierSubject(Trained.load(run, device)), Trained.load(answers, device)

    def part(whole: Labelled) -> Labelled:
        shown = [pair[words == "others"] for pair in selections(subject, whole.texts, count)]
        said = black_box.probabilities(whole.texts).argmax(axis=1)
        return Labelled(shown, said.astype(np.int64))

    told = dataclasses.replace(
        task, train=part(task.train), dev=part(task.dev), test=part(task.test)
    )
    train_run(folder, tell, told, settings, device)


def learn_masked(
    folder: Path,
    tell: Tell,
    *,
    task: Task,
    settings: Settings,
    run: str,
    device: str = "cpu",
) -> None:
    """Train a model to give the run's answers also where some of the words are replaced.

    Every document is shown whole and once with a random share of its words replaced (Madsen et al.
    2024), so that texts with holes are nothing new to it. The answer is that to the whole text.
    """
    subject = ClassifierSubject(Trained.load(run, device))
    if not subject.replacement:
        raise ConfigError("the run's tokenizer has no word to replace other words with.")
    rng = np.random.default_rng(settings.training.seed)

    def part(whole: Labelled) -> Labelled:
        offsets = map(subject.trained.tokenizer.offsets, whole.texts)
        holed = [
            randomly_replaced(text, places, subject.replacement, rng)
            for text, places in zip(whole.texts, offsets, strict=True)
        ]
        said = subject.trained.probabilities(whole.texts).argmax(axis=1).astype(np.int64)
        return Labelled([*whole.texts, *holed], np.concatenate([said, said]))

    told = dataclasses.replace(
        task, train=part(task.train), dev=part(task.dev), test=part(task.test)
    )
    train_run(folder, tell, told, settings, device)


def selections(
    subject: ClassifierSubject, texts: Sequence[str], count: int
) -> Iterator[tuple[str, str]]:
    """The chosen words of each text, and all others."""
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        reading = subject.read(texts[start : start + TEXTS_AT_ONCE])
        marks = chosen(reading.weights, reading.is_token, count)
        yield from map(written, reading.texts, reading.offsets, marks)


def chosen(weights: Words, is_token: IsToken, count: int) -> IsToken:
    """The `count` words of most weight of each document; fewer where fewer have any weight."""
    sizes = np.minimum(count, (weights > 0).sum(axis=1))
    return choose_top(weights, is_token, sizes)


def written(text: str, offsets: np.ndarray, is_chosen: np.ndarray) -> tuple[str, str]:
    """Some words of a text with spaces between, and all others."""
    words = [text[start:end] for start, end in offsets.tolist()]
    marks = is_chosen[: len(words)].tolist()
    first = " ".join(word for word, mark in zip(words, marks, strict=True) if mark)
    second = " ".join(word for word, mark in zip(words, marks, strict=True) if not mark)
    return first, second
