r"""Text from outside, as file names are, made harmless where it is printed or written.

A file may be called ``=HYPERLINK(...)``, or have a newline, a terminal's escape sequence or bytes
that are no text in its name. In a result it keeps its name; where people and other programs read
it, what could do something stands as an escape like ``\x1b``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Control characters, halves of characters, and ends of lines and paragraphs.
HARMFUL = ("Cc", "Cs", "Zl", "Zp")
# What changes the direction in which text is read, so that it seems to say something else.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# A cell of a table that begins so is a formula for spreadsheets; some skip the apostrophe before,
# and some take the wide signs of East Asian keyboards for the usual ones.
FORMULA = re.compile(r"['\s]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]")

# Python keeps a byte of a file name that is no text as one of these, from 0xDC80 on.
FIRST_BYTE = 0xDC00


def plain(text: str, keep: str = "") -> str:
    """Escape what a terminal, a reader or another program could take for more than text.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in keep or _is_harmless(one) else _escape(one) for one in text)


def cell(text: str) -> str:
    """Make text a cell of a CSV file that no spreadsheet computes: a formula gets an apostrophe."""
    shown = plain(text)
    return f"'{shown}" if FORMULA.match(shown) else shown


def from_cell(text: str) -> str:
    """Take off the apostrophe that :func:`cell` put there."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def encodable(value: Any) -> Any:
    """Escape bytes that are no text in all strings of a value for JSON, which must be Unicode."""
    if isinstance(value, str):
        return value if value.isascii() else "".join(map(_whole, value))
    if isinstance(value, dict):
        return {encodable(key): encodable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(one) for one in value]
    return value


def _is_harmless(character: str) -> bool:
    """Whether a character can stand in a line of text."""
    return unicodedata.category(character) not in HARMFUL and character not in TURNING


def _whole(character: str) -> str:
    """A character, or the escape of half of one."""
    return _escape(character) if unicodedata.category(character) == "Cs" else character


def _escape(character: str) -> str:
    """Write a character as Python writes it in a string."""
    code = ord(character)
    if FIRST_BYTE + 0x80 <= code <= FIRST_BYTE + 0xFF:
        return f"\\x{code - FIRST_BYTE:02x}"
    return character.encode("unicode_escape").decode("ascii")
