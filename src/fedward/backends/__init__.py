"""Where jobs run."""

from __future__ import annotations

from fedward.backends.evaluation import Metrics, evaluate
from fedward.backends.in_process import InProcess

__all__ = ["InProcess", "Metrics", "evaluate"]
