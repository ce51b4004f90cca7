"""The templates of reports: the page and its pictures, and what is said on the terminal.

What is missing in a template is an error. What is put into markup is escaped, what is put into text is not.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

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
    return [line for line in _ENVIRONMENT.get_template(template).render(values).split("\n") if line]


def _source(name: str) -> str:
    source = read(name)
    # In text, what is indented goes on with the line above.
    return re.sub(r"\n +(?!\{%|$)", " ", source) if name.endswith(".txt") else source


_ENVIRONMENT = Environment(
    loader=FunctionLoader(_source),
    autoescape=select_autoescape(["html", "svg"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
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
