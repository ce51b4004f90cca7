"""The axis of a chart: its scale, its ticks and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A scale from ``low`` to ``high``, linear or logarithmic.

    >>> axis = Axis.around([0, 12], whole=True)
    >>> axis.ticks, axis.place(6)
    ((0, 2, 4, 6, 8, 10, 12), 0.5)
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    percent: bool = False
    log: bool = False

    @classmethod
    def around(
        cls,
        values: Sequence[float],
        *,
        whole: bool = False,
        percent: bool = False,
        from_zero: bool = False,
        log: bool = False,
        most: int = 6,
    ) -> Axis:
        """The scale on which all of these values lie; shares of one lie on one from 0 to 1, or on a log."""
        low, high = min(values), max(values)
        if log:
            low, high = low / 1.1, high * 1.1
            return cls(low=low, high=high, ticks=_powers(low, high), percent=percent, log=True)
        if percent:
            return cls(low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), percent=True)
        low = min(0.0, low) if from_zero else low
        if high - low < 1e-9 * max(1.0, abs(low), abs(high)):
            low, high = low - (0.0 if from_zero else 1.0), high + 1.0
        step = _step((high - low) / most, whole)
        if from_zero:
            high = math.ceil(high / step - 1e-9) * step
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        return cls(low=low, high=high, ticks=tuple(i * step for i in range(first, last + 1)))

    def with_room(self, share: float = 0.02) -> Axis:
        """The same scale, a little longer at both ends, so that marks do not lie on the other axis."""
        room = share * (self.high - self.low)
        return replace(self, low=self.low - room, high=self.high + room)

    def place(self, value: float) -> float:
        """How far along the scale a value lies: 0 at its start, 1 at its end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def label(self, tick: float) -> str:
        """What stands beside a tick."""
        return f"{100 * tick:.6g} %" if self.percent else f"{tick:,.6g}"


def _step(least: float, whole: bool) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    step = next(s * power for s in _STEPS if s * power >= least * (1 - 1e-9))
    return max(1.0, math.ceil(step)) if whole else step


def _powers(low: float, high: float) -> tuple[float, ...]:
    """Ticks at powers of ten, with 2 and 5 between them where there would be few."""
    between = (1, 2, 5) if high / low < 300 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [tick * 10.0**power for power in powers for tick in between]
    found = [tick for tick in ticks if low <= tick <= high]
    return tuple(found[:: -(-len(found) // 7)]) if found else (low, high)
