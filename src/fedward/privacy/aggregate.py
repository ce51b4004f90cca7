"""One step of DP-SGD at every user of a cohort: their noise adds up, and hides an example better.

noise of the sum: σ S √m,    so an example has noise multiplier σ √m, drawn with its batch probability p
"""

from __future__ import annotations

import math

from fedward.base.validate import InvalidValue, positive, rate
from fedward.privacy.accounting_events import (
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)

_ONE_STEP = "the noise of a whole cohort adds up where each user takes one local step a round"


def aggregate_event(local: DpEvent, cohort: float, user_rate: float = 1.0) -> DpEvent:
    """What a round costs one example, when only the sum over the cohort is seen.

    Guarantee: for one example added or removed, if all users of the cohort add their noise and the server
    shows nothing but their sum. With ``user_rate`` below 1 it is the claim of Xie et al. (proposition 2) that
    an example is drawn with probability p q: the users of a cohort are drawn, not the examples, and a bound
    for that is not proven there. The conservative bound leaves the drawing of users out (Dopamine).

    Args:
      local: what one user does: one step, batches drawn with probability p, noise multiplier σ.
      cohort: m.
      user_rate: q.

    >>> step = PoissonSampledDpEvent(0.4, GaussianDpEvent(3.0))
    >>> aggregate_event(step, 16)
    PoissonSampledDpEvent(sampling_probability=0.4, event=GaussianDpEvent(noise_multiplier=12.0))

    Malekzadeh et al. 2021 (Dopamine); Xie et al. 2022, proposition 2.
    """
    positive("cohort", cohort)
    rate("user rate", user_rate)
    if isinstance(local, SelfComposedDpEvent):
        if local.count > 1:
            raise InvalidValue(f"{_ONE_STEP}, got {local.count}")
        local = local.event
    batch = 1.0
    if isinstance(local, PoissonSampledDpEvent):
        batch, local = local.sampling_probability, local.event
    if not isinstance(local, GaussianDpEvent):
        raise InvalidValue(f"{_ONE_STEP} with Gaussian noise, got {local}")
    gaussian = GaussianDpEvent(local.noise_multiplier * math.sqrt(cohort))
    probability = batch * user_rate
    return gaussian if probability == 1 else PoissonSampledDpEvent(probability, gaussian)
