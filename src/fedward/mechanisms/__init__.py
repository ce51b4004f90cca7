"""Mechanisms: what turns a clipped aggregate into a private one."""

from __future__ import annotations

from fedward.core.types import Noise
from fedward.mechanisms.gaussian import GaussianNoise
from fedward.mechanisms.no_noise import NoNoise

NOISES: dict[str, type[Noise]] = {
    "gaussian": GaussianNoise,
    "none": NoNoise,
}

__all__ = ["NOISES", "GaussianNoise", "NoNoise"]
