"""The check that an attack on updates declares what it needs to know and what it does."""

from __future__ import annotations

from typing import get_args

from fedward.attacks.attack_types import Adaptive, Conduct, ModelPoisoning, OwnWayToTrain
from fedward.base.validate import InvalidType, one_of
from fedward.core.types import Knowledge

_REMEDIES = {"needs": "", "conduct": "; fedward.attacks.Conduct says what is asked"}


def check_declared(part: ModelPoisoning) -> None:
    """Raises in words if it leaves out what ``ModelPoisoning`` asks, or does not do what it says.

    >>> class Backwards:
    ...     needs = "own"
    >>> check_declared(Backwards())
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: conduct must be declared by Backwards, got nothing; \
fedward.attacks.Conduct says what is asked
    """
    name = type(part).__name__
    try:
        one_of(f"needs of {name}", part.needs, get_args(Knowledge))
        conduct = part.conduct
    except AttributeError as error:
        if error.name not in _REMEDIES:  # a fault inside of it
            raise
        raise InvalidType(
            f"{error.name} must be declared by {name}, got nothing{_REMEDIES[error.name]}"
        ) from error
    if not isinstance(conduct, Conduct):
        raise InvalidType(f"conduct of {name} must be a Conduct(...), got {conduct!r}")
    for says, does, method in (
        ("trains_its_own_way", OwnWayToTrain, "trainer"),
        ("adapts", Adaptive, "against"),
    ):
        said, has_it = getattr(conduct, says), isinstance(part, does)
        if said != has_it:
            has = "has a method" if has_it else "has no method"
            raise InvalidType(
                f"{says} of {name} must be True exactly if it has a method {method}, got {said} and it {has} "
                "of that name"
            )
