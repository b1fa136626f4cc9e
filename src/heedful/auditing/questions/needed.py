"""Does the model use attention at all on this task?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.questions.question import (
    AuditSettings,
    Chunk,
    Conclusion,
    Found,
    Measured,
    Question,
    questions,
)
from heedful.auditing.record import Column, TestResult
from heedful.auditing.rules import judge_gain
from heedful.auditing.subject import Decides, Subject
from heedful.auditing.summary import NO_INTERVAL, Score, paired_difference
from heedful.auditing.twins import (
    CONTEXT_FREE,
    ITSELF,
    Twin,
    Twins,
    adversary,
    as_trained,
    other_seeds,
)
from heedful.training.settings import Settings

UNIFORM = "uniform-seed-"
SEED = "seed-"
NO_LABELS = "no document carries a label"
WORD_BY_WORD = {
    "mlp-uniform": "words one by one, uniform weights",
    "mlp-trained": "words one by one, weights of its own",
    "mlp-imposed": "words one by one, this model's weights",
    "mlp-adversary": "words one by one, an adversary's weights",
}


@questions.register("needed")
@dataclass(frozen=True)
class Needed(Question):
    """Accuracy beside that of twins trained with uniform weights (Wiegreffe & Pinter)."""

    name = "needed"
    place = 8
    asks = "Does the model use attention at all on this task?"
    needs = Decides

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """The model with uniform weights, and models that see one word at a time."""
        seeds = other_seeds(run, settings.seeds)
        own = run.training.seed
        even = {**as_trained(run), "projection": "uniform"}
        uniform = [Twin(f"{UNIFORM}{s}", {**even, "seed": s}) for s in (own, *seeds)]
        again = [Twin(f"{SEED}{seed}", {"seed": seed}) for seed in seeds]
        against = adversary(settings.middle_weight, settings.adversary_epochs, run)
        imposed = {**CONTEXT_FREE, "recipe": "imposed"}
        return (
            *uniform,
            *again,
            Twin("mlp-uniform", {**CONTEXT_FREE, "projection": "uniform"}),
            Twin("mlp-trained", CONTEXT_FREE),
            against,
            Twin("mlp-imposed", imposed, base=ITSELF),
            Twin("mlp-adversary", imposed, base=against.name),
        )

    def why_not(self, subject: Subject, twins: Twins) -> str:
        """It takes the model with uniform weights."""
        return super().why_not(subject, twins) or twins.why_none(UNIFORM)

    def measure(self, chunk: Chunk) -> Measured:
        """Who is right: the model and its other seeds, uniform twins, models word by word."""
        texts, reading = chunk.reading.texts, chunk.reading
        seeds = [twin.read(texts) for twin in chunk.twins.named(SEED).values()]
        even = [twin.read(texts) for twin in chunk.twins.named(UNIFORM).values()]
        columns = {
            "right_over_seeds": _right(chunk, [r.prediction for r in (reading, *seeds)]),
            "right_with_uniform": _right(chunk, [r.prediction for r in even]),
        }
        for name in WORD_BY_WORD:
            twin = chunk.twins.subjects.get(name)
            if twin is not None:
                prediction = _under_imposed_weights(chunk, name, twin)
                columns[f"right_{name.replace('-', '_')}"] = _right(chunk, [prediction])
        return Measured(columns)

    def conclude(self, found: Found) -> Conclusion:
        """The gain in accuracy over uniform weights, paired; the others as facts."""
        columns, bootstrap = found.columns, found.settings.bootstrap
        value, floor = columns["right_over_seeds"], columns["right_with_uniform"]
        gain = paired_difference(value, floor, found.rng, bootstrap)
        if not gain.documents:
            return Conclusion(reason=NO_LABELS)
        low, high = gain.interval
        score = Score(
            value=float(np.nanmean(value)),
            floor=float(np.nanmean(floor)),
            ceiling=np.nan,
            score=np.nan,
            interval=NO_INTERVAL,
            spread_interval=NO_INTERVAL,
            documents=gain.documents,
            left_out=gain.left_out,
        )
        note = (
            f"gain {100 * gain.mean:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], "
            f"means over {found.settings.seeds + 1} seeds"
        )
        judgement = judge_gain(gain.interval, min(found.distinct, gain.documents))
        test = TestResult(found.question, "accuracy over uniform", "higher", score, judgement, note)
        facts = [found.fact("gain over uniform weights", value - floor, "accuracy, paired")]
        for name, words in WORD_BY_WORD.items():
            column = columns.get(f"right_{name.replace('-', '_')}")
            if column is not None:
                facts.append(found.fact(f"accuracy, {words}", column))
        return Conclusion((test,), {"facts": tuple(facts)})


def _right(chunk: Chunk, predictions: list[np.ndarray]) -> Column:
    """The share of some models that is right; NaN without a label."""
    hits = np.mean([prediction == chunk.labels for prediction in predictions], axis=0)
    return np.where(chunk.labels >= 0, hits, np.nan)


def _under_imposed_weights(chunk: Chunk, name: str, twin: Decides) -> np.ndarray:
    """What a word-by-word model says, under weights of its own or of another."""
    reading = twin.read(chunk.reading.texts)
    weights = {"mlp-imposed": chunk.reading.weights}.get(name)
    if name == "mlp-adversary":
        against = chunk.twins.subjects[f"adversary-{chunk.settings.middle_weight:g}"]
        weights = against.read(chunk.reading.texts).weights
    if weights is None:
        return reading.prediction
    return twin.decide(reading, weights[:, None])[:, 0].argmax(axis=-1)
