"""Switches of torch that decide over last bits, so that worker processes set theirs as their parent's are."""

from __future__ import annotations

from typing import Any

import torch


def switches() -> dict[str, Any]:
    """How they are set in this process.

    >>> sorted(switches())
    ['denormals', 'deterministic', 'dtype', 'mkldnn', 'precision', 'warn_only']
    """
    return {
        "dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        # torch does not say, but it can be seen: half of the smallest normal number is none.
        "denormals": float(torch.tensor(torch.finfo(torch.float32).tiny, dtype=torch.float32) / 2) != 0,
    }


def switch(to: dict[str, Any]) -> None:
    """Sets them as another process said."""
    torch.set_default_dtype(getattr(torch, to["dtype"]))
    torch.set_float32_matmul_precision(to["precision"])
    torch.backends.mkldnn.enabled = to["mkldnn"]
    torch.use_deterministic_algorithms(to["deterministic"], warn_only=to["warn_only"])
    torch.set_flush_denormal(not to["denormals"])
