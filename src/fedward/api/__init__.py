"""The Python interface to what the commands do: ``fedward.train``, ``certify`` and ``load``."""

from __future__ import annotations

from fedward.api.certify_api import certify
from fedward.api.load_api import load
from fedward.api.train_api import train

__all__ = ["certify", "load", "train"]
