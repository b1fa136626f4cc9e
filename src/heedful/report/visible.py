"""Text that a stranger chose -> the same text with nothing hidden in it.

Signs that steer a reader's eyes or a browser without being seen (bidirectional overrides, control
characters) are written out as ⟨U+202E⟩. Halves of characters, which no file can hold, are too.
"""

import unicodedata

HIDDEN_KINDS = {"Cc", "Cs", "Zl", "Zp"}  # controls, surrogates, line and paragraph separators
HIDDEN_SIGNS = {
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",  # direction
    *"\u200b\u2060\ufeff",  # no width; the joiners that scripts and emoji need are left alone
}
SEEN = {"\n", "\t"}


def visible(text: str) -> str:
    """The text with every hidden sign written out; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(_written_out(sign) if _is_hidden(sign) else sign for sign in text)


def _is_hidden(sign: str) -> bool:
    if sign in SEEN:
        return False
    return sign in HIDDEN_SIGNS or unicodedata.category(sign) in HIDDEN_KINDS


def _written_out(sign: str) -> str:
    return f"⟨U+{ord(sign):04X}⟩"
