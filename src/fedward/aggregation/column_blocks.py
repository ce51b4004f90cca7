"""Blocks of columns of all rows, worked on one by one or side by side, with the same bits either way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from fedward.base.one_thread import single_threaded

# So many columns of all rows are worked on at a time: [n, d] is never copied to double precision as a whole.
_BLOCK = 1 << 13

_NOTHING = torch.empty(0)


def of_blocks(
    rows: list[Tensor],
    compute: Callable[[Tensor], Tensor],
    *,
    double: bool = True,
    into: Tensor | None = None,
    shift: Tensor | None = None,
) -> list[Tensor]:
    """What ``compute`` makes of each block [n, c], in their order.

    Every block is computed by one thread, several blocks at a time where torch has several: so no result
    depends on how many there are.

    Args:
      double: whether blocks come in double precision, or as the rows are.
      into: where what is made of each block is written, [.., d]; then nothing is returned.
      shift: a vector that is added to every row first; blocks are in double precision then.
    """
    starts = range(0, len(rows[0]), _BLOCK)

    def run(start: int) -> Tensor:
        block = torch.stack([row[start : start + _BLOCK] for row in rows])
        if double or shift is not None:
            block = block.double()
        if shift is not None:
            block = block + shift[start : start + _BLOCK]
        found = compute(block)
        if into is None:
            return found
        into[..., start : start + _BLOCK] = found
        return _NOTHING

    threads = min(torch.get_num_threads(), len(starts))
    with single_threaded():
        if threads < 2:
            return [run(start) for start in starts]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(run, starts))


def sorted_columns(block: Tensor) -> Tensor:
    """The block in double precision with every column ascending.

    >>> sorted_columns(torch.tensor([[2.0, 5.0], [1.0, 7.0]])).tolist()
    [[1.0, 5.0], [2.0, 7.0]]
    """
    if block.device.type != "cpu":
        return torch.sort(block, dim=0).values.double()
    # NumPy sorts short runs that lie in one piece sixty times as fast as torch sorts columns.
    ascending = np.sort(block.T.contiguous().numpy(), axis=1)
    return torch.from_numpy(ascending).T.double().contiguous()
