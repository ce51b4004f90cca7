"""The check that an attack on updates declares what it needs to know and how it behaves."""

from __future__ import annotations

from typing import get_args

from fedward.attacks.attack_types import ModelPoisoning
from fedward.base.validate import InvalidType, one_of
from fedward.core.types import Knowledge

_BY_DEFAULT = "; a class that inherits from fedward.attacks.ModelPoisoningDefaults says False"
_REMEDIES = {
    "needs": "",
    "needs_all_rows": "",
    "discards_update": _BY_DEFAULT,
    "trains_its_own_way": _BY_DEFAULT,
    "skips_local_privacy": _BY_DEFAULT,
}


def check_declared(part: ModelPoisoning) -> None:
    """Raises in words if it leaves out what ``ModelPoisoning`` asks, or answers with neither yes nor no.

    >>> class Backwards:
    ...     needs, needs_all_rows = "own", False
    >>> check_declared(Backwards())
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: discards_update must be declared by Backwards, got nothing; a class \
that inherits from fedward.attacks.ModelPoisoningDefaults says False
    """
    name = type(part).__name__
    try:
        one_of(f"needs of {name}", part.needs, get_args(Knowledge))
        answers = {
            "needs_all_rows": part.needs_all_rows,
            "discards_update": part.discards_update,
            "trains_its_own_way": part.trains_its_own_way,
            "skips_local_privacy": part.skips_local_privacy,
        }
    except AttributeError as error:
        if error.name not in _REMEDIES:  # a fault inside of it
            raise
        raise InvalidType(
            f"{error.name} must be declared by {name}, got nothing{_REMEDIES[error.name]}"
        ) from error
    for flag, value in answers.items():
        if not isinstance(value, bool):
            raise InvalidType(f"{flag} of {name} must be True or False, got {value!r}{_REMEDIES[flag]}")
