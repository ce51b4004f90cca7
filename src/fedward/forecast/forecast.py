"""A forecast of an experiment, or a sweep: work, time, disk space and privacy, before any of it is done."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.backends.compute import Compute
from fedward.backends.engines.threads import cores as usable_cores
from fedward.certificates.ceiling import Ceiling
from fedward.config.sweep_section import Sweep
from fedward.core.types import PrivateTrainer
from fedward.forecast.calibration import Calibration, calibrate
from fedward.forecast.cautions import cautions
from fedward.forecast.spending_forecast import Spending, forecast_spending
from fedward.privacy.known_epsilons import storing_no_epsilon
from fedward.studies.certification.claimed_ceiling import forecast_ceilings
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.sweep.sweep_study import SweepStudy
from fedward.studies.training.setup import Setup

# What the machine does besides, and what threads get in each other's way, is not in a second's measurement.
_LOW, _HIGH = 0.7, 1.8
_BEGINNING = 4.0
# All combinations of a sweep together are not tried for longer than one experiment would be, by much.
_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Local trainings.

    Args:
      cohort: how many users a round is expected to have.
      asked: of all rounds and replicas.
      run: how many of these are run; equal ones run once.
    """

    cohort: float
    asked: float
    run: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Everything that ``fedward check`` says.

    Args:
      setup: the experiment, made ready.
      replicas: M, where many trainings are asked for; None for one run.
      rounds: how many a training will have; fewer than the file's if a budget ends it.
      sizes: the smallest, the middle and the largest number of examples of a user.
      seconds: the least and the most that it may take; None if nothing was measured.
      disk: bytes that the run directory will take.
      cores: on how many.
      ceilings: the largest k that so many replicas could certify; empty where nothing would be certified.
    """

    setup: Setup
    replicas: int | None
    rounds: int
    sizes: tuple[int, int, int]
    parameters: int
    engine: str
    jobs: Jobs
    spending: Spending
    cautions: tuple[str, ...]
    calibration: Calibration | None
    seconds: tuple[float, float] | None
    disk: int
    cores: int
    ceilings: tuple[Ceiling, ...] = ()


@storing_no_epsilon()
def forecast(
    setup: Setup,
    *,
    replicas: int | None = None,
    measure: bool = True,
    compute: Compute | None = None,
    seconds: float = 1.0,
    by_others: bool = True,
) -> Forecast:
    """Looks at an experiment that is ready to run. Nothing is written to disk.

    Args:
      replicas: M, for ``fedward replicas`` and ``fedward certify``; None for ``fedward run``.
      measure: whether a few users are trained to see how long that takes.
      compute: where and how it would be trained.
      seconds: for how long they are trained, about.
      by_others: whether ε is worked out by the other accountants too.
    """
    compute = (compute or Compute()).check()
    cores = max(1, usable_cores() if compute.processes is None else compute.processes)
    together = None if replicas is None else ReplicaRun(variants={"all": setup}, replicas=replicas)
    spent = forecast_spending(setup, by_others=by_others)
    rounds = spent.rounds
    jobs = jobs_of(setup, rounds, replicas or 1)
    measured = calibrate(setup, compute, seconds=seconds) if measure else None
    ordered = sorted(setup.federation.sizes.tolist())
    return Forecast(
        setup=setup,
        replicas=replicas,
        rounds=rounds,
        sizes=(ordered[0], ordered[len(ordered) // 2], ordered[-1]),
        parameters=setup.parameters.numel(),
        engine=setup.engine(compute),
        jobs=jobs,
        spending=spent,
        cautions=tuple(cautions(setup, spent)),
        calibration=measured,
        seconds=None if measured is None else _seconds(setup, measured, jobs, rounds, replicas, cores),
        disk=_disk(setup, rounds, jobs.cohort, together),
        cores=cores,
        ceilings=() if replicas is None else forecast_ceilings(setup, replicas),
    )


def jobs_of(setup: Setup, rounds: int, replicas: int) -> Jobs:
    """How many local trainings there will be, as far as it does not depend on chance.

    Replicas begin with the same model, so in the first round every user trains at most once for all of
    them: of N users, each drawn with probability q, N (1 - (1 - q)^M) do. Later their models differ, unless
    nothing is drawn at all. Local trainings that draw noise are never shared.
    """
    users = setup.federation.num_users
    algorithm = setup.algorithm
    cohort = min(float(users), algorithm.sampler.expected_size(users))
    asked = replicas * rounds * cohort
    if replicas == 1 or isinstance(algorithm.local, PrivateTrainer):
        return Jobs(cohort=cohort, asked=asked, run=asked)
    if cohort == users and algorithm.sampler.exact and algorithm.mechanism.multiplier == 0:
        return Jobs(cohort=cohort, asked=asked, run=rounds * cohort)
    first = users * (1 - (1 - cohort / users) ** replicas)
    return Jobs(cohort=cohort, asked=asked, run=first + replicas * (rounds - 1) * cohort)


def _seconds(
    setup: Setup, measured: Calibration, jobs: Jobs, rounds: int, replicas: int | None, cores: int
) -> tuple[float, float]:
    every = setup.experiment.evaluation.every
    evaluations = -(-rounds // every) if replicas is None else 1
    server = (replicas or 1) * (rounds * measured.finish + evaluations * measured.evaluation)
    low, high = (
        jobs.run * max(0.0, measured.job + sign * 2 * measured.job_error) / cores + server for sign in (-1, 1)
    )
    return _BEGINNING + _LOW * low, _BEGINNING + _HIGH * high


def _disk(setup: Setup, rounds: int, cohort: float, together: ReplicaRun | None) -> int:
    """What the files will take; one that is replaced is there twice for a moment."""
    parameters = setup.parameters
    state = parameters.nbytes + sum(each.nbytes for each in setup.algorithm.server.init(parameters))
    if together is not None:
        test = setup.federation.test
        assert test is not None  # checked when the replicas were asked for
        scores = together.replicas * len(test) * setup.federation.num_classes * 4
        return 2 * min(together.block_size, together.replicas) * state + scores
    seeded = setup.algorithm.noise_source == "seeded"
    telemetry = rounds * (200 + 40 * cohort) if seeded else 0.0
    measured = -(-rounds // setup.experiment.evaluation.every) * 200
    return int(2 * state + parameters.nbytes + telemetry + measured + 5000)


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


@storing_no_epsilon()
def forecast_sweep(
    study: SweepStudy, *, measure: bool = True, compute: Compute | None = None
) -> SweepForecast:
    """Looks at a sweep that is ready to run. Nothing is written to disk."""
    sweep = study.sweep
    number = len(sweep.points) // len(sweep.seeds)
    found = {
        point.combination: forecast(
            setup,
            measure=measure,
            compute=compute,
            seconds=min(1.0, _SECONDS / number),
            by_others=False,  # pld may take a minute for each
        )
        for point, setup in zip(sweep.points[:number], study.setups[:number], strict=True)
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
