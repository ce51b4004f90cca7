"""A reader of docstrings: what they say about each argument."""

from __future__ import annotations

import inspect
import re

_NAMES = re.compile(r"  (\w+(?:, \w+)*): (.*)")


def arguments(part: object) -> dict[str, str]:
    """The words of the section ``Args`` on each argument, on one line.

    >>> from fedward.sampling import PoissonSampler
    >>> from fedward.attacks.who import PerCohort
    >>> arguments(PerCohort)
    {'count': 'P, how many attack.', 'each': 'P_m, how many of them every cohort has.'}
    >>> arguments(PoissonSampler)
    {}
    """
    _, heading, rest = (inspect.getdoc(part) or "").partition("\nArgs:\n")
    found: dict[str, str] = {}
    now: list[str] = []
    for line in rest.split("\n\n")[0].splitlines() if heading else []:
        if match := _NAMES.fullmatch(line):
            now = match[1].split(", ")
            found |= dict.fromkeys(now, match[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in now}
    return found


def first_sentence(text: str) -> str:
    """
    >>> first_sentence("f, how many bad rows. Of a round.")
    'f, how many bad rows'
    """
    return text.replace("``", "").split(". ")[0].removesuffix(".")
