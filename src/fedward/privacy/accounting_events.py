"""The events of dp_accounting, imported without the accountants of that package, and one of our own.

Importing the package imports all of its accountants, and with them most of scipy: four times what the events
and fedward's own accountant need. Whoever imports the package later gets the same classes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

_PACKAGE, _EVENTS = "dp_accounting", "dp_accounting.dp_event"


def _import_events() -> None:
    """Puts the module of events where ``import`` finds it; its package is imported by whoever names it."""
    if _PACKAGE in sys.modules or _EVENTS in sys.modules:
        return
    package = find_spec(_PACKAGE)
    spec = PathFinder.find_spec(_EVENTS, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        return  # the import below says what is missing
    module = module_from_spec(spec)
    sys.modules[_EVENTS] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_EVENTS]
        raise


_import_events()

from dp_accounting.dp_event import (  # noqa: E402
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)


@dataclass(frozen=True)
class RandomAllocationDpEvent(DpEvent):  # type: ignore[misc]
    """A whole epoch: every record is in exactly one of ``epoch`` runs of ``event``, which one is uniform.

    dp_accounting has no such event, and its accountants refuse it.
    """

    epoch: int
    event: DpEvent


__all__ = [
    "ComposedDpEvent",
    "DpEvent",
    "GaussianDpEvent",
    "NoOpDpEvent",
    "NonPrivateDpEvent",
    "PoissonSampledDpEvent",
    "RandomAllocationDpEvent",
    "SampledWithoutReplacementDpEvent",
    "SelfComposedDpEvent",
]
