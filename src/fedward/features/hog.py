"""Histograms of oriented gradients: which way the edges run in each cell of a picture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary

# So many pictures at a time: their gradients stay in the processor's cache, and threads share them out.
_BLOCK = 500


@dataclass(frozen=True, kw_only=True)
class HOG:
    """Histograms of oriented gradients, with signed angles and soft bins, fitted to no data.

        h[cell, bin] = sqrt(Σ_cell |∇x| · share of the angle of ∇x in the bin),    unit length

    Gradients are differences of the two neighbours; every cell also takes half of what its upper and its left
    neighbour have. A picture of several channels has one histogram for each.

    Args:
      cells: how many cells a side has; pixels that do not fill them evenly are left out at the far edges.
      bins: into how many directions a full turn is divided.

    >>> HOG(cells=2, bins=4).compute(torch.rand(3, 1, 8, 8), None).shape
    torch.Size([3, 16])

    Dalal and Triggs 2005.
    """

    cells: int = 7
    bins: int = 8

    source: ClassVar[str] = ""
    source_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("cells", self.cells)
        whole("bins", self.bins, at_least=2)

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        if isinstance(x, Ragged) or x.ndim != 4 or min(x.shape[2:]) < self.cells:
            shape = "sequences" if isinstance(x, Ragged) else f"shape {tuple(x.shape[1:])}"
            raise InvalidValue(
                f"examples must be pictures of at least {self.cells} x {self.cells} pixels for hog, got "
                f"{shape}"
            )
        pictures = x.float().numpy()
        blocks = [pictures[start : start + _BLOCK] for start in range(0, len(pictures), _BLOCK)]
        with ThreadPoolExecutor(cpu_count() or 1) as threads:
            found = list(threads.map(self._histograms, blocks))
        return torch.from_numpy(np.concatenate(found)) if found else torch.zeros(0, 0)

    def _histograms(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        across, down = np.zeros_like(x), np.zeros_like(x)
        across[..., 1:-1] = x[..., 2:] - x[..., :-2]
        down[..., 1:-1, :] = x[..., 2:, :] - x[..., :-2, :]
        size = np.hypot(across, down)
        place = np.arctan2(down, across) % (2 * np.pi) / (2 * np.pi) * self.bins
        first = np.floor(place)
        share = place - first
        first = first.astype(np.int64) % self.bins
        n, channels, height, width = x.shape
        c, rows, columns = self.cells, height // self.cells, width // self.cells
        histograms = np.zeros((n, channels, c, c, self.bins), dtype=np.float32)
        for b in range(self.bins):
            part = size * ((first == b) * (1 - share) + ((first + 1) % self.bins == b) * share)
            inside = part[..., : c * rows, : c * columns].reshape(n, channels, c, rows, c, columns)
            histograms[..., b] = inside.sum(axis=(3, 5))
        histograms[:, :, 1:] += 0.5 * histograms[:, :, :-1].copy()
        histograms[:, :, :, 1:] += 0.5 * histograms[:, :, :, :-1].copy()
        flat = np.sqrt(histograms).reshape(n, -1)
        length = np.linalg.norm(flat, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (flat / np.maximum(length, 1e-12)).astype(np.float32)
        return unit
