"""Scores of words or tokens that somebody else computed, as one more measure of importance.

    file or object ── format ──> ScoredText, … ──> Attributions ── a model's words ──> scores

Scores are aligned to the words of a model by characters of the text: a word's score is the sum of
those of its parts, and a part that covers several words is shared out by characters.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.errors import DataError, counted
from heedful.importance.attributions.placing import NotInText, is_blank, place_tokens
from heedful.importance.base import Importance
from heedful.importance.seen import Need, Seen, TokenScores

USUAL_NAME = "attributions"
Offsets = Int[ndarray, "parts 2"]


@dataclass(frozen=True)
class ScoredText:
    """A text and the scores of its parts: words, or tokens of any tokenizer."""

    text: str
    offsets: Offsets  # first character and one past the last; (0, 0): of no place in the text
    scores: Float[ndarray, "..."]  # for one class, or for each of them
    method: str = USUAL_NAME
    classes: tuple[str, ...] = ()  # of the columns of scores, or all that the target is one of
    target: str | int | None = None  # the class that is explained; None: not said
    where: str = ""  # it comes from, for messages

    def __post_init__(self) -> None:
        if self.scores.ndim not in (1, 2) or len(self.scores) != len(self.offsets):
            raise self.error(
                f"expected a score for each of {counted(len(self.offsets), 'token')}, got "
                f"an array of {' × '.join(map(str, self.scores.shape))}"
            )
        if not np.isfinite(self.scores).all():
            raise self.error("every score should be a finite number")
        start, end = self.offsets[:, 0], self.offsets[:, 1]
        if not ((start >= 0) & (start <= end) & (end <= len(self.text))).all():
            raise self.error("the positions of its words lie outside the text")

    @classmethod
    def of_tokens(
        cls,
        text: str,
        tokens: Sequence[str],
        scores: object,
        *,
        method: str = USUAL_NAME,
        classes: Sequence[str] = (),
        target: str | int | None = None,
        where: str = "",
    ) -> "ScoredText":
        """From tokens in their order, which are sought in the text."""
        numbers = as_numbers(scores, where)
        try:
            offsets = place_tokens(text, tokens)
        except NotInText as refusal:
            raise DataError(f"{where} ({text!r:.60}): {refusal}. {ADVICE}") from None
        return cls(text, offsets, numbers, method, tuple(classes), target, where)

    def error(self, what: str) -> DataError:
        """A refusal that names the document."""
        return DataError(f"{self.where} ({self.text!r:.60}): {what}.")

    def has_scores_of(self, other: "ScoredText") -> bool:
        """Whether another says the same of its parts."""
        if (self.classes, self.target) != (other.classes, other.target):
            return False
        return np.array_equal(self.scores, other.scores)

    def on(self, text: str) -> "ScoredText":
        """The same on a text that differs in case or white space only."""
        if text == self.text:
            return self
        parts = [self.text[start:end] for start, end in self.offsets.tolist()]
        try:
            return replace(self, text=text, offsets=place_tokens(text, parts))
        except NotInText as refusal:
            raise self.error(f"it does not fit the document {text!r:.60}: {refusal}") from None

    def of_class(self, number: int, classes: Sequence[str]) -> Float[ndarray, " parts"]:
        """The scores for one class of a model."""
        if self.scores.ndim == 2:
            return self.scores[:, self._column(number, classes)]
        if self.target is None:
            return self.scores
        if (explained := class_number(self.target, classes)) is None:
            raise self.error(
                f"its scores explain the class {self.target!r}, and the model has "
                f"{', '.join(classes)}"
            )
        if explained != number:
            raise self.error(
                f"its scores explain the class {self.target!r}, but the model predicts "
                f"{classes[number]!r}. Give scores for the predicted class, or for every class"
            )
        return self.scores

    def _column(self, number: int, classes: Sequence[str]) -> int:
        """By the names of the columns; by their places only if they have none."""
        count = self.scores.shape[1]
        if not self.classes:
            if count != len(classes):
                raise self.error(
                    f"it has scores for {count} classes, and the model has {len(classes)}: "
                    f"{', '.join(classes)}"
                )
            return number
        if len(self.classes) != count:
            raise self.error(f"it names {len(self.classes)} classes and has scores for {count}")
        found = [class_number(name, classes) for name in self.classes]
        if None in found or len(set(found)) < count or number not in found:
            raise self.error(
                f"it has scores of the classes {', '.join(self.classes)}, and the model has "
                f"{', '.join(classes)}. Give them the same names, or none if they are in the same "
                "order"
            )
        return found.index(number)


BY_NUMBER = re.compile(r"(?:LABEL_)?([0-9]+)", re.IGNORECASE)


def class_number(named: str | int, classes: Sequence[str]) -> int | None:
    """Which class of a model is meant; None: none of them.

    A word is the name of a class, in any case, or else its number, as in LABEL_1; a number is one.
    """
    if isinstance(named, str):
        folded = [one.casefold() for one in classes]
        for name, names in ((named, list(classes)), (named.casefold(), folded)):
            if names.count(name) == 1:
                return names.index(name)
        if (number := BY_NUMBER.fullmatch(named)) is None:
            return None
        named = int(number[1])
    return named if 0 <= named < len(classes) else None


ADVICE = "Give offsets (first character, one past the last) of every word or token."


@dataclass(frozen=True)
class Attributions(Importance):
    """The scores of one method for some texts; for others there are none."""

    needs = frozenset({Need.TEXTS})
    name: str
    by_text: dict[str, ScoredText]  # each by its own text
    classes: tuple[str, ...] = ()  # of the model, once it is known

    @classmethod
    def grouped(cls, texts: Iterable[ScoredText]) -> "list[Attributions]":
        """One for each method; two different scores for the same text are refused."""
        methods: dict[str, dict[str, ScoredText]] = {}
        for one in texts:
            known = methods.setdefault(one.method, {})
            before = known.setdefault(one.text, one)
            if not before.has_scores_of(one):
                raise one.error(f"it has other scores for the same text than {before.where}")
        return [cls(name, known) for name, known in methods.items()]

    @property
    def is_signed(self) -> bool:  # type: ignore[override]
        """Whether a score may be negative: else they say nothing of the side of a word."""
        return any((one.scores < 0).any() for one in self.by_text.values())

    @cached_property
    def digest(self) -> str:  # type: ignore[override]
        """A word that changes with any score, its place or its class."""
        found = hashlib.sha256()
        for text, one in sorted(self.by_text.items()):
            said = repr((text, one.scores.shape, one.classes, one.target))
            found.update(said.encode("utf-8", "surrogatepass"))
            found.update(one.offsets.tobytes() + np.ascontiguousarray(one.scores).tobytes())
        return found.hexdigest()[:16]

    def unscored(self, text: str, words: Int[ndarray, "words 2"]) -> int:
        """The number of words of a text without a score."""
        return int((self._shares(text, words)[1] <= 0).all(axis=0).sum())

    def notes_on(self, unscored: Float[ndarray, " documents"]) -> tuple[str, ...]:
        """What a reader should know of how they were aligned to documents, in sentences."""
        if not unscored.any():
            return ()
        texts = counted(int((unscored > 0).sum()), "document")
        words = counted(int(unscored.sum()), "word")
        return (f"{self.name}: {words} of {texts} without a score, counted as 0",)

    def scored(self, text: str) -> ScoredText | None:
        """The scores of a text: of itself, or of the only one like it but for space, then case."""
        if text in self.by_text:
            return self.by_text[text]
        for key, known in self._alike:
            if (found := known.get(key(text), [])) and all(map(found[0].has_scores_of, found)):
                return found[0]
        return None

    @cached_property
    def _alike(self) -> list[tuple[Callable[[str], str], dict[str, list[ScoredText]]]]:
        """Scored texts by what is left of them without space, and without case."""
        keys: tuple[Callable[[str], str], ...] = (without_space, text_key)
        found = []
        for key in keys:
            known: dict[str, list[ScoredText]] = {}
            for text, one in self.by_text.items():
                known.setdefault(key(text), []).append(one)
            found.append((key, known))
        return found

    def check(self, texts: Iterable[str]) -> None:
        """Refuse scores that do not fit their texts, or stand nowhere in any of them."""
        first, is_placed = None, False
        for text in texts:
            if (one := self.scored(text)) is not None:
                first = first or one
                is_placed |= bool((np.diff(one.on(text).offsets, axis=1) > 0).any())
        if first is not None and not is_placed:
            raise first.error(f"no score of {self.name} belongs to a word of any document")

    def of(self, seen: Seen) -> TokenScores:
        """The scores of the words that a model reads; see the module."""
        found = np.zeros(tuple(seen.is_token.shape))
        counts = seen.is_token.sum(dim=1).tolist()
        rows = zip(seen.texts, seen.offsets, counts, seen.target.tolist(), strict=True)
        for row, (text, offsets, count, target) in enumerate(rows):
            found[row, :count] = self.of_words(text, offsets[:count], target)
        return torch.from_numpy(found)

    def of_words(
        self, text: str, words: Int[ndarray, "words 2"], target: int
    ) -> Float[ndarray, " words"]:
        """Those of one text, for a class of the model."""
        scored, shares = self._shares(text, words)
        return scored.of_class(target, self.classes) @ shares

    def _shares(
        self, text: str, words: Int[ndarray, "words 2"]
    ) -> tuple[ScoredText, Float[ndarray, "parts words"]]:
        if (scored := self.scored(text)) is None:
            raise DataError(f"{self.name} has no scores for the document {text!r:.60}.")
        scored = scored.on(text)
        return scored, overlaps(scored.offsets, words)


def overlaps(parts: Offsets, words: Int[ndarray, "words 2"]) -> Float[ndarray, "parts words"]:
    """The share of each part, in characters, that lies on each word; 0 outside of all words."""
    start = np.maximum(parts[:, None, 0], words[None, :, 0])
    end = np.minimum(parts[:, None, 1], words[None, :, 1])
    shared = np.maximum(end - start, 0).astype(np.float64)
    return shared / np.maximum(shared.sum(axis=1, keepdims=True), 1)


def text_key(text: str) -> str:
    """The same for texts that differ in case, white space or signs that are not seen."""
    return without_space(text.casefold())


def without_space(text: str) -> str:
    """A text without white space and signs that are not seen."""
    return "".join(letter for letter in text if not is_blank(letter))


def as_numbers(given: object, where: str) -> Float[ndarray, "..."]:
    """Scores as an array."""
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu().double().numpy()
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{where}: expected numbers as scores, got {given!r:.60}.") from None
