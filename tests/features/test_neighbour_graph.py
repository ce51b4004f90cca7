from __future__ import annotations

import torch

from fedward.features.neighbour_graph import NeighbourGraph


def moons(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two half circles in each other: no line parts them, and the way along each is unbroken."""
    generator = torch.Generator().manual_seed(count)
    turn, which = torch.pi * torch.rand(count, generator=generator), torch.arange(count) % 2
    x = torch.where(which == 0, torch.cos(turn), 1 - torch.cos(turn))
    y = torch.where(which == 0, torch.sin(turn), 0.5 - torch.sin(turn))
    noise = 0.03 * torch.randn(count, 2, generator=generator)
    return torch.stack([x, y], dim=1) + noise, which


def test_groups_that_hang_together_lie_on_opposite_sides_also_for_new_examples() -> None:
    public, _ = moons(600)
    graph = NeighbourGraph.of(public, neighbours=8, dimensions=1)
    new, which = moons(201)
    side = graph.place(new)[:, 0] > 0
    right = float((side == (which == 0)).float().mean())
    assert max(right, 1 - right) > 0.98


def test_the_same_public_examples_give_the_same_bits_whatever_was_drawn_before() -> None:
    public, _ = moons(200)
    first = NeighbourGraph.of(public, neighbours=6, dimensions=3).coordinates
    torch.rand(3)
    assert torch.equal(first, NeighbourGraph.of(public, neighbours=6, dimensions=3).coordinates)
