"""Attack cost against the number of attackers: what was measured, and what is certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fedward.certificates.attack_cost import attackers_needed, corollary_1, cost_bounds, theorem_3
from fedward.certificates.certified import Mode, papers_guarantee
from fedward.certificates.confidence.betting import betting
from fedward.certificates.setting import Setting
from fedward.privacy.group import group_curve
from fedward.privacy.guarantee import Unit

TAUS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The mean of min(C, C̄) over replicas with so many attackers (users, or poisoned examples where
    examples are hidden), and a 95 % interval for it."""

    attackers: int
    mean: float
    low: float
    high: float
    replicas: int


@dataclass(frozen=True, kw_only=True)
class Line:
    """Bounds on the expected cost at k = 0, 1, 2, ..., in one mode.

    ``needed`` is how many attackers it takes at least to divide the cost by each of ``TAUS``; None if more
    than were tried.
    """

    mode: Mode
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    needed: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class AttackCosts:
    """One attack: its measured cost for some numbers of attackers beside the bounds that follow from none.

    Args:
      unit: what attackers are counted in.
      cost_bound: C̄, fixed beforehand.
      clean: bounds on the expected cost without attackers, each at half the error.
      measured: by rising number of attackers, the first without any.
      lines: one for each mode.
    """

    unit: Unit
    cost_bound: float
    clean: tuple[float, float]
    measured: tuple[Measured, ...]
    lines: tuple[Line, ...]

    def crossed(self, mode: Mode) -> tuple[int, ...]:
        """The numbers of attackers at which the whole interval of the measured cost is out of bounds."""
        line = next(line for line in self.lines if line.mode == mode)
        return tuple(
            m.attackers
            for m in self.measured
            if m.high < line.lower[m.attackers] or m.low > line.upper[m.attackers]
        )


def attack_costs(
    setting: Setting, bound: float, by_attackers: Mapping[int, NDArray[np.float64]], most: int
) -> AttackCosts:
    """Bounds on the expected cost for k = 0 to ``most``, from the replicas without attackers alone.

    Args:
      setting: of the training without attackers.
      bound: C̄.
      by_attackers: clipped costs of the replicas for each number of attackers, 0 among them.
      most: the last k.
    """
    clean = by_attackers[0] / bound
    each = setting.confidence.error / 2
    low, high = (float(betting(clean, each, side)) * bound for side in ("lower", "upper"))
    lines = [_tight(setting, bound, low, high, threat, most) for threat in setting.threats]
    papers = papers_guarantee(setting)
    if papers is not None:
        lines.insert(0, _papers(setting, bound, float(by_attackers[0].mean()), papers.epsilon, most))
    return AttackCosts(
        unit=setting.ledger.unit,
        cost_bound=bound,
        clean=(low, high),
        measured=tuple(_measure(k, by_attackers[k]) for k in sorted(by_attackers)),
        lines=tuple(lines),
    )


def _measure(attackers: int, values: NDArray[np.float64]) -> Measured:
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else float("inf")
    width = float(stats.t.ppf(0.975, max(1, len(values) - 1))) * error
    return Measured(attackers=attackers, mean=mean, low=mean - width, high=mean + width, replicas=len(values))


def _tight(setting: Setting, bound: float, low: float, high: float, threat: Mode, most: int) -> Line:
    assert threat != "paper"
    spending = setting.spending
    lower, upper = [low], [high]
    for k in range(1, most + 1):
        curve = group_curve(spending, k)
        lower.append(cost_bounds(low, bound, curve, threat)[0])
        upper.append(cost_bounds(high, bound, curve, threat)[1])
    needed = [attackers_needed(low, bound, tau, spending, threat, most=setting.most(threat)) for tau in TAUS]
    return Line(mode=threat, lower=tuple(lower), upper=tuple(upper), needed=tuple(needed))


def _papers(setting: Setting, bound: float, cost: float, epsilon: float, most: int) -> Line:
    """As published: the mean as it is, and an ε of the papers' accountant."""
    pairs = [theorem_3(cost, bound, epsilon, setting.delta, k) for k in range(most + 1)]
    needed: Sequence[float | None] = [corollary_1(cost, bound, tau, epsilon, setting.delta) for tau in TAUS]
    return Line(
        mode="paper",
        lower=tuple(pair[0] for pair in pairs),
        upper=tuple(pair[1] for pair in pairs),
        needed=tuple(needed),
    )
