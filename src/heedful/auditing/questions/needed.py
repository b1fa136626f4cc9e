"""Does the model use attention at all on this task?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import NO_INTERVAL, Score, over_seeds
from heedful.auditing.questions.base import (
    AuditSettings,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import TestResult
from heedful.auditing.subjects.base import Decides, Subject
from heedful.auditing.subjects.retrained import (
    ITSELF,
    Twin,
    Twins,
    adversary,
    context_free,
    other_seeds,
    without_attention,
)
from heedful.auditing.verdict import GAIN_TEST, judge_gain
from heedful.errors import counted
from heedful.training.settings import Settings

UNIFORM = "uniform-seed-"
SEED = "seed-"
NO_LABELS = "no document has a label"
WORD_BY_WORD = {
    "mlp-uniform": "words one by one, uniform weights",
    "mlp-trained": "words one by one, weights of its own",
    "mlp-imposed": "words one by one, this model's weights",
    "mlp-adversary": "words one by one, an adversary's weights",
}

GAIN = AuditTest(
    GAIN_TEST, "higher", "Wiegreffe & Pinter 2019",
    "no controls: supported if the whole interval of the gain lies above 0.5 points, "
    "contradicted if below", "", needs_retraining=True,
)  # fmt: skip


@questions.register("needed")
@dataclass(frozen=True)
class Needed(Question):
    """Accuracy compared with models retrained with uniform weights (Wiegreffe & Pinter)."""

    name = "needed"
    place = 8
    asks = "Does the model use attention at all on this task?"
    needs = Decides
    tests = (GAIN,)

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """The model with uniform weights, and models that see one word at a time."""
        seeds = other_seeds(run, settings.seeds)
        own = run.training.seed
        even = without_attention(run)
        uniform = [Twin(f"{UNIFORM}{s}", {**even, "seed": s}) for s in (own, *seeds)]
        again = [Twin(f"{SEED}{seed}", {"seed": seed}) for seed in seeds]
        against = adversary(settings.middle_weight, settings.adversary_epochs, run)
        alone, imposed = context_free(run), context_free(run, "imposed")
        return (
            *uniform,
            *again,
            Twin("mlp-uniform", {**alone, "projection": "uniform"}),
            Twin("mlp-trained", alone),
            against,
            Twin("mlp-imposed", imposed, base=ITSELF),
            Twin("mlp-adversary", imposed, base=against.name),
        )

    def why_not(self, subject: Subject, twins: Twins) -> str:
        """It takes the model with uniform weights."""
        return super().why_not(subject, twins) or twins.why_none(UNIFORM)

    def measure(self, group: DocumentGroup) -> Measured:
        """Who is right: the model and its other seeds, each beside its uniform twin, and models
        word by word."""
        texts = group.reading.texts
        columns = {}
        even = list(group.twins.named(UNIFORM).items())
        for seed, twin in even:
            own = group.twins.subjects.get(f"{SEED}{seed}")
            reading = own.read(texts) if own is not None else group.reading
            columns[f"right_seed_{seed}"] = group.is_right(reading.prediction)
            columns[f"right_uniform_seed_{seed}"] = group.is_right(twin.read(texts).prediction)
        for name in WORD_BY_WORD:
            alone = group.twins.subjects.get(name)
            if alone is not None and _has_its_weights(group, name):
                prediction = _under_imposed_weights(group, name, alone)
                columns[f"right_{name.replace('-', '_')}"] = group.is_right(prediction)
        return Measured(columns)

    def conclude(self, found: Findings) -> Conclusion:
        """The gain in accuracy over uniform weights, paired; the others as facts."""
        columns, bootstrap = found.columns, found.settings.bootstrap
        seeds = [n.removeprefix("right_seed_") for n in columns if n.startswith("right_seed_")]
        own, even = (
            np.stack([columns[f"{kind}{seed}"] for seed in seeds])
            for kind in ("right_seed_", "right_uniform_seed_")
        )
        gain = over_seeds(own - even, found.rng_for(GAIN.name), bootstrap)
        if not gain.documents:
            return Conclusion(reason=NO_LABELS)
        low, high = gain.interval
        score = Score(
            value=float(np.nanmean(own)),
            floor=float(np.nanmean(even)),
            ceiling=np.nan,
            score=np.nan,
            interval=NO_INTERVAL,
            spread_interval=NO_INTERVAL,
            documents=gain.documents,
            left_out=gain.left_out,
        )
        note = (
            f"gain {100 * gain.mean:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}] over seeds "
            f"and documents; {counted(len(seeds), 'seed')}"
        )
        judgement = judge_gain(gain.interval, min(found.distinct, gain.documents))
        if found.twins.otherwise:
            note = f"{note}; uniform models were trained {found.twins.otherwise}: not judged"
            judgement = "reported"
        test = TestResult(found.question, GAIN.name, GAIN.better, score, judgement, note)
        facts = [
            found.fact(f"accuracy, {words}", columns[f"right_{name.replace('-', '_')}"])
            for name, words in WORD_BY_WORD.items()
            if f"right_{name.replace('-', '_')}" in columns
        ]
        facts += found.untrained(UNIFORM, SEED, "mlp-")
        return Conclusion((test,), {"facts": tuple(facts)})


def _under_imposed_weights(
    group: DocumentGroup, name: str, twin: Decides
) -> Int[ndarray, " documents"]:
    """What a word-by-word model says, under weights of its own or of another."""
    reading = twin.read(group.reading.texts)
    weights = {"mlp-imposed": group.reading.weights}.get(name)
    if name == "mlp-adversary":
        against = group.twins.subjects[f"adversary-{group.settings.middle_weight:g}"]
        weights = against.read(group.reading.texts).weights
    if weights is None:
        return reading.prediction
    return twin.decide(reading, weights[:, None])[:, 0].argmax(axis=-1)


def _has_its_weights(group: DocumentGroup, name: str) -> bool:
    """Whether the model whose weights are imposed is there."""
    against = f"adversary-{group.settings.middle_weight:g}"
    return name != "mlp-adversary" or against in group.twins.subjects
