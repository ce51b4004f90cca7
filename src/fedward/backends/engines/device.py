"""The device that the generic engine computes on, such as a processor or a graphics card."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged


def usable_device(name: str | torch.device) -> torch.device:
    """The device of that name, if torch can compute on it here.

    >>> usable_device("cpu")
    device(type='cpu')
    >>> usable_device("gpu")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: device must be one that torch knows, such as cpu or cuda, got 'gpu'
    """
    if not isinstance(name, (str, torch.device)):
        raise InvalidType(f"device must be a name such as cpu or cuda, got {name!r}")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidValue(
            f"device must be one that torch knows, such as cpu or cuda, got {name!r}"
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidValue(f"device {device} is not available here: torch sees no CUDA; use cpu")
    try:
        tried = torch.ones(1, device=device)
        tried.cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise InvalidValue(f"device {device} is not available here: {why}; use cpu") from None
    return tried.device  # with its number, as tensors have it


def move_examples(examples: Examples, device: torch.device) -> Examples:
    """The examples on that device; the same object if they are there already."""
    x, y = examples.x, examples.y
    values = x.values if isinstance(x, Ragged) else x
    if values.device == device and y.device == device:
        return examples
    there = Ragged(x.values.to(device), x.offsets.to(device)) if isinstance(x, Ragged) else x.to(device)
    return Examples(there, y.to(device))


@contextmanager
def own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Within it torch's global generators are those of ``seed``; afterwards they are as they were.

    Dropout and the like draw from them. (``torch.random.fork_rng`` with ``torch.manual_seed`` does the same
    and takes 0.2 ms, half as long as a small job.)
    """
    generators = [torch.default_generator]
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        generators.append(torch.cuda.default_generators[index])
    before = [generator.get_state() for generator in generators]
    try:
        for generator in generators:
            generator.manual_seed(seed % 2**64)
        yield
    finally:
        for generator, state in zip(generators, before, strict=True):
            generator.set_state(state)
