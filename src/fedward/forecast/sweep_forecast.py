"""A forecast of a sweep: the work and time of all its trainings, before any of it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedward.backends.compute import Compute
from fedward.config.sweep_section import Sweep
from fedward.forecast.forecast import Forecast, forecast
from fedward.studies.training.setup import Setup

# All combinations together are not tried for longer than one experiment would be, by much.
_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class SweepForecast:
    """All combinations with the first seed; seeds differ in nothing that costs.

    Args:
      combinations: what each would do and cost, by name.
      seconds: the least and the most that all trainings may take, shared work not counted off; None if
        nothing was measured.
      disk: bytes that all run directories will take.
    """

    sweep: Sweep
    combinations: dict[str, Forecast]
    seconds: tuple[float, float] | None
    disk: int


def forecast_sweep(
    sweep: Sweep,
    setups: Sequence[Setup],
    *,
    measure: bool = True,
    compute: Compute | None = None,
) -> SweepForecast:
    """Looks at a sweep that is ready to run. Nothing is written to disk."""
    number = len(sweep.points) // len(sweep.seeds)
    found = {
        point.combination: forecast(
            setup,
            measure=measure,
            compute=compute,
            seconds=min(1.0, _SECONDS / number),
            by_others=False,  # pld may take a minute for each
        )
        for point, setup in zip(sweep.points[:number], setups[:number], strict=True)
    }
    each = [one.seconds for one in found.values() if one.seconds is not None]
    seeds = len(sweep.seeds)
    total = seeds * sum(low for low, _ in each), seeds * sum(high for _, high in each)
    return SweepForecast(
        sweep=sweep,
        combinations=found,
        seconds=total if each and len(each) == len(found) else None,
        disk=seeds * sum(one.disk for one in found.values()),
    )
