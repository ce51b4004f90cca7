"""A test of audits themselves: broken mechanisms must be caught, and a sound one must pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from scipy.stats import binom

from fedward.auditing.audit_question import AuditQuestion
from fedward.auditing.mutants.broken_mechanisms import ClipAfterwards, LessNoise, OtherBound
from fedward.auditing.mutants.broken_parts import CalledPoisson, FreeLook, NoClip, RealisedMean
from fedward.auditing.mutants.shared_seeds import SharedSeeds
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import whole
from fedward.config.experiment import from_content
from fedward.core.algorithm import Algorithm
from fedward.rundir.audit_result import AuditResult
from fedward.sampling import FixedSizeSampler
from fedward.studies.audit.audit_study import plan_audit
from fedward.studies.audit.audited_claim import UNCHANGED, Change
from fedward.studies.study import carry_out

RUNS = (500, 1000, 2000, 4000, 8000)
"""So many trainings are tried, one number after the other, until a mutant is caught."""

SOUND_RUNS = 400
ERROR = 0.05
_USERS = 8
# A sound audit is wrong as often as its error allows; more false alarms than this are no chance.
_SURPRISE = 1e-3

SOUND: dict[str, Any] = {
    "seed": 1,
    "rounds": 3,
    "data": {
        "name": "synthetic",
        "users": _USERS,
        "examples": 2,
        "features": 10,
        "classes": 3,
        "test_examples": 2,
    },
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 2.0,
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 2, "epochs": 1},
    },
    "privacy": {"users": _USERS, "delta": 1e-5},
}
"""The mechanism that is broken in the mutants, as an experiment."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A mechanism that does not keep its promise.

    Args:
      name: of what is wrong with it.
      changes: in the tables of ``SOUND``.
      change: what is wrong with what the file makes.
    """

    name: str
    changes: Mapping[str, Any]
    change: Change


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What became of a mutant: with so many trainings, in so many seconds."""

    name: str
    caught: bool
    claimed: float
    lower_bound: float
    runs: int
    seconds: float
    attack: str


@dataclass(frozen=True, kw_only=True)
class SelfTestResult:
    """All mutants, and how often the sound mechanism was called broken."""

    mutants: tuple[Tried, ...]
    sound: int
    false_alarms: int
    error: float = ERROR

    @property
    def passed(self) -> bool:
        """Whether all mutants were caught, and the sound mechanism passed as often as it should."""
        likely = (
            bool(binom.sf(self.false_alarms - 1, self.sound, self.error) > _SURPRISE) if self.sound else True
        )
        return all(each.caught for each in self.mutants) and likely

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "passed": self.passed}


def mutants() -> tuple[Mutant, ...]:
    """All of them; each is made of our own parts, wrapped: no part of the product has a switch for it."""
    everyone = {"algorithm": {"sampler": {"name": "poisson", "rate": 0.9}}}
    layers = {"model": {"name": "mlp"}, "algorithm": {"clip": "per-layer", "clip_bound": [2.0, 1.0]}}
    local = {"preset": "ldp_fedsgd", "noise_multiplier": 4.0, "learning_rate": 0.1, "local": None}
    return (
        Mutant(name="half the noise", changes={}, change=_changed(_less_noise)),
        Mutant(name="no clip", changes={}, change=_changed(lambda each: replace(each, norm=NoClip()))),
        Mutant(name="clip after noise", changes={}, change=_changed(_clip_afterwards)),
        Mutant(name="noise of a wrong bound", changes=layers, change=_changed(_noise_of_one_layer)),
        Mutant(
            name="divisor that follows N",
            changes={"privacy": {"users": None}},
            change=_changed(lambda each: replace(each, declared_users=True)),
        ),
        # Where few come, one of them is a large share of the mean, and its absence makes others one.
        Mutant(
            name="realised cohort size",
            changes={
                "rounds": 6,
                "algorithm": {"noise_multiplier": 1.5, "sampler": {"name": "poisson", "rate": 0.3}},
            },
            change=_changed(_realised),
        ),
        Mutant(
            name="a look that is not charged",
            changes=everyone | {"algorithm": {**everyone["algorithm"], "noise_multiplier": 4.0}},
            change=_changed(_free_look),
        ),
        Mutant(
            name="seeds shared by two users",
            changes={"algorithm": local},
            change=Change(backend=lambda each: SharedSeeds(backend=each, users=(_USERS - 2, _USERS - 1))),
        ),
        # Somebody else comes in the canary's place, and sends the opposite: it moves the sum twice as far.
        Mutant(
            name="fixed-size cohorts accounted as Poisson",
            changes={"rounds": 6, "algorithm": {"noise_multiplier": 1.5}},
            change=_changed(
                lambda each: replace(each, sampler=CalledPoisson(sampler=FixedSizeSampler(size=_USERS // 2)))
            ),
        ),
    )


def _changed(algorithm: Callable[[Algorithm], Algorithm]) -> Change:
    return Change(algorithm=algorithm)


def _less_noise(each: Algorithm) -> Algorithm:
    return replace(each, mechanism=LessNoise(mechanism=each.mechanism))


def _clip_afterwards(each: Algorithm) -> Algorithm:
    return replace(each, norm=NoClip(), mechanism=ClipAfterwards(mechanism=each.mechanism))


def _noise_of_one_layer(each: Algorithm) -> Algorithm:
    return replace(each, mechanism=OtherBound(mechanism=each.mechanism, bound=1.0))


def _realised(each: Algorithm) -> Algorithm:
    assert each.aggregator.divisor is not None  # it is a mean
    return replace(each, aggregator=RealisedMean(expected_cohort=each.aggregator.divisor))


def _free_look(each: Algorithm) -> Algorithm:
    assert each.aggregator.divisor is not None  # it is a mean
    look = FreeLook(initial=1.0, quantile=0.5, bit_noise=1.0, expected_cohort=each.aggregator.divisor)
    return replace(each, policy=look)


def audit_once(content: Mapping[str, Any], change: Change, runs: int, error: float = ERROR) -> AuditResult:
    """Audits an experiment in a directory that is gone afterwards."""
    question = AuditQuestion(runs=runs, error=error)
    study = plan_audit(from_content(dict(content)), question, change=change)
    with tempfile.TemporaryDirectory() as folder:
        return carry_out(study, Path(folder) / "audit", IN_PROCESS, lambda steps: [None for _ in steps])


def try_mutant(mutant: Mutant, runs: tuple[int, ...] = RUNS) -> Tried:
    """Audits a mutant with more and more trainings until it is caught."""
    content, begun = with_changes(SOUND, mutant.changes), monotonic()
    for count in runs:
        found = audit_once(content, mutant.change, count)
        if found.verdict == "violation":
            break
    return Tried(
        name=mutant.name,
        caught=found.verdict == "violation",
        claimed=found.claimed,
        lower_bound=found.lower_bound,
        runs=count,
        seconds=monotonic() - begun,
        attack=found.attack,
    )


def try_sound(audits: int, runs: int = SOUND_RUNS) -> Iterator[bool]:
    """For each audit of the sound mechanism, each with a seed of its own, whether it was a false alarm."""
    for seed in range(1, whole("audits of a sound mechanism", audits, at_least=0) + 1):
        yield audit_once({**SOUND, "seed": seed}, UNCHANGED, runs).verdict == "violation"


def with_changes(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with other values in them; None takes a key out.

    >>> with_changes({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": None}})
    {'a': {'b': 3}}
    """
    made = dict(content)
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(made.get(key), Mapping) and "name" not in value:
            made[key] = with_changes(made[key], value)
        elif value is None:
            made.pop(key, None)
        else:
            made[key] = value
    return made
