"""Examples in one anonymous file that many processes map, and nobody can leave behind."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fedward.backends.processes.worker_buffers import examples_of, lay_out, store, tensors_of, unpack
from fedward.core.examples import Examples


def anonymous_file(size: int) -> int:
    """The descriptor of a file without a name, gone with the last process that has it open or mapped."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("fedward")
        os.truncate(file, size)
        return file
    file, path = tempfile.mkstemp(prefix="fedward-")
    os.unlink(path)
    try:
        # Room is taken now: a full disk is an error here, and would be a crash when the mapping is written.
        # Not so in memory, where taking it is what ends processes if there is too little.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
        else:
            os.truncate(file, size)
    except OSError:
        os.close(file)
        raise
    return file


class SharedData:
    """Copies examples, and a note of any kind, to where other processes can map them.

    Everything is aligned to 64 bytes. The processes share the pages; one that writes into its examples gets
    its own copy of the page, so that it harms nobody else.

    Args:
      examples: flat or ragged.
      note: pickled; ``attach`` gives it back.
    """

    def __init__(self, examples: Sequence[Examples], note: Any) -> None:
        tensors = [tensors_of(each) for each in examples]
        places, size = lay_out(tensor for each in tensors for tensor in each)
        written = pickle.dumps((places, [len(each) for each in tensors], note))
        self.size = size + len(written)
        self.where = (size, self.size)
        self.file = anonymous_file(self.size)
        try:
            block = _block(mmap.mmap(self.file, self.size))
            store((tensor for each in tensors for tensor in each), places, block)
            os.pwrite(self.file, written, size)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets go of the file; those who have mapped it keep it."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)


def attach(file: int, where: Sequence[int]) -> tuple[list[Examples], Any]:
    """The examples and the note of a ``SharedData``, from its ``file`` and ``where``."""
    start, end = where
    mapped = mmap.mmap(file, end, access=mmap.ACCESS_COPY)
    places, counts, note = pickle.loads(mapped[start:end])
    tensors = iter(unpack(_block(mapped), places))
    return [examples_of([next(tensors) for _ in range(count)]) for count in counts], note


def _block(mapped: mmap.mmap) -> Tensor:
    # The tensor keeps the mapping alive.
    return torch.frombuffer(mapped, dtype=torch.uint8)
