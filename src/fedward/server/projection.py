"""The projection of the noisy mean on a public subspace."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedward.base.limited_files import read_limited
from fedward.base.validate import InvalidType, InvalidValue, positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerProjection:
    """Keeps of the noisy mean what lies in a public subspace: w = w + η V V^T mean.

    V holds r public directions, made orthonormal. Where the mean without noise lies in their span nothing of
    it is lost, and only r of d shares of the noise stay. Directions shorter than the model are those of each
    stretch of it, such as of each class's weights of a linear head. ``fedward.features.feature_directions``
    and ``gradient_directions`` make some, of public examples.

    Guarantee: as without it, for it looks at nothing private. Whoever the directions come from is promised
    nothing; their file stands in the guarantee and in every certificate.

    Args:
      directions: a .npy file with r rows of d numbers, whatever their lengths.
      learning_rate: η: the length of a step.
      source: the public data that they come from, in words, for the guarantee.
      source_labels: whether labels of these were used.

    Zhou, Wu and Banerjee 2021.
    """

    directions: str
    learning_rate: float = 1.0
    source: str = ""
    source_labels: bool = False

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)
        for name in ("directions", "source"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value.splitlines()) > 1:
                raise InvalidType(f"{name} must be one line of text, got {value!r}")
        if not isinstance(self.source_labels, bool):
            raise InvalidType(f"source labels must be true or false, got {self.source_labels!r}")

    @property
    def public_digest(self) -> str:
        """A digest of the file with the directions."""
        return hashlib.blake2b(self._content(), digest_size=16).hexdigest()

    @property
    def public_source(self) -> str:
        told = self.source or "data that are not named"
        return f"{told} ({Path(self.directions).name}, {self.public_digest[:12]})"

    @property
    def public_labels(self) -> bool:
        return self.source_labels

    def init(self, parameters: Tensor) -> State:
        basis = _orthonormal(self._content(), self.directions)
        if parameters.numel() % basis.shape[1]:
            raise InvalidValue(
                f"directions in {self.directions} must be as long as the model of {parameters.numel():,} "
                f"parameters, or divide it evenly, got {basis.shape[1]:,} numbers each"
            )
        # In the state, so that a training goes on with the directions it was begun with.
        return (basis,)

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        (basis,) = state
        stretches = mean.double().reshape(-1, basis.shape[1])
        kept = (stretches @ basis.T @ basis).reshape(mean.shape)
        return move_parameters(parameters, kept, self.learning_rate), state

    def _content(self) -> bytes:
        try:
            return read_limited(Path(self.directions))
        except OSError as error:
            raise InvalidValue(
                f"directions {self.directions} cannot be read: {error.strerror or error}"
            ) from error


@lru_cache(maxsize=4)
def _orthonormal(content: bytes, file: str) -> Tensor:
    """Orthonormal rows of the same span."""
    rows = _rows(content, file)
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > 1e-6 * sizes[0]  # rows may depend on each other
    return torch.from_numpy(np.ascontiguousarray(basis[kept]))


def _rows(content: bytes, file: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    try:
        rows = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged file makes numpy raise almost anything
        raise InvalidValue(
            f"directions {file} must be a .npy file, but reading it failed: {error}"
        ) from error
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or not rows.size or rows.dtype.kind != "f":
        got = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else "an archive"
        raise InvalidValue(f"directions {file} must be one table of floating point numbers, got {got}")
    if not np.isfinite(rows).all() or not rows.any():
        raise InvalidValue(f"directions {file} must be finite and not all 0")
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = rows.astype(np.float64)
    return found
