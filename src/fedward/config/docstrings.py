"""A reader of docstrings: what a key means is written in them, and read by files, pages and commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SYMBOL = re.compile(r"^\S{1,5}: ")
_NAMES = re.compile(r"  (\w+(?:, \w+)*): (.*)")


def arguments(docstrings: Iterable[str]) -> dict[str, str]:
    """The words of the sections ``Args`` on each argument, on one line.

    Docstrings come from far to near: what that of a file or of its package says holds for all parts in it
    that do not say otherwise.

    >>> from fedward.config.part_source import PartSource
    >>> arguments(PartSource(module="fedward.attacks.who", name="RandomUsers").docstrings)
    {'count': 'k, how many attack; 0 for a training in which nobody does.'}
    >>> krum, median = (PartSource(module="fedward.presets", name=name) for name in ("krum", "median"))
    >>> arguments(krum.docstrings)["malicious"], arguments(median.docstrings)["local"]
    ('f: how many bad updates a round may hold.', 'what a user does with the model.')
    """
    return {name: words for text in docstrings for name, words in _section(text).items()}


def _section(docstring: str) -> dict[str, str]:
    _, heading, rest = docstring.partition("\nArgs:\n")
    words: dict[str, str] = {}
    names: list[str] = []
    for line in rest.split("\n\n")[0].splitlines() if heading else []:
        if match := _NAMES.fullmatch(line):
            names = match[1].split(", ")
            words |= dict.fromkeys(names, match[2])
        else:
            words |= {name: f"{words[name]} {line.strip()}" for name in names}
    return words


def in_short(text: str) -> str:
    """The first sentence, without the symbol that formulas have for it.

    >>> in_short("f: how many bad rows there are, as in ``Krum``. Of a round.")
    'how many bad rows there are, as in Krum'
    """
    return _SYMBOL.sub("", text).replace("``", "").split(". ")[0].removesuffix(".")
