"""Caveats: what every reader of a guarantee must know besides."""

from __future__ import annotations

from dataclasses import replace

from fedward.privacy.guarantee import Guarantee

WEIGHTS = "the initial weights"


def add_caveat(guarantee: Guarantee, more: str) -> Guarantee:
    """The guarantee with one more caveat; as it is if there is none, or it has that already."""
    already = more in guarantee.caveat or (more.startswith(WEIGHTS) and WEIGHTS in guarantee.caveat)
    if already or not guarantee.private:
        return guarantee
    return replace(guarantee, caveat="; ".join(filter(None, (guarantee.caveat, more))))
