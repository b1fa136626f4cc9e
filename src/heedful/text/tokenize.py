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
from heedful.text.pieces import WordPieces, joined
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

    split: Split = "words"  # "spaces" for text that is already tokenized
    lowercase: bool = True
    fold_digits: bool = False  # every word with a digit becomes the same word
    min_documents: int = 2  # a word is known if this many training documents have it
    max_vocabulary: int = 50_000
    max_words: int = 500  # maximum number of words; longer documents are cut

    def __post_init__(self) -> None:
        at_least(
            1,
            min_documents=self.min_documents,
            max_vocabulary=self.max_vocabulary,
            max_words=self.max_words,
        )


@dataclass(frozen=True)
class CutText:
    """One text in words."""

    ids: Int[ndarray, " words"]
    offsets: Int[ndarray, "words 2"] | None  # only where they were needed
    pieces: Sequence[Sequence[int]]  # of each word, for a pretrained model
    is_cut: bool  # it was longer than allowed


class Tokenizer:
    """Cuts texts into words and numbers them; made by `learn`, kept as JSON.

    With `pieces`, a word also has those by which a pretrained model knows it.
    """

    def __init__(
        self,
        cutter: WordCutter,
        fold_digits: bool,
        max_words: int,
        pieces: WordPieces | None = None,
    ) -> None:
        self._cutter = cutter
        self._fold_digits = fold_digits
        self._max_words = max_words
        self._pieces = pieces

    @classmethod
    def learn(
        cls, texts: Sequence[str], settings: TextSettings, pieces: WordPieces | None = None
    ) -> "Tokenizer":
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
        return cls(cutter, settings.fold_digits, settings.max_words, pieces)

    @property
    def words(self) -> list[str]:
        """The vocabulary; a word's place is its number. The first three stand for no real word."""
        ids = self._cutter.get_vocab(with_added_tokens=False)
        return sorted(ids, key=ids.__getitem__)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Word numbers of each text, cut at `max_words` or where a pretrained model has no room."""
        rows = list(self._cut(texts))
        lengths = np.array([len(row.ids) for row in rows], dtype=np.int64)
        return Encoded(
            token_ids=np.concatenate([np.empty(0, dtype=np.int64), *(row.ids for row in rows)]),
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            cut=sum(row.is_cut for row in rows),
            pieces=joined([word for row in rows for word in row.pieces]) if self._pieces else None,
        )

    def offsets(self, text: str) -> Int[ndarray, "words 2"]:
        """First character and one past the last of each word that `encode` keeps."""
        (cut,) = self._cut([text], with_offsets=True)
        assert cut.offsets is not None
        return cut.offsets

    def cut_words(self, text: str) -> list[str]:
        """The words of a text as the user wrote them."""
        return [text[start:end] for start, end in self.offsets(text).tolist()]

    def to_json(self) -> str:
        """Everything but the settings, in the file format of `tokenizers`."""
        return self._cutter.to_str()

    @classmethod
    def from_json(
        cls, text: str, settings: TextSettings, pieces: WordPieces | None = None
    ) -> "Tokenizer":
        """The inverse of `to_json`."""
        try:
            cutter = WordCutter.from_str(text)
        except Exception as error:  # noqa: BLE001  (tokenizers raises plain Exception)
            raise RunError(f"tokenizer.json cannot be read: {error}.") from None
        if cutter.token_to_id(SPECIAL_WORDS[UNKNOWN_WORD]) != UNKNOWN_WORD:
            raise RunError("tokenizer.json cannot be used: it has no word for unknown words.")
        return cls(cutter, settings.fold_digits, settings.max_words, pieces)

    def _cut(self, texts: Sequence[str], with_offsets: bool = False) -> Iterator[CutText]:
        needs_offsets = with_offsets or self._fold_digits or self._pieces is not None
        cut = self._cutter.encode_batch if needs_offsets else self._cutter.encode_batch_fast
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = [whole_characters(text) for text in texts[start : start + TEXTS_AT_ONCE]]
            for text, encoding in zip(some, cut(some), strict=True):
                most = slice(self._max_words)
                ids = np.array(encoding.ids[most], dtype=np.int64)
                is_cut = len(encoding.ids) > len(ids)
                if not needs_offsets:
                    yield CutText(ids, None, (), is_cut)
                    continue
                offsets = np.array(encoding.offsets[most], dtype=np.int64).reshape(-1, 2)
                if self._fold_digits:
                    _fold_numbers(text, ids, offsets)
                pieces = self._pieces.cut(text, offsets) if self._pieces else ()
                room = len(ids) if self._pieces is None else len(pieces)
                yield CutText(ids[:room], offsets[:room], pieces, is_cut or room < len(ids))


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
