"""Makes docstrings ready for Markdown: an extension of griffe, which mkdocstrings reads the source with.

An example in a docstring is lines with ``>>>``, which Markdown would take for quotations: here they get a
fence.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# From a prompt to the next empty line; the line itself may be indented.
_EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Puts every example of a docstring between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Is called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The docstring with a fence around each of its examples."""
    return _EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0]}\n{match[1]}```", docstring)
