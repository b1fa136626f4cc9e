"""Real documents with made-up words planted in them that decide the label.

The three patterns are the shortcuts of Bastings et al. (2022): a word, a word in the context of
another, the order of two words.

The texts are real, their labels are not kept: what the label is says only the planted word, and it
is the rationale. So the truth is known, and the language around it is not a toy.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heedful.config import at_least, within
from heedful.errors import ConfigError, DataError
from heedful.text.datasets.planted import LABELS, word_form
from heedful.text.datasets.registry import corpora, load
from heedful.text.documents import Corpus, Document, Documents, space_separated

Pattern = Literal["words", "context", "order"]


@corpora.register("planted-text")
@dataclass(frozen=True)
class PlantedText:
    """Real documents whose label is decided by rare planted words.

    With the pattern `context` a word of the label and a word that is the same for all labels are
    planted; with `order` two words, and the label is which of them comes first.
    """

    source: str = "reviews-short"  # a corpus whose texts are taken
    most_words: int = 60  # longer texts are cut
    classes: int = 2
    noise: float = 0.0  # share of documents with another label's words
    documents: int = 3000  # in train; dev and test have a tenth of that each
    evidence_words: int = 1  # per document, at random places; other patterns than words: two
    pattern: Pattern = "words"
    evidence_vocabulary: int = 5  # per label
    seed: int = 2

    def __post_init__(self) -> None:
        at_least(1, documents=self.documents, evidence_words=self.evidence_words)
        at_least(1, most_words=self.most_words)
        at_least(0, seed=self.seed)
        within(0, 1, noise=self.noise)
        if not 2 <= self.classes <= len(LABELS):
            raise ConfigError(
                f"planted-text: classes should be 2 to {len(LABELS)}, not {self.classes}."
            )
        if self.pattern == "order" and self.classes != 2:
            raise ConfigError(
                f"planted-text: two words have two orders, so classes should be 2, "
                f"not {self.classes}."
            )
        if self.evidence_words > self.evidence_vocabulary:
            raise ConfigError(
                f"planted-text: evidence_words ({self.evidence_words}) should be at most "
                f"evidence_vocabulary ({self.evidence_vocabulary})."
            )

    def __call__(self) -> Corpus:
        """Deal out the source's texts to three parts and plant words in each."""
        part = self.documents // 10
        texts = load(self.source).train.texts
        wanted = self.documents + 2 * part
        if len(texts) < wanted:
            raise DataError(
                f"planted-text: documents={self.documents} needs {wanted:,} texts, but "
                f"{self.source} has {len(texts):,}. Choose fewer documents."
            )
        rng = np.random.default_rng(self.seed)
        chosen = rng.permutation(len(texts))[:wanted].tolist()
        planted = Documents(self._plant(texts[i], n, rng) for n, i in enumerate(chosen))
        train, dev, test = (
            planted.take(range(start, end))
            for start, end in (
                (0, self.documents),
                (self.documents, self.documents + part),
                (self.documents + part, wanted),
            )
        )
        return Corpus("planted-text", train, dev, test, split="spaces")

    def _plant(self, text: str, number: int, rng: np.random.Generator) -> Document:
        """A text with evidence for one label; labels take turns."""
        label = number % self.classes
        is_noisy = rng.random() < self.noise
        source = (label + 1) % self.classes if is_noisy else label
        words = text.lower().split()[: self.most_words]
        evidence = self._evidence(source, rng)
        places = set(rng.choice(len(words) + len(evidence), len(evidence), False).tolist())
        real, planted = iter(words), iter(evidence)
        whole = [
            next(planted if place in places else real)
            for place in range(len(words) + len(evidence))
        ]
        text = " ".join(whole)
        spans = space_separated(text)
        rationale = tuple(span for place, span in enumerate(spans) if place in places)
        return Document(text, LABELS[label], rationale)

    def _evidence(self, label: int, rng: np.random.Generator) -> list[str]:
        """The words that say a label, in their order."""
        if self.pattern == "words":
            chosen = rng.choice(self.evidence_vocabulary, self.evidence_words, replace=False)
            return [word_form(LABELS[label], n) for n in chosen.tolist()]
        groups = (LABELS[label], "context") if self.pattern == "context" else ("early", "late")
        one, other = (
            word_form(group, int(rng.integers(self.evidence_vocabulary))) for group in groups
        )
        is_turned = bool(label) if self.pattern == "order" else rng.random() < 0.5
        return [other, one] if is_turned else [one, other]
