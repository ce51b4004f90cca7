"""Instruction sets that all libraries of a process can be held to, by environment variables."""

from __future__ import annotations

import os
import sys

INSTRUCTIONS = "FEDWARD_INSTRUCTIONS"
"""The environment variable that names the native engine's; the widest that there is if it is not set."""

# The names of older versions of numpy and of newer ones; it passes over those that it does not know.
_NUMPY_512 = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "avx512": {
        INSTRUCTIONS: "avx512",
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_CBWR": "AVX512",
    },
    "avx2": {
        INSTRUCTIONS: "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_CBWR": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": _NUMPY_512,
    },
    "portable": {
        INSTRUCTIONS: "portable",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 AVX2 FMA3 {_NUMPY_512}",
    },
}
"""Of each instruction set the variables that hold the libraries to it; they are read when torch starts."""


def set_environment(name: str) -> None:
    """Sets them for this process and all that it starts, where torch has not been imported yet."""
    if name in ENVIRONMENTS and "torch" not in sys.modules:
        os.environ.update(ENVIRONMENTS[name])
