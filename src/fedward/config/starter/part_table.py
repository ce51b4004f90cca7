"""The table of one part in a starter file: its name, and all that it cannot do without."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.starter import usual_values as usual
from fedward.core.types import LocalTrainer
from fedward.local import DPSGD, SGD
from fedward.presets import PRESETS


def part(name: str, factory: Callable[..., Any], tag: str, supplied: tuple[str, ...]) -> dict[str, Any]:
    """The table; ``supplied`` are arguments that files need not give."""
    hints, own = typing.get_type_hints(factory), usual.OWN.get(name, {})
    parameters = inspect.signature(factory).parameters
    found: dict[str, Any] = {tag: name}
    for key, parameter in parameters.items():
        if key in supplied:
            continue
        # Where a policy may stand in its place the bound has no default, but one of them must be there.
        needed = parameter.default is inspect.Parameter.empty or (key == "clip_bound" and "policy" in hints)
        if key in own:
            found[key] = own[key]
        elif needed and hints[key] in (LocalTrainer, SGD):
            found[key] = usual.SGD
        elif needed and hints[key] is DPSGD:
            found[key] = usual.DP_SGD
        elif needed and key in usual.USUAL:
            found[key] = usual.USUAL[key]
        elif needed:
            raise InvalidValue(f"a starter has no usual value for {key} of {name}")
    return found


def private(preset: str) -> bool:
    """Whether users of this preset protect their own examples."""
    return typing.get_type_hints(PRESETS[preset]).get("local") is DPSGD
