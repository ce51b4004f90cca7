"""The goal of a plan: how many attackers a future training must provably survive, within what ε."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue, open_unit, positive, rate, whole
from fedward.certificates.checks import Floats, check_all_in_unit
from fedward.certificates.prediction import FINER, NEAR, margin
from fedward.certificates.threat import Attendance, ThreatModel
from fedward.privacy.group import Threat, group_curve
from fedward.privacy.spending import Mechanisms


@dataclass(frozen=True, kw_only=True, eq=False)
class Goal:
    """What a training is wanted to certify.

    Args:
      users: N, how many users there are.
      k: how many attackers it must survive.
      top: the expected confidence of the top class: one number, or one for each test example.
      runner_up: the largest of the other classes, likewise.
      threat: inject, present or compromise.
      attendance: as in ``ThreatModel``.
      share: of the test examples, how many must be certified.
      epsilon, delta: what may be spent at most, if anything; δ alone asks for the ε of every answer.

    >>> Goal(users=200, k=300, top=0.9, runner_up=0.1, threat="present")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: k must be at most the number of users, 200, got 300
    """

    users: int
    k: int
    top: float | Floats
    runner_up: float | Floats
    threat: Threat = "inject"
    attendance: Attendance = "drawn"
    share: float = 0.5
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        whole("number of users", self.users)
        whole("k", self.k)
        rate("share", self.share)
        ThreatModel(threat=self.threat, attendance=self.attendance)
        if self.threat != "inject" and self.k > self.users:
            raise InvalidValue(f"k must be at most the number of users, {self.users}, got {self.k}")
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
            if self.delta is None:
                raise InvalidValue("delta must be given together with epsilon")
        if self.delta is not None:
            open_unit("delta", self.delta)
        top, runner_up = self._means()
        if top.shape != runner_up.shape or top.ndim != 1 or len(top) == 0:
            raise InvalidValue(
                f"top and runner-up must be one each for every example, got {top.shape} and {runner_up.shape}"
            )
        if not isinstance(self.top, np.ndarray) and float(top[0] + runner_up[0]) > 1.0 + 1e-9:
            raise InvalidValue(
                f"top and runner-up must add up to at most 1, got {self.top} and {self.runner_up}"
            )
        clean = float(((top > runner_up) | (top > 0.5)).mean())
        if not isinstance(self.top, np.ndarray) and not clean:
            raise InvalidValue(
                f"top confidence must be above that of the runner-up, got {self.top:g} and {self.runner_up:g}"
            )
        if clean < self.share:
            raise InvalidValue(
                f"share must be within reach without attackers, got {self.share:g}: "
                f"the top class leads in {clean:.3g} of the examples"
            )

    def certified_by(self, spending: Mechanisms) -> bool:
        """Whether enough examples are certified against k."""
        top, runner_up = self._means()
        found = margin(top, runner_up, group_curve(spending, self.k), self.threat)
        near = (found <= 0) & (found > -NEAR)
        if near.any() and float((found > 0).mean()) < self.share <= float((found > -NEAR).mean()):
            # What misses narrowly is decided on a finer grid, as in a certificate.
            finer = group_curve(spending, self.k, interval=1e-2 / FINER)
            found[near] = margin(top[near], runner_up[near], finer, self.threat)
        return float((found > 0).mean()) >= self.share

    def _means(self) -> tuple[Floats, Floats]:
        top, runner_up = np.asarray(self.top), np.asarray(self.runner_up)
        return (
            np.atleast_1d(check_all_in_unit("top confidence", top)),
            np.atleast_1d(check_all_in_unit("runner-up confidence", runner_up)),
        )
