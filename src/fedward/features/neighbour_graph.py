"""The spectral embedding of public examples: coordinates in which groups of neighbours lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import eigsh
from torch import Tensor

from fedward.base.validate import InvalidValue

# So many examples at a time are compared with all public ones.
_BLOCK = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourGraph:
    """A graph of nearest public neighbours, and where each of them lies in its slowest vibrations.

        w_ij = exp(-2 d_ij² / d_ik²) for the k nearest j of i, made symmetric    D = diag(Σ_j w_ij)
        E = D^-1/2 times the eigenvectors of D^-1/2 W D^-1/2 with the largest eigenvalues, but the first
        place(x) = Σ_j w_xj E_j / Σ_j w_xj over the k nearest public j of x, less the mean of these

    No label is used. Where classes are groups that hang together, their examples lie in almost orthogonal
    directions, and certificates live on that angle.

    Args:
      public: the vectors of the public examples.
      coordinates: E, ``[public, dimensions]``, each of mean square 1.
      neighbours: k.
      centre: the mean place of the public examples.

    >>> noise = 0.01 * torch.randn(60, 3, generator=torch.manual_seed(0))
    >>> corners = torch.eye(3).repeat_interleave(20, 0) + noise
    >>> places = NeighbourGraph.of(corners, neighbours=25, dimensions=2).place(corners)
    >>> bool(torch.cdist(places[:20], places[:20]).max() < torch.cdist(places[:20], places[20:]).min())
    True

    Belkin and Niyogi 2003; the extension to new examples is that of Bengio et al. 2004.
    """

    public: Tensor
    coordinates: Tensor
    neighbours: int
    centre: Tensor

    @classmethod
    def of(cls, public: Tensor, neighbours: int, dimensions: int) -> NeighbourGraph:
        """The graph of some public examples."""
        n = len(public)
        if n <= max(neighbours, dimensions + 2):
            raise InvalidValue(
                f"neighbours and dimensions must be below the number of public examples, {n}, got "
                f"{neighbours} and {dimensions}"
            )
        near, weights = _nearest(public, public, neighbours + 1)
        rows = np.repeat(np.arange(n), neighbours + 1)
        w = csr_matrix((weights.double().numpy().ravel(), (rows, near.numpy().ravel())), shape=(n, n))
        w = (w + w.T) / 2
        root = 1.0 / np.sqrt(np.asarray(w.sum(axis=1)).ravel())
        # A start of its own would come from a global generator.
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(diags(root) @ w @ diags(root), k=dimensions + 1, which="LA", v0=start)
        order = np.argsort(values)[::-1][1:]
        found = vectors[:, order] * root[:, None]
        found /= np.sqrt((found**2).mean(axis=0))
        found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(dimensions)])
        coordinates = torch.from_numpy(np.ascontiguousarray(found)).float()
        graph = cls(
            public=public, coordinates=coordinates, neighbours=neighbours, centre=torch.zeros(dimensions)
        )
        return cls(
            public=public,
            coordinates=coordinates,
            neighbours=neighbours,
            centre=graph.place(public).mean(dim=0),
        )

    def place(self, vectors: Tensor) -> Tensor:
        """The coordinates of any examples, from those of their nearest public ones."""
        near, weights = _nearest(vectors, self.public, self.neighbours)
        weights = weights / weights.sum(dim=1, keepdim=True)
        return (weights.unsqueeze(2) * self.coordinates[near]).sum(dim=1) - self.centre


def _nearest(vectors: Tensor, public: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k nearest public examples of each, and their weights."""
    places, weights = [], []
    for start in range(0, len(vectors), _BLOCK):
        distances, near = torch.cdist(vectors[start : start + _BLOCK], public).topk(k, largest=False)
        places.append(near)
        weights.append(torch.exp(-2.0 * (distances / distances[:, -1:].clamp_min(1e-12)) ** 2))
    return torch.cat(places), torch.cat(weights)
