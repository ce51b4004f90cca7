"""The templates of the page: what is put into them is escaped, and what is missing is an error."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup


def read(name: str) -> str:
    """A file of the page as it is."""
    return files("fedward.report.page").joinpath(name).read_text(encoding="utf8")


def fill(name: str, **values: Any) -> Markup:
    """A template with these values."""
    return Markup(_ENVIRONMENT.get_template(name).render(values))


_ENVIRONMENT = Environment(
    loader=FunctionLoader(read),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
