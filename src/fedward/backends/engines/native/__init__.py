"""The native engine: small convolutional networks trained in C++, as fast as the processor allows."""

from __future__ import annotations

from fedward.backends.engines.native.compiled import Native, available, instruction_set, why_not

__all__ = ["Native", "available", "instruction_set", "why_not"]
