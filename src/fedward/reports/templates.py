"""The templates of reports: the page and its pictures, and what is said on the terminal.

What is missing in a template is an error. What is put into markup is escaped; what is put into text stays in
its line. Control characters are shown, never passed on.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from fedward.base.visible_text import visible
from fedward.certificates.level import percentage
from fedward.privacy.rounding import epsilon_text, round_up
from fedward.reports import numbers


def read(name: str) -> str:
    """A file of this room as it is, by its path in it."""
    return files("fedward.reports").joinpath(name).read_text(encoding="utf8")


def fill(template: str, /, **values: Any) -> Markup:
    """A template with these values."""
    return Markup(_ENVIRONMENT.get_template(template).render(values))


def lines(template: str, /, **values: Any) -> list[str]:
    """The lines of a template of text with these values; empty ones are left out."""
    return [line for line in _TEXT.get_template(template).render(values).split("\n") if line]


def _source(name: str) -> str:
    source = read(name)
    # In text, what is indented goes on with the line above.
    return re.sub(r"\n +(?!\{%|$)", " ", source) if name.endswith(".txt") else source


def _visible(value: Any, *, lines: bool) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str | PurePath):
        return value
    return visible(str(value), lines=lines)


_ENVIRONMENT = Environment(
    loader=FunctionLoader(_source),
    autoescape=select_autoescape(["html", "svg"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: _visible(
        value, lines=True
    ),  # who reads the page need not be who named what it shows
)


_ENVIRONMENT.filters |= {
    "at_most": numbers.at_most,
    "at_most_figure": numbers.at_most_figure,
    "duration": numbers.duration,
    "epsilon": epsilon_text,
    "factor": numbers.factor,
    "round_up": round_up,
    "figure": numbers.figure,
    "finite": numbers.finite,
    "many": numbers.many,
    "percent": numbers.percent,
    "percent_certified": numbers.percent_certified,
    "percentage": percentage,
    "size": numbers.size,
    "whole": "{:,}".format,
    "short": "{:g}".format,
}
_TEXT = _ENVIRONMENT.overlay(finalize=lambda value: _visible(value, lines=False))
