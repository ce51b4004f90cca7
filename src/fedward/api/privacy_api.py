"""``fedward.epsilon`` and ``fedward.calibrate``: what a training spends, and the noise for what it may."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from fedward.api.described_training import Described, cohorts_of, described_by, described_by_numbers
from fedward.api.privacy_records import CalibrationRecord, EpsilonRecord, Searched
from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidValue, one_of, positive
from fedward.privacy import Guarantee, Ledger, noise_for, rounds_for
from fedward.privacy.shares import shares

if TYPE_CHECKING:  # torch comes with it, and numbers need none
    from fedward.api.source import Changes, PathLike, What


def epsilon(
    what: What | None = None,
    *,
    noise_multiplier: float | None = None,
    sampling_rate: float | None = None,
    cohort_size: int | None = None,
    users: int | None = None,
    epoch: int | None = None,
    rounds: int | None = None,
    delta: float | None = None,
    accountant: str | None = None,
    noise_source: str | None = None,
    looks: int = 0,
    look_noise: float | None = None,
    devices_per_person: int = 1,
    changes: Changes = (),
    data: PathLike | None = None,
    trust: bool = False,
) -> EpsilonRecord:
    """What a training spends, by numbers, of an algorithm or of an experiment: ``fedward epsilon``.

    Args:
      what: an experiment file, its tables, or an ``Algorithm``, which needs ``users``, ``rounds`` and
        ``delta``. Without it the training is described by the numbers that follow.
      noise_multiplier: z, the papers' σ: noise over clip bound.
      sampling_rate: q: Poisson sampling; 1 is everyone.
      cohort_size: m: exactly m of ``users``.
      users: N, for ``cohort_size`` and for an algorithm; declared, for an experiment.
      epoch: E: random allocation, each user in one round of every E.
      rounds: T, how many rounds; those of the experiment if not given.
      delta: δ; that of the experiment if not given.
      accountant: ``pld``, ``rdp`` or ``moments``; that of the experiment, else ``pld``.
      noise_source: where the noise will come from, ``seeded`` or ``system``.
      looks, look_noise: in how many rounds the clip policy looks at norms, and the noise of a look.
      devices_per_person: k: how many users one person may be, whom the guarantee then hides as a whole.
      changes, data, trust: as in ``fedward.train``.

    >>> found = epsilon(noise_multiplier=3.0, sampling_rate=0.1, rounds=3, delta=0.0029)
    >>> round(found.epsilon, 4)
    0.0878
    """
    if what is not None:
        _require_none(what, noise_multiplier, sampling_rate, cohort_size, epoch, looks or None)
        about = described_by(
            what,
            users=users,
            rounds=rounds,
            delta=delta,
            accountant=accountant,
            changes=changes,
            data=data,
            trust=trust,
        )
    else:
        cohorts = cohorts_of(sampling_rate, cohort_size, users, epoch)
        if noise_multiplier is None:
            raise InvalidValue("noise_multiplier must be given, got none")
        about = described_by_numbers(cohorts, noise_multiplier, rounds, delta, accountant, looks, look_noise)
    if about.rounds is None:
        raise InvalidValue("rounds must be given, got none")
    spent = about.spent(about.noise_multiplier, about.rounds)
    return EpsilonRecord(
        guarantee=_guarantee(about, spent, noise_source, own=what is not None, devices=devices_per_person),
        ledger=spent,
        rounds=about.rounds,
        parts=shares(spent, about.delta, about.accountant) if devices_per_person == 1 else None,
    )


def calibrate(
    what: What | None = None,
    *,
    epsilon: float,
    noise_multiplier: float | None = None,
    sampling_rate: float | None = None,
    cohort_size: int | None = None,
    users: int | None = None,
    epoch: int | None = None,
    rounds: int | None = None,
    delta: float | None = None,
    accountant: str | None = None,
    noise_source: str | None = None,
    changes: Changes = (),
    data: PathLike | None = None,
    trust: bool = False,
) -> CalibrationRecord:
    """The least noise for a number of rounds, or the most rounds for a noise: ``fedward calibrate``.

    Args:
      what: an experiment file, its tables, or an ``Algorithm``: the least noise for its rounds, with its
        sampling. Without it the training is described by numbers.
      epsilon: what may be spent.
      noise_multiplier, rounds: one of them, where there is no experiment; the other is found.
      sampling_rate, cohort_size, users, epoch, delta, accountant, noise_source, changes, data, trust: as in
        ``fedward.epsilon``.

    >>> found = calibrate(epsilon=0.5, noise_multiplier=3.0, sampling_rate=0.1, delta=0.0029)
    >>> found.rounds, found.searched
    (50, 'rounds')
    """
    if what is not None:
        _require_none(what, noise_multiplier, sampling_rate, cohort_size, epoch)
        about = described_by(
            what,
            users=users,
            rounds=rounds,
            delta=delta,
            accountant=accountant,
            changes=changes,
            data=data,
            trust=trust,
        )
    else:
        if (rounds is None) == (noise_multiplier is None):
            raise InvalidValue("give either rounds, to get the noise, or noise_multiplier, to get the rounds")
        cohorts = cohorts_of(sampling_rate, cohort_size, users, epoch)
        about = described_by_numbers(cohorts, noise_multiplier, rounds, delta, accountant)
    positive("epsilon", epsilon)
    z, rounds, searched = _search(about, epsilon)
    spent = about.spent(z, rounds)
    return CalibrationRecord(
        guarantee=_guarantee(about, spent, noise_source, own=what is not None),
        ledger=spent,
        rounds=rounds,
        noise_multiplier=z,
        target=epsilon,
        searched=searched,
    )


def _search(about: Described, epsilon: float) -> tuple[float, int, Searched]:
    if about.rounds is None:
        z = about.noise_multiplier
        assert z is not None  # one of the two is given
        assert about.covers is not None  # numbers describe no training that is charged as a whole
        events = rounds_for(epsilon, about.delta, about.event(z), about.accountant, about.adjacency)
        return z, events * about.covers, "rounds"
    z = noise_for(epsilon, about.delta, about.event, about.charges, about.accountant, about.adjacency)
    # What is printed must hold too.
    return math.ceil(z * 1e4) / 1e4, about.rounds, "noise_multiplier"


def _guarantee(
    about: Described, ledger: Ledger, noise_source: str | None, *, own: bool, devices: int = 1
) -> Guarantee:
    """Where noise comes from is said only if that was told, or if an experiment or an algorithm says it."""
    if noise_source is not None:
        one_of("noise source", noise_source, SOURCES)
    found = ledger.guarantee(about.delta, about.accountant, devices)
    if own and noise_source is None:
        return found
    return replace(found, noise_source=cast(Source | None, noise_source))


def _require_none(what: object, *numbers: float | None) -> None:
    if any(number is not None for number in numbers):
        kind = type(what).__name__
        raise InvalidValue(
            "noise, sampling and looks must not be given with an experiment or an algorithm, which has its "
            f"own, got them with a {kind}; use changes"
        )
