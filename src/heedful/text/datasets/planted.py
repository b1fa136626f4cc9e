"""Made-up corpora whose true evidence is known (Sun & Lu 2020, supplement).

A document is ten different neutral words and two different words of its label, in random order. The
words of the label are its rationale, so an explanation can be checked against the truth.
"""

from dataclasses import dataclass, replace
from functools import cache
from string import ascii_lowercase

import numpy as np

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.text.datasets.registry import corpora
from heedful.text.documents import Corpus, Document, Documents, space_separated

LABELS = (
    "negative", "positive", "mixed", "other", "fifth",
    "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
NEGATION = "not"


@corpora.register("planted")
@dataclass(frozen=True)
class Planted:
    """Made-up documents whose label is decided by planted words (Sun & Lu's Data I).

    `noise` is the share of documents of each label whose evidence is drawn from another label's
    words; `ratio` gives the labels' relative frequencies, negative first. `opposing_words` of other
    labels stand in each document too, fewer than those of its own; they are evidence as well, for
    the other side. `function_words` are the same in every document. In a share `negated` of the
    documents the evidence is the other label's, each word behind a word that negates it.
    """

    classes: int = 2
    noise: float = 0.0
    ratio: tuple[float, ...] | None = None
    documents: int = 12_000  # in train; dev and test have a tenth of that each
    neutral_words: int = 10  # per document
    evidence_words: int = 2  # per document
    repeats: int = 1  # how often each of them stands there
    opposing_words: int = 0  # per document, drawn from the other labels
    function_words: int = 0  # in every document the same
    negated: float = 0.0  # share of documents; two labels only
    neutral_vocabulary: int = 1000
    evidence_vocabulary: int = 50  # per label
    seed: int = 2

    def __post_init__(self) -> None:
        at_least(
            1, documents=self.documents, evidence_words=self.evidence_words, repeats=self.repeats
        )
        at_least(0, neutral_words=self.neutral_words, seed=self.seed)
        if not 2 <= self.classes <= len(LABELS):
            raise ConfigError(f"planted: classes should be 2 to {len(LABELS)}, not {self.classes}.")
        if self.ratio is not None and len(self.ratio) != self.classes:
            raise ConfigError(
                f"planted: ratio should have {self.classes} numbers, one per label, "
                f"not {len(self.ratio)}."
            )
        if not 0 <= self.noise <= 1:
            raise ConfigError(f"planted: noise should be between 0 and 1, not {self.noise}.")
        at_least(0, opposing_words=self.opposing_words, function_words=self.function_words)
        if self.opposing_words and self.opposing_words >= self.evidence_words * self.repeats:
            raise ConfigError(
                f"planted: opposing_words ({self.opposing_words}) should be less than the number "
                f"of evidence words ({self.evidence_words * self.repeats})."
            )
        if not 0 <= self.negated <= 1 or (self.negated and self.classes > 2):
            raise ConfigError(
                "planted: negated should be a share from 0 to 1, and needs classes=2."
            )
        if self.neutral_words > self.neutral_vocabulary:
            raise ConfigError(
                f"planted: neutral_words ({self.neutral_words}) should be at most "
                f"neutral_vocabulary ({self.neutral_vocabulary})."
            )
        if self.evidence_words > self.evidence_vocabulary:
            raise ConfigError(
                f"planted: evidence_words ({self.evidence_words}) should be at most "
                f"evidence_vocabulary ({self.evidence_vocabulary})."
            )

    def __call__(self) -> Corpus:
        """Draw the three parts, each from a stream of its own."""
        streams = np.random.default_rng(self.seed).spawn(3)
        sizes = (self.documents, self.documents // 10, self.documents // 10)
        train, dev, test = (self._draw(n, rng) for n, rng in zip(sizes, streams, strict=True))
        return Corpus("planted", train, dev, test, split="spaces")

    def _draw(self, count: int, rng: np.random.Generator) -> Documents:
        shares = np.array(self.ratio or (1.0,) * self.classes)
        ends = np.round(np.cumsum(shares / shares.sum()) * count).astype(int)
        documents = []
        for label, size in enumerate(np.diff(ends, prepend=0)):
            noisy_from = size - round(self.noise * size)
            for place in range(size):
                source = (label + 1) % self.classes if place >= noisy_from else label
                documents.append(self._document(label, source, rng))
        return Documents(documents[i] for i in rng.permutation(len(documents)))

    def _document(self, label: int, source: int, rng: np.random.Generator) -> Document:
        neutral = rng.choice(self.neutral_vocabulary, self.neutral_words, replace=False)
        evidence = rng.choice(self.evidence_vocabulary, self.evidence_words, replace=False)
        units: list[tuple[str, ...]] = []
        units += [(word_form(LABELS[source], n),) for n in evidence.tolist()] * self.repeats
        if self.opposing_words:
            others = (source + rng.integers(1, self.classes, self.opposing_words)) % self.classes
            against = rng.choice(self.evidence_vocabulary, self.opposing_words, replace=False)
            pairs = zip(others.tolist(), against.tolist(), strict=True)
            units += [(word_form(LABELS[other], n),) for other, n in pairs]
        if self.negated and rng.random() < self.negated:
            turned = [word.replace(LABELS[source], LABELS[1 - source], 1) for (word,) in units]
            units = [(NEGATION, word) for word in turned]
        silent = [(word_form("neutral", n),) for n in neutral.tolist()]
        silent += [(word_form("function", n),) for n in range(self.function_words)]
        order = rng.permutation(len(silent) + len(units)).tolist()
        words = [(word, i >= len(silent)) for i in order for word in [*silent, *units][i]]
        text = " ".join(word for word, _ in words)
        spans = space_separated(text)
        marked = zip(spans, words, strict=True)
        rationale = tuple(span for span, (_, is_evidence) in marked if is_evidence)
        return Document(text, LABELS[label], rationale)


@corpora.register("planted-noisy")
def planted_noisy() -> Corpus:
    """The planted corpus with a tenth of its evidence reversed (Sun & Lu's Data II)."""
    return replace(Planted(noise=0.1)(), name="planted-noisy")


@corpora.register("planted-three")
def planted_three() -> Corpus:
    """The planted corpus with three labels."""
    return replace(Planted(classes=3)(), name="planted-three")


@corpora.register("planted-imbalanced")
def planted_imbalanced() -> Corpus:
    """The planted corpus with five negative documents for each positive one."""
    return replace(Planted(ratio=(5.0, 1.0))(), name="planted-imbalanced")


@cache
def word_form(group: str, number: int) -> str:
    """A made-up word of letters only: word_form("neutral", 27) is 'neutral' + 'abb'."""
    letters = ""
    for _ in range(3):
        number, place = divmod(number, 26)
        letters = ascii_lowercase[place] + letters
    return group + letters
