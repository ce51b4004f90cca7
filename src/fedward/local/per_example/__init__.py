"""Gradients of single examples: clipped and summed, layer by layer where a rule is known."""

from __future__ import annotations

from fedward.local.per_example.gradient_sum import ClipsItself, clipped_sum, examine
from fedward.local.per_example.rules import RULES
from fedward.local.per_example.separable import check_separable

__all__ = ["RULES", "ClipsItself", "check_separable", "clipped_sum", "examine"]
