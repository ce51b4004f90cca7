"""Parts that exist already: a check that they are of their kind, and a description for files and errors."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from torch import Tensor, nn

from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.own_code import import_path
from fedward.core.algorithm import Algorithm
from fedward.core.digest import tensor_digest
from fedward.core.federation import Federation


def require_kind(made: object, kinds: tuple[type, ...], name: str) -> None:
    """Raises unless a part is an instance of one of these classes, or has all members of one Protocol.

    >>> require_kind(3, (nn.Module,), "mine:net")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: mine:net must be a Module, got int
    """
    if not kinds or not all(lacking := [_lacks(made, kind) for kind in kinds]):
        return
    if not is_protocol(kinds[0]):
        wanted = " or ".join(f"a{'n' * (kind.__name__[0] in 'AEIOU')} {kind.__name__}" for kind in kinds)
        raise InvalidType(f"{name} must be {wanted}, got {type(made).__name__}")
    least, kind = min(zip(lacking, kinds, strict=True), key=lambda each: len(each[0]))
    raise InvalidType(
        f"{name} lacks {', '.join(least)}: {kind.__module__}.{kind.__qualname__} says what such a part has"
    )


def _lacks(made: object, kind: type) -> list[str]:
    """The members of a Protocol that a part does not have; of a class its name."""
    if not is_protocol(kind):
        return [] if isinstance(made, kind) else [kind.__name__]
    return [member for member in members(kind) if not hasattr(made, member)]


def is_protocol(kind: type) -> bool:
    """Whether a class is a Protocol: a list of members, not a base."""
    return bool(vars(kind).get("_is_protocol", False))


def members(protocol: type) -> list[str]:
    """The public members that a Protocol asks for.

    >>> from fedward.aggregation import Rule
    >>> members(Rule)
    ['combine', 'least_rows']
    """
    bases = [base for base in inspect.getmro(protocol) if is_protocol(base) and base.__name__ != "Protocol"]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", {}))}
    return sorted(name for name in names if not name.startswith("_"))


def short_name(value: object) -> object:
    """A plain value as it is; of an algorithm its name, of a class or a function its own, else the class.

    >>> short_name(2.5), short_name(nn.Linear), short_name(nn.ReLU())
    (2.5, 'Linear', 'ReLU')
    """
    if isinstance(value, bool | int | float | str | list | tuple | dict | type(None)):
        return value
    if isinstance(value, Algorithm):
        return value.name
    return value.__qualname__ if inspect.isclass(value) or inspect.isfunction(value) else type(value).__name__


def describe(value: object) -> Any:
    """A part as plain values that a JSON file can hold: its class, and its fields in the same way.

    >>> from fedward.sampling import PoissonSampler
    >>> describe(PoissonSampler(rate=0.5))
    {'object': 'fedward.sampling.poisson:PoissonSampler', 'rate': 0.5}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list | frozenset | set):
        return [describe(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, dict):
        return {str(key): describe(each) for key, each in value.items()}
    if isinstance(value, Tensor):
        return {"tensor": tensor_digest(value.detach())}
    if isinstance(value, type) or inspect.isfunction(value):
        return import_path(value)
    about: dict[str, Any] = {"object": import_path(type(value))}
    if isinstance(value, Federation):
        return about  # its digest stands with the data of the run
    if isinstance(value, nn.Module):
        return about | {"layers": str(value).splitlines()}
    if dataclasses.is_dataclass(value):
        return about | {
            field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    raise InvalidValue(
        f"a part must be a dataclass, so that a run can say what it was made with, got {value!r:.100}"
    )
