"""What is checked before the first round: that algorithm, model and federation fit together."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from fedward.core.algorithm import Algorithm, total_bound
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds
from fedward.core.validate import InvalidValue


def check_setup(algorithm: Algorithm, module: nn.Module, federation: Federation) -> None:
    """Raises with a clear message if training could not work or its guarantee could not hold."""
    algorithm.sampler.check(federation.num_users)
    if algorithm.noise.multiplier > 0:
        refuse_batch_norm(module)
    check_output(module, federation)
    check_clipping(algorithm, ParameterSpec.of(module).size)


def refuse_batch_norm(module: nn.Module) -> None:
    """Under DP a layer must not mix examples or carry statistics of them past the clipping."""
    for name, layer in module.named_modules():
        if isinstance(layer, _NormBase) and (layer.track_running_stats or isinstance(layer, _BatchNorm)):
            raise InvalidValue(
                f"layer {name or 'of the model'} is {type(layer).__name__}, which is refused under "
                "differential privacy: it mixes examples or keeps statistics of them; use nn.GroupNorm or "
                "nn.LayerNorm instead"
            )


def check_clipping(algorithm: Algorithm, size: int) -> None:
    """Checks that norm, policy and local trainer fit the model and each other, before a round is reserved."""
    sizes = getattr(algorithm.norm, "sizes", None)
    if sizes is not None and sum(sizes) != size:
        raise InvalidValue(f"sizes of the layers must add up to {size} parameters, got {sum(sizes)}")
    bounds: Bounds = ()
    if not algorithm.policy.reads_norms:
        bounds = algorithm.policy.bound(algorithm.policy.init(), 0, None)
        groups = algorithm.norm.groups
        if len(bounds) not in (1, groups):
            raise InvalidValue(f"clip bounds must be 1 or {groups}, one for each layer, got {len(bounds)}")
        bounds = bounds * groups if len(bounds) == 1 else bounds
        std = algorithm.noise_std(total_bound(bounds))
        if not math.isfinite(std):
            raise InvalidValue(f"standard deviation of the noise must be finite, got {std}")
    algorithm.local.at_round(0, bounds)


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
