"""A training whose spending is asked for: described by numbers, by an algorithm, or by an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedward.base.validate import InvalidValue, one_of, open_unit, positive, whole
from fedward.privacy import ACCOUNTANTS, Ledger
from fedward.privacy.accounting_events import ComposedDpEvent, DpEvent, GaussianDpEvent, NoOpDpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.terms import SERVER
from fedward.sampling import FixedSizeSampler, PoissonSampler, RandomAllocation

if TYPE_CHECKING:  # torch comes with these, and numbers need none
    from fedward.api.source import Changes, PathLike, What
    from fedward.core.algorithm import Algorithm


@dataclass(frozen=True, kw_only=True)
class Described:
    """A training, how long it is, and how its ε is worked out.

    Args:
      spent: (z, T) -> what it spends with this noise; z is None for its own.
      event: z -> the event of one round.
      adjacency: what events are relative to.
      noise_multiplier: z; None where an experiment or an algorithm has its own.
      rounds: T; None if it is searched for.
      delta, accountant: of its ε.
      covers: how many rounds ``event`` covers: one, those of an epoch; None for the whole training.
    """

    spent: Callable[[float | None, int], Ledger]
    event: Callable[[float], DpEvent]
    adjacency: Adjacency
    noise_multiplier: float | None
    rounds: int | None
    delta: float
    accountant: str
    covers: int | None = 1

    @property
    def charges(self) -> int:
        """How many events the rounds amount to."""
        assert self.rounds is not None  # asked where they are given
        return 1 if self.covers is None else -(-self.rounds // self.covers)


@dataclass(frozen=True, kw_only=True)
class Cohorts:
    """How cohorts are drawn, and the event of a round that is drawn so."""

    sampler: PoissonSampler | FixedSizeSampler | RandomAllocation
    users: int

    @property
    def covers(self) -> int:
        """How many rounds an event covers."""
        return self.sampler.epoch if isinstance(self.sampler, RandomAllocation) else 1

    def event(self, *noise_multipliers: float) -> DpEvent:
        """Noise on a mean of clipped updates, and on the looks of a clip policy at their norms."""
        # A replaced user moves a mean twice as far as one added or removed, and no policy's look further.
        moves = 2 if self.sampler.adjacency == "replace-one" else 1
        noises = [GaussianDpEvent(z / moves) for z in noise_multipliers]
        return self.sampler.amplify(noises[0] if len(noises) == 1 else ComposedDpEvent(noises), self.users)

    def ledger(self, z: float, rounds: int, looks: int = 0, look_noise: float | None = None) -> Ledger:
        """The ledger of a training in which the clip policy looks at private norms in some of the rounds."""
        if whole("looks", looks, at_least=0) > rounds:
            raise InvalidValue(f"looks must be at most the rounds, {rounds}, got {looks}")
        terms = replace(SERVER, epoch=self.covers if self.covers > 1 else None)
        ledger = Ledger(unit="user", adjacency=self.sampler.adjacency, noise_source="seeded", terms=terms)
        if self.covers > 1:
            return self._of_epochs(ledger, z, rounds, looks)
        if looks:
            if look_noise is None:
                raise InvalidValue("the noise of a look must be given with looks, got none")
            ledger = ledger.charged(self.event(z, positive("look noise", look_noise)), looks)
        return ledger.charged(self.event(z), rounds - looks) if rounds > looks else ledger

    def _of_epochs(self, ledger: Ledger, z: float, rounds: int, looks: int) -> Ledger:
        if looks:
            raise InvalidValue(
                "cohorts that are drawn and charged for a whole epoch need a clip bound without looks, got "
                f"{looks} looks"
            )
        for first in range(0, rounds, self.covers):
            ledger = ledger.charged(self.event(z), 1)
            if more := min(self.covers, rounds - first) - 1:
                ledger = ledger.charged(NoOpDpEvent(), more)
        return ledger


def cohorts_of(
    sampling_rate: float | None, cohort_size: int | None, users: int | None, epoch: int | None = None
) -> Cohorts:
    """The cohorts that numbers describe; where everybody is drawn alike one user stands for all."""
    if sum(way is not None for way in (sampling_rate, cohort_size, epoch)) != 1:
        raise InvalidValue(
            "give one of a sampling rate, an epoch, and a cohort size with the number of users"
        )
    if cohort_size is None and users is not None:
        other = "a sampling rate" if epoch is None else "an epoch"
        raise InvalidValue(f"users belongs to a cohort size, got it with {other}")
    if epoch is not None:
        return Cohorts(sampler=RandomAllocation(epoch=epoch), users=1)
    if sampling_rate is not None:
        return Cohorts(sampler=PoissonSampler(rate=sampling_rate), users=1)
    if users is None:
        raise InvalidValue("users must be given with a cohort size, got none")
    assert cohort_size is not None  # one of the two is given
    sampler = FixedSizeSampler(size=cohort_size)
    sampler.check(whole("users", users))
    return Cohorts(sampler=sampler, users=users)


def described_by_numbers(
    cohorts: Cohorts,
    noise_multiplier: float | None,
    rounds: int | None,
    delta: float | None,
    accountant: str | None,
    looks: int = 0,
    look_noise: float | None = None,
) -> Described:
    """A noisy mean of clipped updates."""
    if look_noise is not None and not looks:
        raise InvalidValue("the noise of a look belongs to looks, got it without")
    if delta is None:
        raise InvalidValue("delta must be given, got none")
    z = None if noise_multiplier is None else positive("noise multiplier", noise_multiplier)

    def spent(noise: float | None, rounds: int) -> Ledger:
        assert noise is not None
        return cohorts.ledger(noise, rounds, looks, look_noise)

    return Described(
        spent=spent,
        event=cohorts.event,
        adjacency=cohorts.sampler.adjacency,
        noise_multiplier=z,
        rounds=None if rounds is None else whole("rounds", rounds),
        delta=open_unit("delta", delta),
        accountant=one_of("accountant", accountant or "pld", ACCOUNTANTS),
        covers=cohorts.covers,
    )


def described_by(
    what: What,
    *,
    users: int | None,
    rounds: int | None,
    delta: float | None,
    accountant: str | None,
    changes: Changes,
    data: PathLike | None,
    trust: bool,
) -> Described:
    """The training of an experiment or of an algorithm."""
    from fedward.core.algorithm import Algorithm

    if isinstance(what, Algorithm):
        if users is None or rounds is None or delta is None:
            raise InvalidValue("users, rounds and delta must be given with an algorithm, got not all of them")
        with_noise = _noise_of_algorithm(what)
        return _described(what, with_noise, users, rounds, delta, accountant or "pld")
    return _described_by_experiment(what, users, rounds, delta, accountant, changes, data, trust)


def _described_by_experiment(
    what: Any,
    users: int | None,
    rounds: int | None,
    delta: float | None,
    accountant: str | None,
    changes: Changes,
    data: PathLike | None,
    trust: bool,
) -> Described:
    from fedward.api.source import source_from
    from fedward.config import experiment as config
    from fedward.config.overrides import copy_tables, put
    from fedward.studies.training.setup import prepare

    content = source_from(what, changes=changes, trust=trust).content
    if users is not None:
        put(content, "privacy.users", users)
    if rounds is not None:
        content["rounds"] = rounds
    setup = prepare(config.from_content(content), None if data is None else Path(data))

    def with_noise(z: float) -> Algorithm:
        tables = copy_tables(content)
        if not isinstance(tables["algorithm"], Mapping) or "noise_multiplier" not in tables["algorithm"]:
            raise InvalidValue("the table [algorithm] must have a noise_multiplier to search for, got none")
        put(tables, "algorithm.noise_multiplier", z)
        return config.from_content(tables).make_algorithm(setup.federation, setup.model)

    return _described(
        setup.algorithm,
        with_noise,
        setup.federation.num_users,
        setup.experiment.rounds,
        setup.delta if delta is None else delta,
        accountant or setup.accountant,
    )


def _described(
    algorithm: Algorithm,
    with_noise: Callable[[float], Algorithm],
    users: int,
    rounds: int,
    delta: float,
    accountant: str,
) -> Described:
    from fedward.core.types import EpochSampler

    def spent(z: float | None, rounds: int) -> Ledger:
        return (algorithm if z is None else with_noise(z)).spent(users, rounds)

    covers: int | None = algorithm.sampler.epoch if isinstance(algorithm.sampler, EpochSampler) else 1
    if algorithm.mechanism.whole_training is not None:
        covers = None

    def event(z: float) -> DpEvent:
        changed = with_noise(z)
        if covers != 1:
            return changed.round_event(users, 0)
        events = {repr(found := changed.round_event(users, t)): found for t in range(min(rounds, 1000))}
        if len(events) != 1:
            raise InvalidValue("rounds must all spend the same to search for their noise, got several kinds")
        return next(iter(events.values()))

    return Described(
        spent=spent,
        event=event,
        adjacency=algorithm.adjacency,
        noise_multiplier=None,
        rounds=whole("rounds", rounds),
        delta=open_unit("delta", delta),
        accountant=one_of("accountant", accountant, ACCOUNTANTS),
        covers=covers,
    )


def _noise_of_algorithm(algorithm: Algorithm) -> Callable[[float], Algorithm]:
    from fedward.mechanisms import GaussianNoise
    from fedward.mechanisms.banded_noise import BandedNoise
    from fedward.mechanisms.buffered_noise import BufferedNoise

    def with_noise(z: float) -> Algorithm:
        if isinstance(algorithm.mechanism, BandedNoise | BufferedNoise):
            return replace(algorithm, mechanism=replace(algorithm.mechanism, noise_multiplier=z))
        if not isinstance(algorithm.mechanism, GaussianNoise):
            raise InvalidValue(
                f"an algorithm must add Gaussian noise to search for it, got {algorithm.mechanism}"
            )
        return replace(algorithm, mechanism=replace(algorithm.mechanism, multiplier=z))

    return with_noise
