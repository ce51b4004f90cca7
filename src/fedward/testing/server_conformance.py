"""The promises of a server's step."""

from __future__ import annotations

import torch

from fedward.core.types import ServerOptimizer
from fedward.testing.conformance import Conformance, Promise, broken, check_promises
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, left_alone, require_repeatable, same_bits
from fedward.testing.small_world import random_rows

_SIZE = 7


def check_server(server: ServerOptimizer) -> Conformance:
    """Runs every promise of ``fedward.core.types.ServerOptimizer``."""
    return check_promises("server step", server, (*VALUE_PROMISES, *_PROMISES))


def _steps(server: ServerOptimizer) -> None:
    for dtype in (torch.float32, torch.float64):
        parameters = torch.linspace(-1, 1, _SIZE, dtype=dtype)
        first = state = server.init(parameters)
        for t, mean in enumerate([*random_rows(3, _SIZE, 1), torch.zeros(_SIZE), 1e6 * torch.ones(_SIZE)]):
            mean = mean.double()
            with left_alone("step", parameters, mean, state):
                after, state_after = server.step(parameters, mean, state)
            if after.shape != parameters.shape or after.dtype != dtype:
                broken(
                    f"step gave {in_short(after)} of {after.dtype} for parameters of shape "
                    f"({_SIZE},) and {dtype}",
                    "Return parameters of the same shape and type: .to(parameters.dtype)",
                )
            if not bool(torch.isfinite(after).all()):
                broken(
                    f"step gave {in_short(after)} for the mean {in_short(mean)}",
                    "Divide by nothing that can be 0",
                )
            if [(each.shape, each.dtype) for each in state_after] != [
                (each.shape, each.dtype) for each in first
            ]:
                broken(
                    f"its state has other tensors after round {t} than before: {in_short(state_after)}",
                    "Let it have as many tensors, of the same shapes and types, in every round",
                )
            parameters, state = after, state_after


def _follows_the_mean(server: ServerOptimizer) -> None:
    parameters, (mean, other) = torch.zeros(_SIZE), random_rows(2, _SIZE, 2)
    ends = [server.step(parameters, each.double(), server.init(parameters))[0] for each in (mean, other)]
    if same_bits(*ends):
        broken("two means moved the model to the same place", "Add what the mean says to the parameters")


def _repeats_itself(server: ServerOptimizer) -> None:
    parameters, (mean,) = torch.ones(_SIZE), random_rows(1, _SIZE, 3)
    require_repeatable(lambda: server.init(parameters), "init")
    require_repeatable(lambda: server.step(parameters, mean.double(), server.init(parameters)), "step")


_PROMISES: tuple[Promise[ServerOptimizer], ...] = (
    Promise(says="steps to finite parameters and writes to nothing that it is given", check=_steps),
    Promise(says="follows the mean", check=_follows_the_mean),
    Promise(says="gives the same bits again", check=_repeats_itself),
)
