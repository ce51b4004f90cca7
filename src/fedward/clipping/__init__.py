"""Norms, which measure updates, and clip policies, which set the bound to clip to: one policy a file."""

from __future__ import annotations

from fedward.clipping.fixed import FixedBound, NoClipping
from fedward.clipping.histogram_median import HistogramMedian
from fedward.clipping.norm_decay import ClipNormDecay
from fedward.clipping.norms import FlatNorm, PerLayerNorm
from fedward.clipping.polynomial import PolynomialDecay
from fedward.clipping.quantile import Quantile
from fedward.clipping.raw_median import RawMedian
from fedward.core.types import ClipPolicy

CLIP_POLICIES: dict[str, type[ClipPolicy]] = {
    "fixed": FixedBound,
    "none": NoClipping,
    "polynomial": PolynomialDecay,
    "norm_decay": ClipNormDecay,
    "quantile": Quantile,
    "histogram_median": HistogramMedian,
    "raw_median": RawMedian,
}
"""The clip policies, by the names that experiment files use."""

__all__ = [
    "CLIP_POLICIES",
    "ClipNormDecay",
    "FixedBound",
    "FlatNorm",
    "HistogramMedian",
    "NoClipping",
    "PerLayerNorm",
    "PolynomialDecay",
    "Quantile",
    "RawMedian",
]
