"""Values as bytes and arrays: they lie in the object store once a node, and are read where they lie."""

from __future__ import annotations

import io
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.processes.worker_buffers import Kind, allocate_tensors, pack_tensors

_Bytes = NDArray[np.uint8]


class Shipped(NamedTuple):
    """A value without its tensors, and their bytes."""

    pickled: bytes
    tensors: list[_Bytes]


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Keeps the bytes of tensors apart."""

    def __init__(self, file: io.BytesIO) -> None:
        self.tensors: list[_Bytes] = []
        super().__init__(file, protocol=5, buffer_callback=lambda buffer: self._keep(buffer))

    def _keep(self, buffer: pickle.PickleBuffer) -> None:
        self.tensors.append(np.frombuffer(buffer.raw(), dtype=np.uint8))

    def reducer_override(self, value: Any) -> Any:
        # Their own classes reduce to plain tensors, which come by here again.
        if type(value) is Tensor and _is_usual(value):
            (kind,), (content,) = pack_tensors([value])
            return _tensor, (tuple(kind), pickle.PickleBuffer(content.data), value.requires_grad)
        return super().reducer_override(value)


def ship(value: Any) -> Shipped:
    """What goes to another machine. Modules of the user's own go with it: they are not installed there."""
    try:
        with _by_value(_own_modules()):
            return _ship(value)
    except Exception:
        return _ship(value)  # something of such a module cannot be pickled: then it has to be there


def unship(shipped: Shipped) -> Any:
    """The value; its tensors are copies, aligned as torch's own and free to be written to."""
    return pickle.loads(shipped.pickled, buffers=shipped.tensors)


def _ship(value: Any) -> Shipped:
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return Shipped(file.getvalue(), pickler.tensors)


def _is_usual(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized


def _tensor(kind: tuple[Any, ...], content: Any, requires_grad: bool) -> Tensor:
    (tensor,), (memory,) = allocate_tensors([Kind(*kind)])
    memory[:] = np.frombuffer(content, dtype=np.uint8)
    return tensor.requires_grad_() if requires_grad else tensor


def _own_modules() -> list[ModuleType]:
    """Modules that no package of an environment brought: those of scripts, notebooks and experiments."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {str(Path(__file__).parents[2]), sys.prefix}
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str) or not file.endswith(".py"):
            continue
        if not any(file.startswith(f"{place}/") for place in places):
            found.append(module)
    return found


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    known = cloudpickle.list_registry_pickle_by_value()
    new = [module for module in modules if module.__name__ not in known]
    try:
        for module in new:
            cloudpickle.register_pickle_by_value(module)
        yield
    finally:
        for module in new:
            if module.__name__ in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.unregister_pickle_by_value(module)
