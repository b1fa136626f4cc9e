"""Rules that every built-in corpus keeps, new ones included."""

from functools import cache

import pytest

from heedful.text.datasets import corpora, load
from heedful.text.documents import Corpus

every_corpus = pytest.mark.parametrize("name", corpora)


def small(name: str) -> str:
    """The corpus with few documents, if it can be asked for them."""
    return f"{name}:documents=300" if "documents" in corpora.options(name) else name


@cache
def loaded(name: str) -> Corpus:
    return load(small(name))


@every_corpus
def test_a_corpus_is_called_by_its_name(name):
    assert loaded(name).name == name


@every_corpus
def test_every_part_has_texts_and_labels(name):
    corpus = loaded(name)
    for part in (corpus.train, corpus.dev, corpus.test):
        assert len(part)
        assert all(text.strip() for text in part.texts)
        assert all(part.labels)
    classes = set(corpus.train.labels)
    assert len(classes) >= 2
    assert set(corpus.dev.labels) == set(corpus.test.labels) == classes


@every_corpus
def test_no_text_is_in_two_parts(name):
    corpus = loaded(name)
    parts = [set(part.texts) for part in (corpus.train, corpus.dev, corpus.test)]
    assert len(set.union(*parts)) == sum(map(len, parts))


@every_corpus
def test_what_is_marked_are_words_of_the_text(name):
    for document in loaded(name).test:
        for start, end in document.rationale or ():
            assert document.text[start:end].strip()


@every_corpus
def test_loading_again_gives_the_same_documents(name):
    one, again = loaded(name), load(small(name))
    for part in ("train", "dev", "test"):
        assert list(getattr(one, part)) == list(getattr(again, part))


@pytest.mark.parametrize("name", [name for name in corpora if "seed" in corpora.options(name)])
def test_another_seed_gives_other_documents(name):
    usual, other = loaded(name), load(f"{small(name)}:seed=77")
    assert len(usual.train) == len(other.train)
    assert usual.train.texts != other.train.texts
