"""The check that refuses models in which one example's gradient depends on another example."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidValue
from fedward.core.check import refuse_batch_norm

_Outputs = list[tuple[str, nn.Module, Tensor]]


def check_separable(module: nn.Module, x: Tensor) -> None:
    """Raises with the name of a layer that mixes examples or remembers them from one batch to the next.

    Clipping each example's gradient bounds its influence only if it shows in no other example's gradient. The
    model is tried, as a copy and with the same random numbers each time, on the first example beside several
    others, alone, and after other batches. That finds what happens on these examples, so it is a net and not
    a proof. Dropout is fine.

    Args:
      module: the model.
      x: one or more examples.

    >>> check_separable(nn.Sequential(nn.Linear(2, 2), nn.Dropout()), torch.randn(2, 2))
    >>> mixed = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=0))
    >>> check_separable(mixed, torch.randn(2, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: layer 1 is Softmax, which is refused under differential privacy: ...
    """
    refuse_batch_norm(module)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        pairs = [torch.cat([x[:1], other]) for other in _others(x)]
        for first, second in itertools.pairwise(pairs):
            _refuse_memory(module, first, second)
            _refuse_difference(_run(module, first), _run(module, second))
        for training in (True, False):
            if _repeatable(module, pairs[0], training):
                alone = _run(module, x[:1], training=training)
                _refuse_difference(alone, _run(module, pairs[0], training=training))


def _others(x: Tensor) -> Iterator[Tensor]:
    """Examples to stand beside the first one: at least one of them differs from it."""
    yield x[:1]
    yield torch.zeros_like(x[:1])
    yield x[-1:]
    yield x[:1] * 2 + 1 if x.is_floating_point() else x[:1].flip(-1)


def _run(module: nn.Module, *batches: Tensor, seed: int = 0, training: bool = True) -> _Outputs:
    """What every layer gives for the last batch, in the order of the calls, the model itself at the end."""
    outputs: _Outputs = []
    copied = copy.deepcopy(module).train(training)
    for name, layer in copied.named_modules():
        layer.register_forward_hook(
            lambda layer, _, output, name=name: outputs.append((name, layer, _tensor(output)))
        )
    for batch in batches:
        outputs.clear()
        torch.default_generator.manual_seed(seed)
        copied(batch.clone())
    return outputs


def _refuse_difference(one: _Outputs, two: _Outputs) -> None:
    """Raises if the first example came out differently. The first layer to differ is the one to blame."""
    if not one or not two or _are_equal(one[-1][2][:1], two[-1][2][:1]):
        return
    # A layer with time first, say, has no rows of examples to compare.
    batches = len(one[-1][2]), len(two[-1][2])
    blamed = next(
        (name, layer)
        for (name, layer, a), (_, _, b) in zip(one, two, strict=False)
        if (a is one[-1][2] or a.shape[:1] + b.shape[:1] == batches) and not _are_equal(a[:1], b[:1])
    )
    raise InvalidValue(_message(*blamed, "what it gives for one example depends on another"))


def _refuse_memory(module: nn.Module, first: Tensor, second: Tensor) -> None:
    """Raises if a batch leaves something behind in the model, or shows in the next batch's output."""
    states = []
    for batch in (first, second):
        copied = copy.deepcopy(module).train()
        torch.default_generator.manual_seed(0)
        copied(batch.clone())
        states.append(dict(copied.named_parameters()) | dict(copied.named_buffers()))
    for name, value in states[0].items():
        if not _are_equal(value, states[1][name]):
            owner, _, attribute = name.rpartition(".")
            layer = module.get_submodule(owner)
            raise InvalidValue(_message(owner, layer, f"its {attribute} changes with the examples it sees"))
    fresh, later = _run(module, first, first), _run(module, second, first)
    if not _are_equal(fresh[-1][2], later[-1][2]):
        raise InvalidValue(_message("", module, "what it gives depends on the batch before"))


def _repeatable(module: nn.Module, batch: Tensor, training: bool) -> bool:
    """Whether the model draws no random numbers: only then can batches of different sizes be compared."""
    one, two = (_run(module, batch, seed=seed, training=training) for seed in (0, 1))
    return _are_equal(one[-1][2], two[-1][2])


def _are_equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def _tensor(output: Any) -> Tensor:
    while isinstance(output, (tuple, list)) and output:
        output = output[0]
    return output.detach().clone() if isinstance(output, Tensor) else torch.empty(0)


def _message(name: str, layer: nn.Module, why: str) -> str:
    return (
        f"layer {name or 'of the model'} is {type(layer).__name__}, which is refused under differential "
        f"privacy: {why}"
    )
