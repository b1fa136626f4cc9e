import numpy as np
import pytest

from heedful.analysis.instruments.word_sentiment import (
    Ranked,
    WordSentiment,
    figures_at,
    gold_spans,
    micro_terms,
    polarity_of,
)
from heedful.analysis.semeval import read_semeval
from heedful.errors import DataError
from heedful.text.datasets import load
from heedful.text.documents import Document, Documents


def ranked(importance, gold, words) -> Ranked:
    is_token = np.arange(len(importance[0])) < np.array(words)[:, None]
    return Ranked(np.array(importance, float), np.array(gold, bool) & is_token, is_token)


def test_figures_by_hand():
    # top 2 of the first: words 0, 1, one of them gold of two; of the second: words 1, 2, both gold
    found = figures_at(
        ranked([[9, 8, 1, 0], [0, 5, 4, 0]], [[1, 0, 0, 1], [0, 1, 1, 0]], [4, 3]), 2
    )
    assert found["hits"].tolist() == [1, 2]
    assert found["precision"].tolist() == [0.5, 1.0]
    assert found["recall"].tolist() == [0.5, 1.0]
    micro = {name: terms.mean() for name, terms in micro_terms(found, "hits").items()}
    assert micro["precision"] == pytest.approx(3 / 4)
    assert micro["recall"] == pytest.approx(3 / 4)
    assert micro["f1"] == pytest.approx(3 / 4)
    # chance: each of 4 (of 3) words is in the top 2 with 2/4 (2/3)
    assert found["random_hits"].tolist() == pytest.approx([1.0, 4 / 3])


def test_random_ranking_is_the_mean_of_many_random_rankings():
    rng = np.random.default_rng(0)
    gold, words = rng.random((3, 9)) < 0.3, [9, 6, 4]
    gold[:, 0] = True
    exact = figures_at(ranked(np.zeros((3, 9)), gold, words), 3)
    drawn = np.mean(
        [figures_at(ranked(rng.random((3, 9)), gold, words), 3)["f1"] for _ in range(400)], axis=0
    )
    np.testing.assert_allclose(exact["random_f1"], drawn, atol=0.05)


def test_a_document_shorter_than_k_has_all_its_words_chosen():
    found = figures_at(ranked([[1, 2, 0, 0]], [[1, 0, 0, 0]], [2]), 5)
    assert found["chosen"].tolist() == [2]
    assert found["recall"].tolist() == [1.0]


def test_grades_and_names_of_polarity():
    assert [polarity_of(label) for label in ("1", "0", "Positive", "neg", "3", None)] == [
        "positive", "negative", "positive", "negative", None, None
    ]  # fmt: skip
    labels = ["0", "1", "2", "3", "4", "negative"]
    document = Document(
        "abcdef", "1", word_labels=tuple(((n, n + 1), x) for n, x in enumerate(labels))
    )
    assert gold_spans(document, "positive") == [(3, 4), (4, 5)]
    assert gold_spans(document, "negative") == [(0, 1), (1, 2), (5, 6)]


@pytest.fixture
def labelled(planted) -> Documents:
    """Planted words carry the polarity of their document."""
    return Documents(
        Document(d.text, d.label, word_labels=tuple((span, d.label) for span in d.rationale))
        for d in planted.test
    )


def test_a_measure_that_finds_planted_words_is_far_above_chance(words_only, labelled):
    found = WordSentiment(k=(1, 2), measure="leave-one-out").analyse(words_only, labelled, 0)
    rows = {(r["documents_are"], r["k"], r["average"]): r for r in found.tables["figures"]}
    assert len(rows) == 8
    for polarity in ("positive", "negative"):
        row = rows[polarity, 2, "micro"]
        assert row["f1_gain_low"] > 0.3
        assert row["random_f1"] == pytest.approx(2 / 12)
        # all documents have 2 gold words and 12 in all: micro and macro are one
        assert row["f1"] == pytest.approx(rows[polarity, 2, "macro"]["f1"])
    assert len(found.rows["text"]) == 2 * len(labelled)


def test_another_measure_can_be_asked(words_only, labelled):
    chance = WordSentiment(k=(2,), measure="random").analyse(words_only, labelled, 0)
    assert abs(chance.summary[0]["f1_gain"]) < 0.15


def test_documents_without_a_gold_word_are_counted(words_only, labelled):
    bare = Document(labelled[0].text, labelled[0].label, word_labels=(((0, 3), "neutral"),))
    found = WordSentiment().analyse(words_only, Documents([*labelled, bare]), 0)
    assert any(f"1 {bare.label} document without a" in note for note in found.notes)


def test_a_corpus_without_word_labels_is_refused(words_only, planted):
    with pytest.raises(DataError, match="Expected token_labels for each text"):
        WordSentiment().analyse(words_only, planted.test, 0)


@pytest.mark.corpora
def test_sst2_brings_a_grade_for_every_word(data_dir):
    test = load("sst2", data_dir).test
    polar = [d for d in test if gold_spans(d, polarity_of(d.label))]
    assert len(test) == 1821
    assert len(polar) > 1500


def phrases(tmp_path, *rows):
    path = tmp_path / "phrases.tsv"
    path.write_text("\n".join("\t".join(map(str, row)) for row in rows), encoding="utf-8")
    return path


def test_phrases_of_one_tweet_are_gathered(tmp_path):
    path = phrases(
        tmp_path,
        (1, 11, 1, 2, "positive", "so very  good day"),
        (1, 11, 0, 0, "neutral", "so very  good day"),
        (2, 12, 0, 0, "negative", "awful weather"),
        (3, 13, 0, 0, "positive", "good but bad"),
        (3, 13, 2, 2, "negative", "good but bad"),
        (4, 14, 0, 0, "positive", "Not Available"),
    )
    documents, notes = read_semeval(str(path))
    assert documents.labels == ["positive", "negative"]
    text = documents[0].text
    assert [text[slice(*span)] for span in gold_spans(documents[0], "positive")] == ["very", "good"]
    assert notes == [
        "1 tweet no longer available, left out",
        "1 tweet neutral or of both polarities, left out",
    ]


def test_a_file_of_tweets_gives_the_polarity_of_the_whole(tmp_path):
    path = phrases(
        tmp_path,
        (1, 11, 0, 0, "positive", "good bad day"),
        (1, 11, 1, 1, "negative", "good bad day"),
    )
    tweets = tmp_path / "tweets.tsv"
    tweets.write_text('1\t11\t"negative"\tgood bad day\n9\t9\tneutral\tnothing\n')
    documents, notes = read_semeval(f"{path},{tweets}")
    assert documents.labels == ["negative"]
    assert notes == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((1, 11, 0, 9, "positive", "two words"), "in a text of 2 words; got '0' and '9'"),
        ((1, 11, 1, 0, "positive", "two words"), "got '1' and '0'"),
        ((1, 11, "x", 0, "positive", "two words"), "got 'x' and '0'"),
        ((1, 11, 0, 0, "happy", "two words"), "a polarity is positive, negative"),
        ((1, 11, 0, "positive", "two words"), "expected 6 cells between tabs"),
        ((1, 11, 0, 0, "neutral", "two words"), "contains no positive or negative tweet"),
    ],
)
def test_bad_rows_are_refused_with_their_place(tmp_path, row, said):
    with pytest.raises(DataError, match=said):
        read_semeval(str(phrases(tmp_path, row)))


def test_a_tweet_with_two_texts_and_a_missing_file_are_refused(tmp_path):
    path = phrases(tmp_path, (1, 11, 0, 0, "positive", "one"), (1, 11, 0, 0, "positive", "other"))
    with pytest.raises(DataError, match="line 2: this tweet had another text at"):
        read_semeval(str(path))
    with pytest.raises(DataError, match="no such file"):
        read_semeval("nowhere.tsv")
