"""A reader of docstrings: what a key means is written in them, and read by files, pages and commands."""

from __future__ import annotations

import inspect
import re
import sys

_SYMBOL = re.compile(r"^\S{1,5}: ")
_NAMES = re.compile(r"  (\w+(?:, \w+)*): (.*)")


def arguments(part: object) -> dict[str, str]:
    """The words of the section ``Args`` on each argument, on one line.

    What the docstring of a file or of its package says holds for all parts in it that do not say otherwise.

    >>> from fedward.attacks.who import PerCohort
    >>> arguments(PerCohort)
    {'count': 'P, how many attack.', 'each': 'P_m, how many of them every cohort has.'}
    >>> from fedward.presets import krum, median
    >>> arguments(krum)["malicious"], arguments(median)["local"]
    ('f: how many bad updates a round may hold.', 'what a user does with the model.')
    """
    module = inspect.getmodule(part)
    package = sys.modules.get(getattr(module, "__package__", None) or "")
    return _section(package) | _section(module) | _section(part)


def _section(thing: object) -> dict[str, str]:
    _, heading, rest = (inspect.getdoc(thing) or "").partition("\nArgs:\n")
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
