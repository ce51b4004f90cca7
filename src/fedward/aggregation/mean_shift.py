"""Mean shift with a flat kernel, for few points of few features."""

from __future__ import annotations

import torch
from torch import Tensor

_MOST_STEPS = 300


def largest_cluster(points: Tensor) -> list[int]:
    """The places of the points in the largest cluster of a mean shift, ascending.

        c ← mean of the points within h of c,    from every point, until c moves by at most h/1000

    h is ``bandwidth(points)``. Of ends nearer to each other than h the one with more points within h stays
    (the earlier of equal ones), and every point belongs to the nearest of those that stay.

    >>> largest_cluster(torch.tensor([[0.0], [0.1], [0.2], [9.0]], dtype=torch.float64))
    [0, 1, 2]
    """
    reach = bandwidth(points)
    ends = torch.stack([_shift(point, points, reach) for point in points])
    weight = (torch.cdist(ends, points) <= reach).sum(1)
    order = torch.argsort(weight, descending=True, stable=True).tolist()
    centres: list[Tensor] = []
    for i in order:
        if all(float(torch.linalg.vector_norm(ends[i] - centre)) > reach for centre in centres):
            centres.append(ends[i])
    label = torch.cdist(points, torch.stack(centres)).argmin(1)
    return torch.nonzero(label == torch.bincount(label).argmax()).flatten().tolist()


def bandwidth(points: Tensor) -> float:
    """The mean, over the points, of the distance within which half of them lie, itself among them."""
    nearest = max(1, len(points) // 2)
    return float(torch.cdist(points, points).sort(1).values[:, nearest - 1].mean())


def _shift(start: Tensor, points: Tensor, reach: float) -> Tensor:
    centre = start
    for _ in range(_MOST_STEPS):
        away = torch.linalg.vector_norm(points - centre, dim=1)
        moved = points[away <= reach].mean(0) if bool((away <= reach).any()) else centre
        if float(torch.linalg.vector_norm(moved - centre)) <= 1e-3 * reach:
            return moved
        centre = moved
    return centre
