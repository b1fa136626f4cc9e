"""Where the tokens of somebody else's tokenizer stand in a text.

Marks of pieces (##, Ġ, ▁, </w>, @@) are dropped; case, accents and white space do not matter. A
special token such as [CLS] stands nowhere: its offsets are (0, 0), as tokenizers give them. Signs
that are neither letters nor digits may be left out of the tokens.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from numpy import ndarray

NOWHERE = (0, 0)
SPECIAL = re.compile(r"\[[A-Z_]+\d*\]|<[^<>\s]+>")
MARKS = re.compile(r"^##(?=.)|^[Ġ▁Ċ]+|</w>$|@@$")

Offsets = Int[ndarray, "tokens 2"]


class NotInText(ValueError):
    """A token that does not come next in the text."""

    def __init__(self, number: int, token: str) -> None:
        super().__init__(f"its token {number + 1}, {token!r:.40}, does not come next in the text")


def place_tokens(text: str, tokens: Sequence[str]) -> Offsets:
    """The first character of each token, and one past its last."""
    try:
        letters, places = _folded(text)
        return _placed(letters, places, [_folded(MARKS.sub("", t))[0] for t in tokens], tokens)
    except NotInText as refusal:
        # Tokenizers that work on bytes write each byte as a letter, é as two.
        if (pieces := _as_bytes(tokens)) is None:
            raise
        try:
            return _placed(*_bytes_of(text), pieces, tokens)
        except NotInText:
            raise refusal from None


def _placed(
    letters: str, places: Sequence[int], pieces: Sequence[str], tokens: Sequence[str]
) -> Offsets:
    found = np.zeros((len(tokens), 2), dtype=np.int64)
    at, unplaced = 0, list[int]()  # special tokens since the last one found in the text
    for number, (piece, token) in enumerate(zip(pieces, tokens, strict=True)):
        if not piece:
            continue
        start = _next(letters, piece, at)
        if start < 0 and SPECIAL.fullmatch(token.strip()):
            unplaced.append(number)
            continue
        if start < 0 and unplaced:  # an unknown token covers what lies between
            start = letters.find(piece, at)
        if start < 0:
            raise NotInText(number, token)
        if start > at and len(unplaced) == 1:
            found[unplaced[0]] = places[at], places[start - 1] + 1
        at, unplaced = start + len(piece), []
        found[number] = places[start], places[at - 1] + 1
    return found


def _next(letters: str, piece: str, at: int) -> int:
    """Where a piece comes next: here, or behind signs that a list of words leaves out; else -1."""
    while not letters.startswith(piece, at):
        if at >= len(letters) or letters[at].isalnum():
            return -1
        at += 1
    return at


def _folded(text: str) -> tuple[str, list[int]]:
    """Letters without case, accents and white space, and the character that each comes from."""
    letters, places = [], []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character.casefold()):
            if not (is_blank(letter) or unicodedata.combining(letter)):
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def is_blank(letter: str) -> bool:
    """White space, and signs that are not seen."""
    return letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf")


def _byte_letters() -> dict[str, int]:
    """The letter by which byte-level tokenizers write each byte: those that can be seen as they
    are, the others from 256 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in seen]
    return {chr(b): b for b in seen} | {chr(256 + n): b for n, b in enumerate(others)}


BYTE_OF = _byte_letters()


def _as_bytes(tokens: Sequence[str]) -> list[str] | None:
    """Byte-level tokens as bytes, one letter each; None if they cannot be such tokens."""
    pieces = []
    for token in tokens:
        if any(letter not in BYTE_OF for letter in token):
            if not SPECIAL.fullmatch(token.strip()):
                return None
            pieces.append(token)
            continue
        pieces.append("".join(chr(b) for b in map(BYTE_OF.__getitem__, token) if b not in BLANKS))
    return pieces


BLANKS = frozenset(b" \t\n\r\f\v")


def letters_of(token: str) -> str:
    """What a token stands for in a text, without marks of pieces; bytes are read as letters."""
    piece = MARKS.sub("", token)
    if all(letter in BYTE_OF for letter in piece):
        try:
            return bytes(map(BYTE_OF.__getitem__, piece)).decode()
        except UnicodeDecodeError:
            pass  # the letter itself, or a part of one
    return piece


def _bytes_of(text: str) -> tuple[str, list[int]]:
    """The bytes of a text without white space, one letter each, and where they come from."""
    letters, places = [], []
    for place, character in enumerate(text):
        for byte in character.encode("utf-8", "replace"):
            if byte not in BLANKS:
                letters.append(chr(byte))
                places.append(place)
    return "".join(letters), places
