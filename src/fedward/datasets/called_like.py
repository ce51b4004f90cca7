"""A function that is called like another: its keywords and their types are written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar, get_type_hints

P = ParamSpec("P")
T = TypeVar("T")


def called_like(other: Callable[P, T]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Gives a function that hands on all its keywords the signature of the one that takes them.

    Its docstring stays its own. Experiment files, commands and type checkers see the keywords.

    >>> def scaled(*, number: float, factor: float = 2.0) -> float:
    ...     return number * factor
    >>> @called_like(scaled)
    ... def doubled(**options: float) -> float:
    ...     return scaled(**options)
    >>> inspect.signature(doubled).parameters["factor"].default, doubled(number=3.0)
    (2.0, 6.0)
    """

    def named(function: Callable[..., T]) -> Callable[P, T]:
        function.__signature__ = inspect.signature(other)  # type: ignore[attr-defined]
        function.__annotations__ = get_type_hints(other)
        return function

    return named
