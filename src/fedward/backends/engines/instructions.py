"""The instruction set that this process computes with, and whether it is the one that was asked for."""

from __future__ import annotations

import os

import torch

from fedward.backends.engines.native import available, instruction_set
from fedward.base.instruction_sets import ENVIRONMENTS, INSTRUCTIONS
from fedward.base.validate import InvalidValue


def pin_instructions(name: str) -> None:
    """Holds this process to an instruction set; refused where torch has begun with another.

    What is set after torch was imported reaches the native engine alone: the command line sets it before
    (``--instructions``), and in Python it has to be in the environment.
    """
    os.environ[INSTRUCTIONS] = ENVIRONMENTS[name][INSTRUCTIONS]
    if available():
        instruction_set()  # raises where this processor does not have it
    here, wanted = capability(), ENVIRONMENTS[name]["ATEN_CPU_CAPABILITY"]
    if here != wanted:
        setting = " ".join(f"{key}={value!r}" for key, value in ENVIRONMENTS[name].items())
        raise InvalidValue(
            f"instructions must be set before torch is imported, got {name} where torch uses {here}: on the "
            f"command line give --instructions {name}; in Python start with {setting}"
        )


def capability() -> str:
    """What torch computes with: default, avx2 or avx512; other processors have other names.

    >>> capability() == torch.backends.cpu.get_cpu_capability().lower()
    True
    """
    return str(torch.backends.cpu.get_cpu_capability()).lower()
