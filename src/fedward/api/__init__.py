"""The Python interface to what the commands do: ``fedward.train``, ``certify`` and ``load``."""

from __future__ import annotations

from fedward.api.certify import certify
from fedward.api.load import load
from fedward.api.train import train

__all__ = ["certify", "load", "train"]
