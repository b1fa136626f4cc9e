"""Text that a stranger chose -> the same text with nothing hidden in it.

Signs that steer a reader's eyes, a terminal or a browser without being seen (bidirectional
overrides, control characters) are written out as ⟨U+202E⟩. Halves of characters, which no file can
hold, are too. The joiners that scripts and emoji need are left alone.
"""

import re
from itertools import accumulate

HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, line ends and tabs among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction
    "\u200b\u2060\ufeff"  # no width
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # halves of characters
    "]"
)


def written_out(text: str, seen: str = "") -> str:
    """The text with every hidden sign written out, but those in `seen`."""
    return HIDDEN.sub(lambda found: _name(found[0]) if found[0] not in seen else found[0], text)


def visible(text: str) -> str:
    """A text of several lines with every hidden sign written out; line ends and tabs stay."""
    return written_out(text.replace("\r\n", "\n").replace("\r", "\n"), seen="\n\t")


def one_line(text: str) -> str:
    """A text in one line: blanks for white space of any kind, other hidden signs written out."""
    return written_out(" ".join(text.split()))


def places(text: str, seen: str = "") -> list[int]:
    """Where each sign of a text stands once it is written out, and where the text ends."""
    lengths = (len(_name(sign)) if HIDDEN.match(sign) and sign not in seen else 1 for sign in text)
    return list(accumulate(lengths, initial=0))


def _name(sign: str) -> str:
    return f"⟨U+{ord(sign):04X}⟩"
