"""The preparation of features on public users, without their labels: whitened, embedded, of unit length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor

from fedward.base.validate import InvalidValue, non_negative, whole
from fedward.features.neighbour_graph import NeighbourGraph


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """The way from vectors to features of unit length, fitted to public users without their labels.

        z = V_r^T (f - μ) / sqrt(λ + ridge λ_1),    unit length;    with neighbours: its place on the graph

    with mean μ, covariance eigenvalues λ (largest λ_1) and the first r eigenvectors of the public examples.

    Args:
      public_users: how many users are declared public, drawn by the seed; or the names of those who are. They
        leave the federation.
      whiten: the ridge; None to leave directions as they are. Without ``whiten`` and ``rank`` only the mean
        is taken off.
      rank: r; all directions if not given.
      neighbours: of each public example on the graph that the embedding is made from; None for no embedding.
      dimensions: of the embedding.

    >>> Preparation(whiten=0.1)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: public_users must be at least 1 where features are fitted, got 0
    """

    public_users: int | tuple[int | str, ...] = 0
    whiten: float | None = None
    rank: int | None = None
    neighbours: int | None = None
    dimensions: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.public_users, tuple):
            whole("public_users", self.public_users, at_least=0)
        elif len(set(map(str, self.public_users))) < len(self.public_users):
            raise InvalidValue("public_users must be different users, got one of them twice")
        if self.whiten is not None:
            non_negative("whiten", self.whiten)
        for name in ("rank", "neighbours", "dimensions"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        if (self.neighbours is None) != (self.dimensions is None):
            raise InvalidValue(
                "neighbours and dimensions belong together (a graph, and how many coordinates it gives), got "
                f"neighbours = {self.neighbours} and dimensions = {self.dimensions}"
            )
        if self.count == 0 and self.fitted:
            raise InvalidValue("public_users must be at least 1 where features are fitted, got 0")

    @property
    def count(self) -> int:
        """How many users are public."""
        return len(self.public_users) if isinstance(self.public_users, tuple) else self.public_users

    @property
    def fitted(self) -> bool:
        """Whether anything but the mean is fitted to public users."""
        return any(each is not None for each in (self.whiten, self.rank, self.neighbours))

    def fit(self, public: Tensor) -> Fitted:
        """Fits it to the vectors of public examples, ``[n, d]``; with none of them only lengths change."""
        if not len(public):
            return Fitted(mean=torch.zeros(public.shape[1:]), directions=None, graph=None)
        mean = public.double().mean(dim=0)
        directions = None
        if self.whiten is not None or self.rank is not None:
            directions = _directions(public.double() - mean, self.whiten, self.rank)
        flat = Fitted(mean=mean.float(), directions=directions, graph=None)
        if self.neighbours is None or self.dimensions is None:
            return flat
        graph = NeighbourGraph.of(flat.apply(public), self.neighbours, self.dimensions)
        return Fitted(mean=flat.mean, directions=directions, graph=graph)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A preparation that knows its public examples: the same map for everybody."""

    mean: Tensor
    directions: Tensor | None
    graph: NeighbourGraph | None

    def apply(self, vectors: Tensor) -> Tensor:
        """The features of some examples, ``[n, d]`` of unit length; each depends on its own vector alone."""
        moved = vectors.float() - self.mean
        flat = to_unit(moved if self.directions is None else moved @ self.directions)
        return flat if self.graph is None else to_unit(self.graph.place(flat))


def to_unit(rows: Tensor) -> Tensor:
    """Every row at length 1; a row of zeros stays one."""
    unit: Tensor = rows / rows.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return unit


def _largest(covariance: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues and their eigenvectors."""
    width = len(covariance)
    if count <= width // 8:  # where few of many are wanted, all of them take a hundred times as long
        start = np.random.default_rng(0).standard_normal(width)
        found = eigsh(covariance.numpy(), k=count, which="LA", v0=start)
        values, vectors = map(torch.from_numpy, found)
    else:
        values, vectors = torch.linalg.eigh(covariance)
    order = values.argsort(descending=True)[:count]
    return values[order].clamp_min(0), vectors[:, order]


def _directions(centred: Tensor, ridge: float | None, rank: int | None) -> Tensor:
    most = min(centred.shape)
    if rank is not None and rank > most:
        raise InvalidValue(
            f"rank must be at most {most}, the number of directions of the public examples, got {rank}"
        )
    values, vectors = _largest(centred.T @ centred / len(centred), rank or most)
    # An eigenvector is one but for its sign.
    vectors = vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()
    if ridge is None:
        return vectors.float()
    # Directions without any public variance would grow without bound.
    scale = (values + ridge * values[0]).clamp_min(1e-9 * float(values[0]) + 1e-30)
    return (vectors / scale.sqrt()).float()
