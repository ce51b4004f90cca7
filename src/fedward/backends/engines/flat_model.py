"""Flat modules that torch computes correctly."""

from __future__ import annotations

from torch import nn

from fedward.backends.engines.single_columns import avoid_overread
from fedward.backends.engines.strided_points import avoid_overrun
from fedward.core.parameters import FlatModule


def flat_model(module: nn.Module) -> FlatModule:
    """The module with flat parameters, and with a way around each fault of torch that fedward knows of.

    Engines make theirs here: ``FlatModule`` by itself knows nothing of such faults. The module is changed.
    """
    avoid_overrun(module)
    avoid_overread(module)
    return FlatModule(module)
