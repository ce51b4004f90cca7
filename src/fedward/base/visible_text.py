r"""Text of files, paths and names with every character made visible that a terminal would obey."""

from __future__ import annotations

import unicodedata

# Controls, formats (those that turn the direction of text among them), halves of pairs, line separators.
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Some alphabets, and pictures of people, are written with the joiners.
_KEPT = "\u200c\u200d"


def visible(text: str, *, lines: bool = False) -> str:
    r"""The text in one line, with escapes for what would move a cursor, change a colour or hide.

    Args:
      text: of anybody.
      lines: whether it may have several lines.

    >>> print(visible("runs/\x1b[31mred\n\u202ebackwards\udcff"))
    runs/\x1b[31mred\n\u202ebackwards\xff
    """
    if text.isprintable():
        return text
    return "".join(each if lines and each == "\n" else _visible(each) for each in text)


def _visible(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _OBEYED:
        return character
    if "\udc80" <= character <= "\udcff":  # a byte of a path that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
