"""The type of a rule: per-example gradients of one kind of layer, computed for a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

# A chunk of per-example products of this many numbers stays in a core's cache.
_CHUNK = 2**19


class SquaredNorms(NamedTuple):
    """Squared norms of each example's gradient of one layer, in double precision, shape [batch].

    ``gross`` is what ``net`` would be if nothing in the gradient cancelled. Rounding is proportional to its
    root, and so is what clipping sets aside for it.
    """

    net: Tensor
    gross: Tensor


@dataclass(frozen=True, kw_only=True)
class Rule:
    """How per-example gradients of one kind of layer follow from its input and its output's gradient.

    Args:
      fits: (layer, input) -> whether the rule is exact for this layer and this input.
      norms: (layer, input, gradient of the output) -> the norm of each example's gradient.
      weighted_sum: (layer, input, gradient of the output, one weight an example) -> the weighted sum of the
        examples' gradients, by the parameter's name; trainable parameters only.
    """

    fits: Callable[[Any, Tensor], bool]
    norms: Callable[[Any, Tensor, Tensor], SquaredNorms]
    weighted_sum: Callable[[Any, Tensor, Tensor, Tensor], dict[str, Tensor]]


def chunks(batch: int, numbers: int) -> Iterator[slice]:
    """Slices of a batch for work that needs so many numbers for each example.

    >>> list(chunks(3, 2**18))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = max(1, _CHUNK // max(1, numbers))
    for start in range(0, batch, step):
        yield slice(start, start + step)


def weigh(gradient: Tensor, weights: Tensor) -> Tensor:
    """The gradient with each example's part multiplied by its weight, in double precision to be summed."""
    shape = (-1,) + (1,) * (gradient.ndim - 1)
    return gradient * weights.view(shape)
