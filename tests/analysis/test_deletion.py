import json

import numpy as np
import pytest
import torch

from heedful.analysis.instruments.deletion import FIGURES, Deletion, figures
from heedful.errors import ConfigError, DataError, RunError
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import Trained
from tests.analysis.conftest import quick

LONGEST = 12  # words of a planted document


@pytest.fixture(scope="module")
def pooled(planted) -> Trained:
    """Without attention, and barely trained, so that it errs."""
    return train(Task.from_corpus(planted, {}), quick("embedding", 1).with_(pooling="mean", seed=5))


@pytest.fixture
def pooled_run(pooled, tmp_path) -> str:
    pooled.save(tmp_path / "pooled")
    return str(tmp_path / "pooled")


@pytest.fixture(scope="module")
def uneven(planted) -> Documents:
    """Documents of 3 to 12 words, some with the wrong label."""
    return Documents(
        Document(" ".join(d.text.split(" ")[: 3 + n % 10]), "negative" if n % 7 == 0 else d.label)
        for n, d in enumerate(planted.test)
    )


def by_row(result):
    return {(row["k"], row["by"]): row for row in result.tables["curve"]}


def right(trained, documents) -> np.ndarray:
    predictions = trained.probabilities(documents.texts).argmax(axis=1)
    return np.array([str(trained.classes[p]) for p in predictions]) == documents.labels


def test_figures_by_hand():
    # the first is right, and wrong without its top word; the second is wrong, and put right by it
    whole = np.array([[0.9, 0.1], [0.2, 0.8]])
    without = np.array([[[0.3, 0.7], [0.5, 0.5]], [[0.6, 0.4], [0.1, 0.9]]])
    only = np.array([[[0.4, 0.6], [0.8, 0.2]], [[0.9, 0.1], [0.3, 0.7]]])
    found = dict(zip(FIGURES, figures(whole, np.array([0, 0]), without, only), strict=True))
    assert found["accuracy_drop"].tolist() == [[1, 0], [-1, 0]]
    np.testing.assert_allclose(found["probability_drop"], [[0.6, 0.4], [0.4, -0.1]])
    assert found["kept_gold"].tolist() == [[0, 1], [1, 0]]
    assert found["kept_own"].tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("is_judged_by_another", [False, True])
def test_with_all_words_kept_the_judge_says_what_it_said(
    in_context, pooled, pooled_run, uneven, is_judged_by_another
):
    judge = pooled if is_judged_by_another else in_context
    path = pooled_run if is_judged_by_another else None
    found = Deletion(k=(LONGEST, 40), judge=path).analyse(in_context, uneven, 0)
    whole = right(judge, uneven).mean()
    assert 0.3 < whole < 1
    for row in found.tables["curve"]:
        assert row["kept_own"] == 1
        assert row["kept_gold"] == pytest.approx(whole)
    assert found.tables["whole"][0]["judge_accuracy"] == pytest.approx(whole)
    assert found.tables["whole"][0]["accuracy"] == pytest.approx(right(in_context, uneven).mean())


@pytest.mark.parametrize("is_judged_by_another", [False, True])
def test_every_figure_is_that_of_texts_written_without_the_words(
    in_context, pooled, pooled_run, uneven, is_judged_by_another
):
    judge = pooled if is_judged_by_another else in_context
    path = pooled_run if is_judged_by_another else None
    found = Deletion(k=(1, 4), judge=path).analyse(in_context, uneven, 0)
    classes = [str(label) for label in judge.classes]
    shown = in_context.attention(uneven.texts)
    for place, (document, attention) in enumerate(zip(uneven, shown, strict=True)):
        order = np.argsort(-attention.weights, kind="stable")
        whole = judge.probabilities([document.text])[0]
        own, gold = whole.argmax(), classes.index(document.label)
        for k in (1, 4):
            kept = [word for n, word in enumerate(attention.words) if n in order[:k]]
            rest = [word for n, word in enumerate(attention.words) if n not in order[:k]]
            alone = judge.probabilities([" ".join(kept)])[0].argmax()
            assert found.rows[f"kept_gold_{k}"][place] == (alone == gold)
            assert found.rows[f"kept_own_{k}"][place] == (alone == own)
            if not rest:
                continue  # cut at spaces, an empty text is one empty word
            left = judge.probabilities([" ".join(rest)])[0]
            drop = float(own == gold) - float(left.argmax() == gold)
            assert found.rows[f"accuracy_drop_{k}"][place] == drop
            assert found.rows[f"probability_drop_{k}"][place] == pytest.approx(
                whole[own] - left[own], abs=1e-5
            )


def test_means_of_the_rows_are_the_curve_and_the_gain_is_paired(in_context, uneven):
    found = Deletion(k=(3, 1, 3)).analyse(in_context, uneven, 0)
    rows = by_row(found)
    assert list(rows) == [(k, by) for k in (1, 3) for by in ("attention", "random")]
    for (k, by), row in rows.items():
        for name in FIGURES:
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
            if by == "attention":
                assert row[name] == pytest.approx(np.mean(found.rows[f"{name}_{k}"]))
                gain = row[name] - rows[k, "random"][name]
                assert row[f"{name}_gain"] == pytest.approx(gain)
    assert list(found.rows)[:5] == ["text", "label", "prediction", "right", "judge_right"]
    assert found.rows["text"] == uneven.texts
    assert found.rows["right"] == right(in_context, uneven).tolist()
    assert {len(column) for column in found.rows.values()} == {len(uneven)}
    assert set(found.summary[0]) == {"k", "by"} | {
        name + end for name in FIGURES for end in ("", "_low", "_high")
    }


def test_attention_that_learnt_the_planted_words_is_far_above_random_ones(planted):
    learnt = train(Task.from_corpus(planted, {}), quick("embedding", 6))
    found = by_row(Deletion(k=(2,)).analyse(learnt, planted.test, 0))
    row, at_random = found[2, "attention"], found[2, "random"]
    assert row["accuracy_drop_gain_low"] > 0.3
    assert row["probability_drop_gain_low"] > 0.3
    assert row["kept_gold"] > 0.95
    assert row["kept_gold_gain_low"] > 0.1
    # two words of twelve hold no planted one with chance 45 / 66: the label is a guess there
    assert at_random["kept_gold"] == pytest.approx(21 / 66 + 45 / 66 / 2, abs=0.1)
    assert at_random["accuracy_drop"] < 0.05


def test_another_measure_ranks_by_its_own_values(words_only, planted):
    found = Deletion(k=(2,), measure="leave-one-out").analyse(words_only, planted.test, 0)
    assert by_row(found)[2, "leave-one-out"]["accuracy_drop"] > 0.3


def test_more_documents_than_fit_at_once_keep_their_places(in_context, planted, uneven):
    many = Documents([*planted.train[:70], *uneven])
    found = Deletion(k=(1,)).analyse(in_context, many, 0)
    assert 0 < sum(found.rows["right"]) < len(many)
    assert found.rows["right"] == right(in_context, many).tolist()
    some = Deletion(k=(1,), documents=20).analyse(in_context, many, 3)
    assert some.tables["whole"][0]["documents"] == 20
    places = [many.texts.index(text) for text in some.rows["text"]]
    assert places == sorted(places)
    for name in ("right", "probability_drop_1"):
        expected = [found.rows[name][place] for place in places]
        assert some.rows[name] == pytest.approx(expected, abs=1e-6)
    again = Deletion(k=(1,), documents=20).analyse(in_context, many, 3)
    assert json.dumps(again.to_dict()) == json.dumps(some.to_dict())
    other = Deletion(k=(1,), documents=20).analyse(in_context, many, 4)
    assert other.rows["text"] != some.rows["text"]


def test_the_judge_is_the_run_that_was_named(words_only, pooled, pooled_run, uneven):
    own = Deletion(k=(2,)).analyse(words_only, uneven, 0)
    other = Deletion(k=(2,), judge=pooled_run).analyse(words_only, uneven, 0)
    assert other.rows["right"] == own.rows["right"] == right(words_only, uneven).tolist()
    assert other.rows["judge_right"] == right(pooled, uneven).tolist()
    assert other.rows["judge_right"] != other.rows["right"]
    assert other.notes[0].startswith(f"Judged by {pooled_run}. Accuracy on whole texts: the model ")
    assert own.notes[0].startswith("The model itself judged.")


def test_notes_say_how_many_documents_are_no_longer_than_the_largest_k(words_only, uneven):
    found = Deletion(k=(1, 3)).analyse(words_only, uneven, 0)
    short = sum(len(text.split(" ")) <= 3 for text in uneven.texts)
    assert f"{short} of {len(uneven)} documents have no more than 3 words" in found.notes[-1]
    assert any("removed from the text, not masked" in note for note in found.notes)


def test_of_a_model_with_two_heads_both_are_told(planted):
    settings = quick("embedding").with_(recipe="vat:iterations=1:epochs=1:warm_epochs=1")
    vat = train(Task.from_corpus(planted, {}), settings)
    head = vat.model.output.learner[-1]
    with torch.no_grad():  # so that it says the opposite of what it learnt
        head.weight.neg_()
        head.bias.neg_()
    found = Deletion(k=(1,)).analyse(vat, planted.test, 0)
    assert found.tables["whole"][0]["accuracy"] > 0.9
    assert found.tables["whole"][0]["learner_accuracy"] < 0.1
    assert np.mean(found.rows["learner_right"]) < 0.1
    assert "the learner's head" in found.notes[0]


def test_documents_without_a_known_label_are_refused(words_only, planted):
    bare = Documents([*planted.test[:3], Document("some words")])
    with pytest.raises(DataError, match=r"Of 4 documents 1 have none of these; .* no label"):
        Deletion().analyse(words_only, bare, 0)
    strange = Documents([Document("some words", "sideways")])
    with pytest.raises(DataError, match=r"\(negative, positive\).* the first has sideways"):
        Deletion().analyse(words_only, strange, 0)
    with pytest.raises(DataError, match="at least one document"):
        Deletion().analyse(words_only, Documents(), 0)


def test_a_judge_that_is_not_there_or_knows_other_labels_is_refused(words_only, planted, tmp_path):
    with pytest.raises(RunError, match="no run folder at nowhere"):
        Deletion(judge="nowhere").analyse(words_only, planted.test, 0)
    three = Planted(classes=3, documents=60, neutral_vocabulary=20, evidence_vocabulary=3)()
    train(Task.from_corpus(three, {}), quick("embedding", 1)).save(tmp_path / "three")
    with pytest.raises(ConfigError, match="the judge must have the same labels"):
        Deletion(judge=str(tmp_path / "three")).analyse(words_only, planted.test, 0)


def test_a_model_without_attention_and_impossible_options_are_refused(pooled, planted):
    with pytest.raises(ConfigError, match=r"deletion is about attention .* pooling = 'mean'"):
        Deletion().analyse(pooled, planted.test, 0)
    with pytest.raises(ConfigError, match="always includes random words"):
        Deletion(measure="random")
    with pytest.raises(ConfigError, match="k should be at least 1"):
        Deletion(k=(0, 5))
    with pytest.raises(ConfigError, match="random_draws should be at least 1"):
        Deletion(random_draws=0)
