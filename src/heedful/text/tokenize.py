"""Texts to words: where each word stands in the user's own characters, and its number.

Words are cut by Hugging Face `tokenizers`, so offsets always point into the text as it was given,
whatever lower-casing does to it. The whole cutter is one JSON file, `tokenizer.json`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Regex, normalizers, pre_tokenizers
from tokenizers import Tokenizer as WordCutter
from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer

from heedful.config import at_least
from heedful.errors import RunError
from heedful.text.documents import Split, whole_characters
from heedful.text.vocabulary import NUMBER, SPECIAL_WORDS, UNKNOWN_WORD, Encoded, choose_words

WORD = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}]"  # scripts without spaces: a character is a word
    r"|[\p{L}\p{M}\p{N}_]+(?:['’\u200C\u200D][\p{L}\p{M}\p{N}_]+)*"  # isn't is one word
    r"|(?![\s\p{C}])\X"  # any other visible sign, an emoji of several code points included
)
TEXTS_AT_ONCE = 1024  # how many texts are cut before they become arrays: bounds memory


@dataclass(frozen=True)
class TextSettings:
    """How texts become numbered words."""

    split: Split = "words"  # "spaces" for text that is already cut
    lowercase: bool = True
    fold_digits: bool = False  # every word with a digit becomes one and the same word
    min_documents: int = 2  # a word is known if this many training documents have it
    max_vocabulary: int = 50_000
    max_words: int = 500  # longer documents are cut here

    def __post_init__(self) -> None:
        at_least(
            1,
            min_documents=self.min_documents,
            max_vocabulary=self.max_vocabulary,
            max_words=self.max_words,
        )


class Tokenizer:
    """Cuts texts into words and numbers them; made by `learn`, kept as JSON."""

    def __init__(self, cutter: WordCutter, fold_digits: bool, max_words: int) -> None:
        self._cutter = cutter
        self._fold_digits = fold_digits
        self._max_words = max_words

    @classmethod
    def learn(cls, texts: Sequence[str], settings: TextSettings) -> "Tokenizer":
        """A tokenizer whose vocabulary is that of `texts`, by the rules of `settings`."""
        cutter = _cutter(settings)
        every_word = WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
        cutter.train_from_iterator((whole_characters(text) for text in texts), every_word)
        counting = cls(cutter, fold_digits=False, max_words=settings.max_words)
        ids = cutter.get_vocab(with_added_tokens=False)
        words = choose_words(
            sorted(ids, key=ids.__getitem__),
            counting.encode(texts),
            min_documents=settings.min_documents,
            max_vocabulary=settings.max_vocabulary,
            fold_digits=settings.fold_digits,
        )
        cutter.model = WordLevel(
            {word: number for number, word in enumerate(words)},
            unk_token=SPECIAL_WORDS[UNKNOWN_WORD],
        )
        return cls(cutter, settings.fold_digits, settings.max_words)

    @property
    def words(self) -> list[str]:
        """The vocabulary; a word's place is its number. The first three stand for no real word."""
        ids = self._cutter.get_vocab(with_added_tokens=False)
        return sorted(ids, key=ids.__getitem__)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Word numbers of each text, cut at `max_words`."""
        rows = [ids for ids, _ in self._cut(texts)]
        lengths = np.array([len(ids) for ids in rows], dtype=np.int64)
        kept = [ids[: self._max_words] for ids in rows]
        starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, self._max_words))])
        token_ids = np.concatenate([np.empty(0, dtype=np.int64), *kept])
        return Encoded(token_ids, starts.astype(np.int64), int((lengths > self._max_words).sum()))

    def offsets(self, text: str) -> Int[ndarray, "words 2"]:
        """First character and one past the last of each word that `encode` keeps."""
        ((_, offsets),) = self._cut([text], with_offsets=True)
        return offsets[: self._max_words]

    def cut_words(self, text: str) -> list[str]:
        """The words of a text as the user wrote them."""
        return [text[start:end] for start, end in self.offsets(text).tolist()]

    def to_json(self) -> str:
        """Everything but the settings, in the file format of `tokenizers`."""
        return self._cutter.to_str()

    @classmethod
    def from_json(cls, text: str, settings: TextSettings) -> "Tokenizer":
        """The inverse of `to_json`."""
        try:
            cutter = WordCutter.from_str(text)
        except Exception as error:  # noqa: BLE001  (tokenizers raises plain Exception)
            raise RunError(f"tokenizer.json cannot be read: {error}.") from None
        return cls(cutter, settings.fold_digits, settings.max_words)

    def _cut(
        self, texts: Sequence[str], with_offsets: bool = False
    ) -> Iterator[tuple[Int[ndarray, " words"], Int[ndarray, "words 2"]]]:
        needs_offsets = with_offsets or self._fold_digits
        cut = self._cutter.encode_batch if needs_offsets else self._cutter.encode_batch_fast
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = [whole_characters(text) for text in texts[start : start + TEXTS_AT_ONCE]]
            for text, encoding in zip(some, cut(some), strict=True):
                ids = np.array(encoding.ids, dtype=np.int64)
                found = encoding.offsets if needs_offsets else []
                offsets = np.array(found, dtype=np.int64).reshape(-1, 2)
                if self._fold_digits:
                    _fold_numbers(text, ids, offsets)
                yield ids, offsets


def _cutter(settings: TextSettings) -> WordCutter:
    cutter = WordCutter(WordLevel({}, unk_token=SPECIAL_WORDS[UNKNOWN_WORD]))
    if settings.lowercase:
        cutter.normalizer = normalizers.Lowercase()
    cutter.pre_tokenizer = (
        pre_tokenizers.Split(" ", behavior="removed")
        if settings.split == "spaces"
        else pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    )
    return cutter


def _fold_numbers(text: str, ids: Int[ndarray, " words"], offsets: Int[ndarray, "words 2"]) -> None:
    # A normaliser that rewrote numbers would move the offsets of everything inside them. So words
    # with digits are kept out of the vocabulary and recognised here, among the unknown ones.
    for place in np.flatnonzero(ids == UNKNOWN_WORD):
        start, end = offsets[place]
        if any(character.isdigit() for character in text[start:end]):
            ids[place] = NUMBER
