import pytest

from heedful.text.documents import Corpus, Document, Documents
from heedful.text.statistics import corpus_statistics


def a_corpus() -> Corpus:
    train = [("a b c", "x"), ("a A", "y"), ("b b b b", "x")]
    return Corpus(
        "small",
        Documents(Document(text, label) for text, label in train),
        test=Documents([Document("c d", "y")]),
        split="spaces",
    )


def test_parts_are_counted_by_hand():
    train, test, everything = corpus_statistics(a_corpus())
    assert (train.part, test.part, everything.part) == ("train", "test", "all")  # no dev part
    assert (train.documents, test.documents, everything.documents) == (3, 1, 4)
    assert train.words == 3 + 2 + 4
    assert train.mean_words == pytest.approx(3)
    assert (train.shortest, train.longest) == (2, 4)
    assert train.vocabulary == 3  # case aside
    assert everything.vocabulary == 4
    assert train.labels == {"x": 2, "y": 1}
    assert everything.labels == {"x": 2, "y": 2}


def test_documents_without_labels_are_counted_as_such():
    corpus = Corpus("bare", Documents([Document("one"), Document("two words")]))
    part, everything = corpus_statistics(corpus)
    assert part.labels == {"no label": 2}
    assert everything.documents == 2
