"""Membership attacks: they tell from a model's confidence whether a record was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from fedward.attacks.inference.auc import Bools, Floats
from fedward.attacks.inference.evidence import Evidence
from fedward.base.validate import InvalidType, InvalidValue, one_of

Variance = Literal["auto", "global", "record"]
Mode = Literal["online", "offline"]

VARIANCES: tuple[str, ...] = get_args(Variance)
MODES: tuple[str, ...] = get_args(Mode)

LEAST_SHADOWS = 4
"""With two on each side of every record there is a first idea of how they spread."""

# With fewer shadows the variance of a single record is mostly chance.
_ENOUGH_FOR_A_RECORD = 64
# Confidences that do not vary at all (a model that is not finite) must not divide by zero.
_LEAST_VARIANCE = 1e-12


class MembershipAttack(Protocol):
    """Gives each record a score; higher speaks for having been trained on."""

    def scores(self, evidence: Evidence) -> Floats: ...


@dataclass(frozen=True, kw_only=True)
class LossThreshold:
    """What a model has seen it does well on: the score is minus the loss.

        score = log p_y;    of a user: the mean over its examples

    It needs no shadow training. It calls everything easy a member, so it finds hardly anybody for certain.

    >>> evidence = Evidence(target=np.array([2.0, -1.0]), shadows=np.zeros((0, 2)),
    ...                     inside=np.zeros((0, 2), dtype=np.bool_))
    >>> LossThreshold().scores(evidence).round(3).tolist()
    [-0.127, -1.313]

    Yeom, Giacomelli, Fredrikson and Jha 2018.
    """

    def scores(self, evidence: Evidence) -> Floats:
        return -evidence.losses()


@dataclass(frozen=True, kw_only=True)
class LikelihoodRatio:
    """How sure would models be of this record that have seen it, and such that have not?

        online: log N(φ; μ_in, σ_in²) - log N(φ; μ_out, σ_out²)    offline: (φ - μ_out) / σ_out

    φ is the scaled confidence of the target (of a user the mean over its examples), μ and σ² are estimated
    for each record from the shadow trainings that have seen it and those that have not. The variance of a
    mean of k shadows is added: σ² (1 + 1/k).

    With few shadows a record's shift Δ = μ_in - μ_out is mostly chance, and even its sign may be wrong.
    ``shrink`` therefore pulls it to the mean shift Δ̄ of all records, by as much as chance explains:

        Δ' = Δ̄ + (Δ - Δ̄) τ² / (τ² + s²),    s² = σ_in²/k_in + σ_out²/k_out,    τ² = max(0, Var Δ - mean s²)

    With many shadows nothing is left of it.

    Args:
      mode: ``online`` uses shadows that have seen the record; ``offline`` only others, as an attacker must
        who trains its shadows before it knows whom it will ask about.
      variance: ``record`` estimates σ² for each record, ``global`` one for all of them (in and out apart),
        ``auto`` takes ``record`` from 64 shadows on.
      shrink: online only; off is the attack as published.

    Carlini, Chien, Nasr, Song, Terzis and Tramèr 2022; Efron and Morris 1973 for shrinking.
    """

    mode: Mode = "online"
    variance: Variance = "auto"
    shrink: bool = True

    def __post_init__(self) -> None:
        one_of("mode", self.mode, MODES)
        one_of("variance", self.variance, VARIANCES)
        if not isinstance(self.shrink, bool):
            raise InvalidType(f"shrink must be true or false, got {self.shrink!r}")

    def scores(self, evidence: Evidence) -> Floats:
        records = evidence.of_records()
        out = self._fit(records.shadows, ~records.inside)
        if self.mode == "offline":
            return np.asarray((records.target - out.mean) / np.sqrt(out.predictive))
        within = self._fit(records.shadows, records.inside)
        mean_in, mean_out = _shrunk(within, out) if self.shrink else (within.mean, out.mean)
        return _log_density(records.target, mean_in, within.predictive) - _log_density(
            records.target, mean_out, out.predictive
        )

    def _fit(self, shadows: Floats, chosen: Bools) -> _Fit:
        """Mean and variance of each record over the shadows that are chosen for it."""
        count = chosen.sum(axis=0)
        if count.size == 0 or count.min() < 2:
            raise InvalidValue(
                "a likelihood ratio needs each record inside at least 2 shadows and outside at least 2, "
                f"got {int(count.min()) if count.size else 0}; with pairs of halves that is "
                f"{LEAST_SHADOWS} shadows"
            )
        values = shadows.astype(np.float64)
        mean = np.where(chosen, values, 0.0).sum(axis=0) / count
        squares = np.where(chosen, (values - mean) ** 2, 0.0).sum(axis=0)
        for_each = self.variance == "record" or (
            self.variance == "auto" and len(shadows) >= _ENOUGH_FOR_A_RECORD
        )
        variance = squares / (count - 1) if for_each else squares.sum() / (count - 1).sum()
        return _Fit(mean, np.maximum(variance, _LEAST_VARIANCE), count)


class _Fit(NamedTuple):
    """For each record the mean over some shadows, their variance, and how many they are."""

    mean: Floats
    variance: Floats
    shadows: NDArray[np.int64]

    @property
    def error(self) -> Floats:
        """The variance of the mean."""
        return np.asarray(self.variance / self.shadows)

    @property
    def predictive(self) -> Floats:
        """The variance of a new value around a mean that is itself not quite known."""
        return np.asarray(self.variance + self.error)


def _shrunk(within: _Fit, out: _Fit) -> tuple[Floats, Floats]:
    """The two means of each record, around the same middle, their distance pulled to that of all records."""
    middle, shift = (within.mean + out.mean) / 2, within.mean - out.mean
    chance = within.error + out.error
    true = max(0.0, float(shift.var() - chance.mean()))
    kept = shift.mean() + (shift - shift.mean()) * true / (true + chance)
    return middle + kept / 2, middle - kept / 2


def _log_density(value: Floats, mean: Floats, variance: Floats) -> Floats:
    """Without the constant, which both hypotheses share."""
    return np.asarray(-0.5 * (np.log(variance) + (value - mean) ** 2 / variance))


MEMBERSHIP_ATTACKS: dict[str, MembershipAttack] = {
    "loss threshold": LossThreshold(),
    "likelihood ratio": LikelihoodRatio(),
    "likelihood ratio, offline": LikelihoodRatio(mode="offline"),
}
"""The attacks that ``fedward infer membership`` tries, by the names that its results use."""
