"""Calls that must give the same bits again, change nothing that they are given, and use no global chance."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary
from fedward.testing.conformance import broken

Result = TypeVar("Result")


def require_repeatable(call: Callable[[], Result], what: str, *inputs: Any) -> Result:
    """The result of ``call``, which is made three times.

    It must leave the global generators of ``random``, numpy and torch alone, and give the same bits each
    time: twice with the same and once with another state of those generators. Nothing may be written to
    ``inputs``.
    """
    results = []
    for seed in (1, 1, 2):
        with _global_generators(seed):
            before = _global_states()
            with left_alone(what, *inputs):
                results.append(call())
            for name, state in _global_states().items():
                if state != before[name]:
                    broken(
                        f"{what} changed the state of the global generator of {name}",
                        "Draw from the generator that is given, or from one of its own, and "
                        "never seed or use "
                        "the global one",
                    )
    first, again, elsewhere = results
    if not same_bits(first, again):
        broken(
            f"{what} gave {in_short(first)} and then {in_short(again)} for the same inputs",
            "Draw all chance from the generator that is given, sum in a fixed order, and keep nothing from "
            "call to call",
        )
    if not same_bits(first, elsewhere):
        broken(
            f"{what} gave {in_short(first)} and, with another state of the global generators, "
            f"{in_short(elsewhere)}",
            "Draw all chance from the generator that is given",
        )
    return first


@contextmanager
def left_alone(what: str, *inputs: Any) -> Iterator[None]:
    """Requires that nothing within is written to these inputs."""
    before = copy.deepcopy(inputs)
    yield
    for given, kept in zip(inputs, before, strict=True):
        if not same_bits(given, kept):
            broken(
                f"{what} changed its input in place, from {in_short(kept)} to {in_short(given)}",
                "Work on a copy: x.clone()",
            )


def same_bits(a: Any, b: Any) -> bool:
    """Whether two results are the same to the last bit; NaN is like NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        return bool(a.dtype == b.dtype and a.shape == b.shape and _bytes(a) == _bytes(b))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if isinstance(a, Ragged | Examples | Federation | Vocabulary):
        return same_bits(vars(a), vars(b))
    if isinstance(a, nn.Module):
        return same_bits(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    return bool(a == b)


def in_short(value: Any) -> str:
    """A value in at most one line."""
    if isinstance(value, Tensor | np.ndarray):
        numbers = value.flatten().tolist()
        shown = ", ".join(f"{each:.6g}" if isinstance(each, float) else str(each) for each in numbers[:4])
        return f"[{shown}{', ...' if len(numbers) > 4 else ''}] of shape {tuple(value.shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else text[:117] + "..."


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().tobytes()


def _global_states() -> dict[str, Any]:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  # it is the global state that is looked at
    return {
        "random": random.getstate(),
        "numpy": (kind, np.asarray(keys).tobytes(), *rest),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }


@contextmanager
def _global_generators(seed: int) -> Iterator[None]:
    """The global generators in a known state; afterwards they are as they were."""
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.default_generator.manual_seed(seed)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(pytorch)
