"""What is checked before the first round: that algorithm, model and federation fit together."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.validate import InvalidValue


def check_setup(algorithm: Algorithm, module: nn.Module, federation: Federation) -> None:
    """Raises with a clear message if training could not work or its guarantee could not hold."""
    algorithm.sampler.check(federation.num_users)
    if algorithm.noise.multiplier > 0:
        refuse_batch_norm(module)
    check_output(module, federation)


def refuse_batch_norm(module: nn.Module) -> None:
    """Under DP a layer must not mix examples or carry statistics of them past the clipping."""
    for name, layer in module.named_modules():
        if isinstance(layer, _NormBase) and (
            layer.track_running_stats or "BatchNorm" in type(layer).__name__
        ):
            raise InvalidValue(
                f"layer {name or 'of the model'} is {type(layer).__name__}, which is refused under "
                "differential privacy: it mixes examples or keeps statistics of them; use nn.GroupNorm or "
                "nn.LayerNorm instead"
            )


def check_output(module: nn.Module, federation: Federation) -> None:
    """Runs the model on two examples and checks that it scores every class."""
    x, _ = federation.examples.batch(torch.arange(min(2, len(federation.examples))))
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            scores = module(x)
    except Exception as error:
        raise InvalidValue(
            f"{type(module).__name__} cannot read a batch of shape {tuple(x.shape)} and type {x.dtype}: "
            f"{error}"
        ) from error
    finally:
        module.train(was_training)
    wanted = (len(x), federation.num_classes)
    if (
        not isinstance(scores, Tensor)
        or scores.ndim != 2
        or len(scores) != wanted[0]
        or scores.shape[1] < wanted[1]
    ):
        got = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise InvalidValue(f"model output must be a score for each example and class, {wanted}, got {got}")
