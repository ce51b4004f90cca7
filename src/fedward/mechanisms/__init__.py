"""Mechanisms: what turns a clipped aggregate into a private one."""

from __future__ import annotations

from fedward.core.types import Mechanism
from fedward.mechanisms.gaussian import GaussianNoise
from fedward.mechanisms.no_noise import NoNoise

MECHANISMS: dict[str, type[Mechanism]] = {
    "gaussian": GaussianNoise,
    "none": NoNoise,
}
"""The mechanisms, by the names that experiment files use."""

__all__ = ["MECHANISMS", "GaussianNoise", "NoNoise"]
