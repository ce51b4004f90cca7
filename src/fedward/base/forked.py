"""One thread for torch in a process that was forked.

The threads of OpenMP stay behind in the parent. A child that computes with several would wait for them for
ever, at its first sum: in a data set, long before a training.
"""

from __future__ import annotations

import os

import torch


def use_one_thread_after_a_fork() -> None:
    """From now on processes that are forked from this one compute with one thread of torch."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
