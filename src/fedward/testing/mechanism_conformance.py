"""The promises of a mechanism: the noise that it draws is the noise that its event claims."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from torch import Tensor

from fedward.base.randomness import Source
from fedward.core.types import Cohorts, Mechanism, MechanismState, Sensitivity
from fedward.privacy.events import check_event, fold
from fedward.sampling import PoissonSampler
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, not_applicable
from fedward.testing.event_cost import cost, costs_less
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, left_alone, require_repeatable, same_bits

_COORDINATES = 20_000
# Standard errors: noise of the operating system differs each time, and must not fail by chance.
_ERRORS = 6
_SENSITIVITY = Sensitivity(row=0.5, share=0.2)


def check_mechanism(mechanism: Mechanism) -> Conformance:
    """Runs every promise of ``fedward.core.types.Mechanism``."""
    return check_promises("mechanism", mechanism, (*VALUE_PROMISES, *_PROMISES))


def _run(
    mechanism: Mechanism, aggregate: Tensor, *, seed: int = 0, sensitivity: Sensitivity = _SENSITIVITY
) -> tuple[Tensor, MechanismState]:
    state = mechanism.init(aggregate)
    return mechanism.privatise(aggregate, sensitivity, state, np.random.default_rng(seed))


def _declares_itself(mechanism: Mechanism) -> None:
    if not 0 <= mechanism.multiplier < math.inf:
        broken(f"multiplier is {mechanism.multiplier!r}", "Return a finite number, 0 if it adds no noise")
    if mechanism.source not in get_args(Source):
        broken(f"source is {mechanism.source!r}", "Return 'seeded' or 'system'")
    covered = mechanism.whole_training
    if covered is not None and (isinstance(covered, bool) or not isinstance(covered, int) or covered < 1):
        broken(f"whole_training is {covered!r}", "Return how many rounds one event covers, or None")


def _keeps_shapes(mechanism: Mechanism) -> None:
    for dtype in (torch.float64, torch.float32):
        aggregate = torch.ones(7, dtype=dtype)
        state = first = mechanism.init(aggregate)
        for t in range(min(3, mechanism.whole_training or 3)):
            with left_alone("privatise", aggregate, state):
                private, after = mechanism.privatise(aggregate, _SENSITIVITY, state, np.random.default_rng(t))
            if private.shape != aggregate.shape or not private.is_floating_point():
                broken(
                    f"privatise gave {in_short(private)} for a vector of 7 numbers",
                    "Return numbers of the same shape",
                )
            shapes = [tuple(each.shape) for each in after]
            if shapes != [tuple(each.shape) for each in first]:
                broken(
                    f"its state has tensors of shapes {shapes} after round {t}",
                    "Let it have as many tensors, of the same shapes, in every round",
                )
            state = after


def _draws_from_its_source(mechanism: Mechanism) -> None:
    aggregate = torch.ones(7, dtype=torch.float64)
    if mechanism.multiplier == 0:
        private = require_repeatable(lambda: _run(mechanism, aggregate)[0], "privatise")
        if not torch.equal(private, aggregate):
            broken(
                f"multiplier is 0, but privatise made {in_short(private)} of ones",
                "Declare the noise: multiplier is its standard deviation over the sensitivity",
            )
    elif mechanism.source == "seeded":
        require_repeatable(lambda: _run(mechanism, aggregate), "privatise")
        if same_bits(_run(mechanism, aggregate, seed=0)[0], _run(mechanism, aggregate, seed=1)[0]):
            broken("it drew the same noise from two streams", "Draw the noise from the rng that is given")
    else:
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        noisy = [
            mechanism.privatise(aggregate, _SENSITIVITY, mechanism.init(aggregate), rng)[0] for _ in range(2)
        ]
        if rng.bit_generator.state != before or same_bits(*noisy):
            broken(
                "its source is 'system', but its noise comes from the rng of the round",
                "Take every bit from the operating system: fedward.base.randomness.system_normal",
            )


def _noise_of(mechanism: Mechanism, sensitivity: Sensitivity, level: float) -> Tensor:
    """The noise of the first round on a constant aggregate."""
    aggregate = torch.full((_COORDINATES,), level, dtype=torch.float64)
    return _run(mechanism, aggregate, sensitivity=sensitivity)[0].double() - aggregate


def _noise_is_as_declared(mechanism: Mechanism) -> None:
    if mechanism.multiplier == 0:
        not_applicable("it adds no noise")
    for row, share, level in ((0.5, 0.2, 0.0), (2.0, 0.2, 1.0), (0.5, 1.0, -3.0)):
        sensitivity = Sensitivity(row=row, share=share)
        noise, wanted = _noise_of(mechanism, sensitivity, level), sensitivity.times(mechanism.multiplier)
        spread, centre = float(noise.std()), float(noise.mean())
        if abs(spread / wanted - 1) > _ERRORS / math.sqrt(2 * _COORDINATES):
            broken(
                f"its noise has standard deviation {spread:.4g} for a row of norm {row} and a "
                f"share of {share}, "
                f"and multiplier {mechanism.multiplier:g} says {wanted:.4g}",
                "Scale the noise by sensitivity.times(multiplier)",
            )
        if abs(centre) > _ERRORS * wanted / math.sqrt(_COORDINATES):
            broken(f"its noise has mean {centre:.4g}", "Draw noise around zero")
        together = float((noise[1:] * noise[:-1]).mean()) / wanted**2
        if abs(together) > _ERRORS / math.sqrt(_COORDINATES):
            broken(
                f"the noise of neighbouring coordinates has correlation {together:.2f}",
                "Draw a number of its own for each coordinate: the same noise twice can be subtracted",
            )


def _event_agrees(mechanism: Mechanism) -> None:
    if mechanism.multiplier == 0:
        not_applicable("it adds no noise, and its event is never asked for")
    z = mechanism.multiplier
    for ratio in (1.0, 0.5):
        for rate in (1.0, 0.1):
            for looks in ((), (2.0,)):
                cohorts = Cohorts(sampler=PoissonSampler(rate=rate), num_users=100, looks=looks)
                event = mechanism.event(ratio, cohorts)
                check_event(event)
                drawn: DpEvent = GaussianDpEvent(fold(z * ratio, *looks))
                drawn = drawn if rate == 1 else PoissonSampledDpEvent(rate, drawn)
                if costs_less(event, drawn):
                    broken(
                        f"event({ratio}, ...) with sampling rate {rate} and looks {looks} claims ε = "
                        f"{cost(event):.4g}, and one round of its noise costs {cost(drawn):.4g} at δ = 1e-5",
                        "Return cohorts.amplify(GaussianDpEvent(multiplier * ratio)), or what costs more",
                    )


_PROMISES: tuple[Promise[Mechanism], ...] = (
    Promise(says="declares its noise", check=_declares_itself),
    Promise(says="keeps the shapes of the aggregate and of its state", check=_keeps_shapes),
    Promise(says="draws from the source that it names", check=_draws_from_its_source),
    Promise(says="adds noise of the standard deviation that it declares", check=_noise_is_as_declared),
    Promise(says="is charged at least for the noise that it draws", check=_event_agrees),
)
