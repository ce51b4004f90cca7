"""How updates are measured (norms) and to which bound they are clipped (policies): one policy a file."""

from __future__ import annotations

from fedward.clipping.fixed import FixedBound, NoClipping
from fedward.clipping.norms import FlatNorm
from fedward.core.types import ClipPolicy

CLIP_POLICIES: dict[str, type[ClipPolicy]] = {
    "fixed": FixedBound,
    "none": NoClipping,
}

__all__ = ["CLIP_POLICIES", "FixedBound", "FlatNorm", "NoClipping"]
