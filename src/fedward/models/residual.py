"""The residual block, out of two modules."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import relu


class Residual(nn.Module):
    """relu(path(x) + shortcut(x)).

    Stacks of these in ``nn.Sequential`` need no forward pass of their own, so the native engine can train
    them: it takes the block if it knows the layers of both parts.

    Args:
      path: what is learned, F in the paper.
      shortcut: the way around it, ``nn.Identity()`` where the shape stays.

    >>> block = Residual(nn.Linear(4, 4), nn.Identity())
    >>> [name for name, _ in block.named_parameters()]
    ['path.weight', 'path.bias']

    He et al., Deep residual learning for image recognition, 2016.
    """

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path = path
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        return relu(self.path(x) + self.shortcut(x))
