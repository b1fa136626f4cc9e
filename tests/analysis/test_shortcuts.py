from dataclasses import replace

import numpy as np
import pytest

from heedful.analysis.instruments.shortcuts import Shortcuts, probe_shortcuts
from heedful.analysis.shortcuts.arms import arms
from heedful.analysis.shortcuts.findings import Probe
from heedful.analysis.shortcuts.outcomes import Finding, OfSeed, Outcome, Truth
from heedful.auditing.bootstrap import BootstrapSettings, Estimate, over_seeds
from heedful.errors import ConfigError, DataError
from heedful.text.datasets.planted import Planted
from heedful.training.task import Labelled, Task

QUICK = Shortcuts(
    seeds=(1, 2),
    epochs=6,
    documents=320,
    embedding_size=16,
    batch_size=32,
    learning_rate=0.03,
    resamples=200,
)
HARD = replace(QUICK, seeds=(1,), mask="k-hot:k=1", documents=100, epochs=1)


@pytest.fixture(scope="module")
def task() -> Task:
    # Some noise: where the pattern tells the label of every document, no weight can undo that.
    corpus = Planted(documents=3000, neutral_vocabulary=40, evidence_vocabulary=4, noise=0.1)()
    return Task.from_corpus(corpus, {})


@pytest.fixture(scope="module")
def probe(task) -> Probe:
    return probe_shortcuts(task, QUICK, split="spaces")


def test_learned_attention_writes_the_label_into_its_pattern(probe):
    learned = probe.arms["learned"]
    assert learned.leak.interval[0] > 0.2
    assert learned.accuracy.mean > probe.ordinary.accuracy.mean - 0.05
    assert learned.told > 0.2


def test_random_weights_are_right_as_often_as_the_commonest_label(probe):
    random = probe.arms["random"]
    for one in random.seeds:
        # 300 documents: the standard error of a share of one half is 2.9 points.
        assert abs(one.accuracy - probe.majority_accuracy) < 4 * 0.029
        assert abs(one.told) < 0.05
    assert abs(random.gain.mean) < 0.05


def test_both_mitigations_take_away_what_the_pattern_is_worth(probe):
    learned = probe.arms["learned"]
    for arm in ("random-pretrained", "mask-neutral"):
        assert probe.arms[arm].gain.mean < learned.gain.mean / 2, arm
        assert probe.arms[arm].accuracy.mean <= learned.accuracy.mean, arm


def test_only_mask_neutral_counts_effective_documents(probe):
    counts = {name: finding.effective_documents for name, finding in probe.arms.items()}
    assert 0 < counts.pop("mask-neutral") < 320
    assert set(counts.values()) == {None}


def test_mean_masks_are_distributions_for_each_arm_seed_and_label(probe):
    frame = probe.to_result().to_frame()
    assert list(frame["arm"].unique()) == list(arms)
    assert len(frame) == len(arms) * 2 * 2 * 4
    sums = frame.groupby(["arm", "seed", "label"])["mean_weight"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_the_sentence_tells_what_was_found(probe):
    right = f"accuracy {probe.arms['learned'].accuracy.mean:.1%} without seeing a word"
    assert probe.conclusion.startswith(
        "On these documents a model can write the label into its attention pattern alone: " + right
    )
    assert "training under random weights first" in probe.conclusion
    assert "mask-neutral weighting" in probe.conclusion


def test_seeds_decide_everything_with_hard_masks_too(task, probe):
    first, again = (probe_shortcuts(task, HARD, split="spaces") for _ in range(2))
    assert first.to_result().to_dict() == again.to_result().to_dict()
    for arm, finding in probe.arms.items():
        assert finding.seeds[0].mean_weights != finding.seeds[1].mean_weights, arm
    # With one token kept, the mean weight of a token is the share of documents that take it.
    counts = np.array(first.arms["random"].seeds[0].mean_weights) * 150
    np.testing.assert_allclose(counts, counts.round(), atol=1e-4)


def test_gain_by_hand():
    # The labels get 0.9 and 0.2, their shares are 0.5 each.
    outcome = Outcome(1, np.array([[0.1, 0.9], [0.2, 0.8]]), None)
    truth = Truth(np.array([1, 0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(outcome.gain(truth), np.log([1.8, 0.4]))
    assert outcome.hits(truth).tolist() == [1, 0]


def test_intervals_are_over_seeds_as_well_as_documents():
    rng = np.random.default_rng(0)
    documents = rng.integers(2, size=400).astype(float)
    alike = over_seeds(np.stack([documents] * 3), rng, BootstrapSettings(500))
    apart = over_seeds(
        np.stack([np.zeros(400), documents, np.ones(400)]), rng, BootstrapSettings(500)
    )
    assert alike.mean == pytest.approx(documents.mean())
    assert alike.interval[1] - alike.interval[0] < 0.12
    assert apart.interval[1] - apart.interval[0] > 0.5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seeds": ()}, "seeds should name at least one seed"),
        ({"seeds": (1, 1)}, "the same seed is given twice: 1, 1"),
        ({"mask": "sparsemax"}, "the mask should be softmax or k-hot"),
        ({"mask": "k-hot:k=4"}, "k-hot with k = 4 keeps all of 4 tokens"),
        ({"tokens": 1}, "tokens should be from 2 to below 65, not 1"),
        ({"epochs": 0}, "epochs should be at least 1, not 0"),
    ],
)
def test_settings_that_make_no_experiment_are_refused(changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        replace(Shortcuts(), **changes)


def test_one_label_or_no_test_documents_are_refused(task):
    none = Labelled([], np.zeros(0, dtype=np.int64))
    with pytest.raises(DataError, match="the probe needs test documents"):
        probe_shortcuts(replace(task, test=none))
    same = Labelled(task.train.texts, np.zeros_like(task.train.labels))
    with pytest.raises(DataError, match=r"every training document has the same label \(negative\)"):
        probe_shortcuts(replace(task, train=same))


def test_words_too_rare_to_know_are_refused(task):
    texts = [f"word{n}" for n in range(20)]
    rare = Labelled(texts, np.arange(20, dtype=np.int64) % 2)
    with pytest.raises(DataError, match="no word occurs in at least"):
        probe_shortcuts(replace(task, train=rare))


def arm(accuracy: float, told: float | None = 0.1) -> Finding:
    """An arm of a made-up probe whose commonest label is right on half of the documents."""
    around = (-0.02, 0.02)
    return Finding(
        accuracy=Estimate(accuracy, (accuracy + around[0], accuracy + around[1]), 500, 0),
        leak=Estimate(accuracy - 0.5, (accuracy - 0.5 + around[0], accuracy - 0.48), 500, 0),
        gain=Estimate(0.1, (0.05, 0.15), 500, 0),
        seeds=(OfSeed(1, accuracy, 0.1, told, None),),
    )


def made_up(ordinary: float = 0.73, **arms: Finding) -> Probe:
    found = dict.fromkeys(["learned", "random", "frozen"], arm(0.5, -0.001))
    found |= dict.fromkeys(["random-pretrained", "mask-neutral"], arm(0.5, -0.001))
    found |= {name.replace("_", "-"): finding for name, finding in arms.items()}
    falls = dict.fromkeys(["random-pretrained", "mask-neutral"], Estimate(0.2, (0.1, 0.3), 500, 0))
    return Probe(("a", "b"), {}, 0.5, found, arm(ordinary, None), falls, {})


def test_where_learned_did_not_learn_the_sentence_claims_nothing_of_it():
    assert made_up(learned=arm(0.498, -0.001)).conclusion == (
        "On these documents the arm called learned did not learn: accuracy 49.8%, against 50.0% "
        "for always predicting the most common label. So it cannot show whether a label passes "
        "through the attention pattern. A classifier that reads the text has accuracy 73.0%. To "
        "find out more, train longer (--epochs) or on more documents (--documents)."
    )
    assert "reads the text learned nothing either" in made_up(ordinary=0.51).conclusion


def test_another_row_in_which_the_label_passes_is_named_with_its_number():
    told = made_up(learned=arm(0.498, -0.001), random_pretrained=arm(0.696)).conclusion
    assert "the arm called learned did not learn: accuracy 49.8%" in told
    assert "In other arms the label passes: random-pretrained (accuracy 69.6%)." in told
    assert "no label was found" not in told
    leaky = made_up(learned=arm(0.7), frozen=arm(0.6), random_pretrained=arm(0.65)).conclusion
    assert leaky.startswith("On these documents a model can write the label into its attention")
    assert "lowers it to 65.0%" in leaky
    assert leaky.endswith("In other arms the label passes: frozen (accuracy 60.0%).")


def test_where_the_label_passes_the_sentence_says_how_often_it_is_right():
    told = made_up(learned=arm(0.7)).conclusion
    assert told.startswith(
        "On these documents a model can write the label into its attention pattern alone: "
        "accuracy 70.0% without seeing a word, against 50.0% for always predicting the most common "
        "label; "
    )
    # Too few documents of a label to ask what the weights tell: accuracy has to do.
    assert made_up(learned=arm(0.7, None)).conclusion == told


def test_beating_the_commonest_label_with_weights_that_tell_nothing_is_no_label_passing():
    told = made_up(learned=arm(0.6, -0.002)).conclusion
    assert told.startswith(
        "On these documents no label was found in the attention pattern alone: accuracy 60.0% is "
        "above 50.0% for always predicting the most common label, but the weights alone"
    )


def test_a_small_real_probe_that_did_not_learn_says_so(task):
    short = replace(HARD, documents=20, learning_rate=1e-5)
    found = probe_shortcuts(task, short, split="spaces")
    assert not found.arms["learned"].is_above_commonest
    assert "the arm called learned did not learn" in found.conclusion
