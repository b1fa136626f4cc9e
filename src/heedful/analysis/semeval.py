"""A user's own copy of SemEval-2013 task 2 -> tweets with the polarity of their words.

Tab-separated rows without a header. Phrases (subtask A):

    tweet id, user id, first word, last word, polarity, text

one row per phrase, words counted from 0 in the text split at spaces, both ends included. Tweets
(subtask B): tweet id, user id, polarity, text. Nothing is downloaded: tweets may not be passed on,
and those that their authors have deleted read "Not Available".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from heedful.errors import DataError, counted
from heedful.text.documents import Document, Documents, Span, whole_characters

POLAR = ("positive", "negative")
POLARITIES = {*POLAR, "neutral", "objective", "objective-or-neutral"}
GONE = "Not Available"
PREFIX = "semeval:"


@dataclass
class Tweet:
    """A tweet while its rows are gathered."""

    text: str
    where: str
    label: str | None = None
    phrases: list[tuple[int, int, str]] = field(default_factory=list)


def read_semeval(paths: str) -> tuple[Documents, list[str]]:
    """Tweets of one polarity with a label on each marked word, and sentences about the rest.

    `paths` is a file of phrases, or two joined by a comma: phrases, then tweets. Without the second
    a tweet has the polarity that all its polar phrases share.
    """
    phrases, comma, tweets = paths.partition(",")
    by_id = _phrases(Path(phrases))
    if comma:
        for key, polarity in _tweet_labels(Path(tweets)):
            if key in by_id:
                by_id[key].label = polarity
    else:
        for tweet in by_id.values():
            said = {polarity for _, _, polarity in tweet.phrases if polarity in POLAR}
            tweet.label = said.pop() if len(said) == 1 else None
    kept = {key: tweet for key, tweet in by_id.items() if tweet.text != GONE}
    polar = [tweet for tweet in kept.values() if tweet.label in POLAR]
    notes = []
    if gone := len(by_id) - len(kept):
        notes.append(f"{counted(gone, 'tweet')} no longer available, left out")
    if other := len(kept) - len(polar):
        notes.append(f"{counted(other, 'tweet')} neutral or of both polarities, left out")
    if not polar:
        raise DataError(f"{phrases} contains no positive or negative tweet: {'; '.join(notes)}.")
    return Documents(_document(tweet) for tweet in polar), notes


def _phrases(path: Path) -> dict[tuple[str, str], Tweet]:
    tweets: dict[tuple[str, str], Tweet] = {}
    for where, cells in _rows(path, columns=6):
        first_id, second_id, start, end, polarity, text = cells
        tweet = tweets.setdefault((first_id, second_id), Tweet(text, where))
        if tweet.text != text:
            raise DataError(f"{where}: this tweet had another text at {tweet.where}.")
        if text == GONE:
            continue
        words = len(text.split())
        if not (start.isdigit() and end.isdigit() and int(start) <= int(end) < words):
            raise DataError(
                f"{where}: expected the first and last word of a phrase, numbered from 0, in a "
                f"text of {counted(words, 'word')}; got {start!r} and {end!r}."
            )
        tweet.phrases.append((int(start), int(end), _polarity(polarity, where)))
    return tweets


def _tweet_labels(path: Path) -> Iterator[tuple[tuple[str, str], str]]:
    for where, (first_id, second_id, polarity, _) in _rows(path, columns=4):
        yield (first_id, second_id), _polarity(polarity, where)


def _polarity(word: str, where: str) -> str:
    polarity = word.strip().strip('"').lower()
    if polarity not in POLARITIES:
        raise DataError(
            f"{where}: a polarity is positive, negative, neutral or objective, not {word!r:.40}."
        )
    return polarity


def _rows(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        raise DataError(f"no such file: {path}. Expected your own copy of SemEval-2013.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text.") from None
    found = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where, cells = f"{path}, line {number}", whole_characters(line).split("\t")
        if len(cells) != columns:
            raise DataError(
                f"{where}: expected {columns} cells between tabs "
                f"({'phrases' if columns == 6 else 'tweets'} of SemEval-2013), not {len(cells)}."
            )
        found = True
        yield where, [cell.strip() for cell in cells]
    if not found:
        raise DataError(f"{path} is empty. Expected SemEval-2013 rows.")


def _document(tweet: Tweet) -> Document:
    spans = _words(tweet.text)
    label_of = ["neutral"] * len(spans)
    for start, end, polarity in tweet.phrases:
        for word in range(start, end + 1):
            label_of[word] = polarity if polarity in POLAR else "neutral"
    return Document(tweet.text, tweet.label, word_labels=tuple(zip(spans, label_of, strict=True)))


def _words(text: str) -> list[Span]:
    """Where the words of `text.split()` stand."""
    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    return spans
