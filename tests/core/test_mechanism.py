"""A mechanism with state that is charged for its whole training: trained, stored, resumed, in lockstep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from dp_accounting import NoOpDpEvent, SelfComposedDpEvent

from core.correlated import Correlated
from fedward.backends import InProcess
from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import PolynomialDecay, Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.mechanisms import NoNoise
from fedward.privacy import Budget, Ledger
from fedward.privacy.accountants import epsilon_of
from fedward.rundir import checkpoint
from fedward.rundir.store import open_run
from fedward.sampling import EveryoneSampler, PoissonSampler
from support import one_round, tiny_algorithm, tiny_federation, tiny_model

FEDERATION, MODEL = tiny_federation(), tiny_model()
START = ParameterSpec.of(MODEL).flatten(MODEL)
ROUNDS = 4


def correlated(*, rounds: int = ROUNDS, source: str = "seeded", **changes: object) -> Algorithm:
    mechanism = Correlated(multiplier=2.0, rounds=rounds, source=source)  # type: ignore[arg-type]
    return replace(tiny_algorithm(), mechanism=mechanism, **changes)  # type: ignore[arg-type]


def states(algorithm: Algorithm, state: ServerState | None = None, **options: object) -> list[ServerState]:
    backend = InProcess(MODEL, FEDERATION)
    options = {"rounds": ROUNDS, "seed": 1, "state": state} | options
    return [after for after, _ in train(algorithm, MODEL, FEDERATION, backend, **options)]  # type: ignore[arg-type]


def test_noise_of_a_round_depends_on_that_of_the_round_before() -> None:
    algorithm = correlated(sampler=EveryoneSampler())
    silent = replace(algorithm, mechanism=NoNoise())
    state = algorithm.init(START)
    std = algorithm.noise_std(0.7)
    before = torch.zeros(len(START), dtype=torch.float64)
    for t in range(3):
        plain, _, _ = one_round(
            silent, replace(silent.init(state.parameters), round=0), FEDERATION, lambda u: torch.ones(26) / 99
        )
        state, _, _ = one_round(algorithm, state, FEDERATION, lambda u: torch.ones(26) / 99)
        drawn = torch.from_numpy(stream(1, "noise", replica=0, round=t).standard_normal(len(START)))
        wanted = plain.parameters + std * (drawn - before / 2)
        torch.testing.assert_close(state.parameters.double(), wanted.double(), rtol=1e-5, atol=1e-6)
        (before,) = state.mechanism
        assert torch.equal(before, drawn)


def test_the_whole_training_is_reserved_before_its_first_round_and_no_more_later() -> None:
    reserved: list[Ledger] = []

    class Journal:
        def reserve(self, ledger: Ledger, users: object = None) -> None:
            reserved.append(ledger)

    algorithm = correlated()
    after = states(algorithm, journal=Journal())
    planned = algorithm.guarantee(12, ROUNDS, 1e-3, "pld")
    for ledger in reserved:
        assert ledger.guarantee(1e-3, "pld").epsilon == planned.epsilon
    assert [type(ledger.reserved.event) for ledger in reserved if ledger.reserved] == [
        SelfComposedDpEvent,
        *[NoOpDpEvent] * (ROUNDS - 1),
    ]
    assert after[-1].ledger == algorithm.planned_ledger(12, ROUNDS)
    assert after[-1].ledger.guarantee(1e-3, "pld") == planned


@pytest.mark.parametrize("stop", range(1, ROUNDS))
def test_going_on_from_a_checkpoint_ends_in_the_same_bits(stop: int) -> None:
    whole = states(correlated())
    stored = checkpoint.from_bytes(checkpoint.to_bytes(whole[stop - 1]), "checkpoint")
    end = states(correlated(), stored)[-1]
    assert torch.equal(end.parameters, whole[-1].parameters)
    assert torch.equal(end.mechanism[0], whole[-1].mechanism[0])
    assert end.ledger == whole[-1].ledger


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_run_on_disk_that_was_killed_after_its_reservation_goes_on(
    tmp_path: Path, source: str, drawn: bool
) -> None:
    """A round with seeded noise is charged once; one with fresh noise costs a whole training once more.

    Where users are drawn it costs two without drawing: both releases show the coins of the rounds before.
    """
    sampler = PoissonSampler(rate=0.5) if drawn else EveryoneSampler()
    algorithm, backend = correlated(source=source, sampler=sampler), InProcess(MODEL, FEDERATION)
    with open_run(tmp_path / "run") as directory:
        rounds = train(algorithm, MODEL, FEDERATION, backend, rounds=ROUNDS, seed=1, journal=directory)
        directory.save_round(*next(rounds))
        next(rounds)  # reserved and trained, but never stored
    with open_run(tmp_path / "run") as directory:
        stored = directory.load_state()
        assert stored is not None
        assert stored.round == 1
        end = states(algorithm, directory.with_reservation(stored), journal=directory)[-1]
    once = algorithm.guarantee(12, ROUNDS, 1e-3, "rdp").epsilon
    spent = end.ledger.guarantee(1e-3, "rdp").epsilon
    if source == "seeded":
        assert torch.equal(end.parameters, states(algorithm)[-1].parameters)
        assert spent == once
        return
    again = replace(algorithm, sampler=EveryoneSampler()).round_event(12, 0)
    charged = [(algorithm.round_event(12, 0), 1), (again, 2 if drawn else 1)]
    assert spent == pytest.approx(epsilon_of(charged, 1e-3, "rdp", "add/remove"))


def test_trainings_in_lockstep_come_to_the_same_bits_as_by_themselves() -> None:
    together = Lockstep(MODEL, FEDERATION, InProcess(MODEL, FEDERATION), seed=1)
    algorithms = [correlated(), correlated(rounds=9), tiny_algorithm()]
    trainings = [
        Training(algorithm=algorithm, rounds=ROUNDS, replica=replica)
        for algorithm in algorithms
        for replica in (0, 1)
    ]
    after = together.start(trainings)
    for _ in range(ROUNDS):
        after = [state for state, _ in together.round(trainings, after)]
    for training, state in zip(trainings, after, strict=True):
        alone = states(training.algorithm, replica=training.replica)[-1]
        assert torch.equal(state.parameters, alone.parameters)
        assert state.ledger == alone.ledger
        assert len(state.mechanism) == len(alone.mechanism)
        assert all(torch.equal(a, b) for a, b in zip(state.mechanism, alone.mechanism, strict=True))


def test_a_checkpoint_of_a_mechanism_without_state_is_what_it_always_was() -> None:
    assert "mechanism" not in checkpoint.to_content(states(tiny_algorithm())[-1])


def test_a_state_without_that_of_its_mechanism_is_refused() -> None:
    (first, *_) = states(correlated())
    with pytest.raises(InvalidValue, match="carries from round to round"):
        states(correlated(), replace(first, mechanism=()))
    with pytest.raises(InvalidValue, match="carries from round to round"):
        states(tiny_algorithm(), replace(first, ledger=tiny_algorithm().new_ledger()))


def test_a_budget_must_pay_for_the_whole_training_at_once() -> None:
    algorithm = correlated()
    whole = algorithm.guarantee(12, ROUNDS, 1e-3, "pld").epsilon
    assert len(states(algorithm, budget=Budget(epsilon=whole, delta=1e-3, accountant="pld"))) == ROUNDS
    with pytest.raises(InvalidValue, match="budget must be at least"):
        states(algorithm, budget=Budget(epsilon=0.99 * whole, delta=1e-3, accountant="pld"))


def test_rounds_that_the_event_does_not_cover_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"rounds must be at most 3, which Correlated\(.*\) covers, got 4"):
        states(correlated(rounds=3))
    with pytest.raises(InvalidValue, match="round must be below 3"):
        correlated(rounds=3).guarantee(12, 4, 1e-3, "pld")


def test_a_bound_that_looks_or_moves_is_refused() -> None:
    looking = Quantile(initial=0.1, quantile=0.5, bit_noise=1.0, expected_cohort=6)
    with pytest.raises(InvalidValue, match="needs a clip bound without looks"):
        correlated(policy=looking)
    with pytest.raises(InvalidValue, match=r"needs a clip bound that stays, got .* in round 1"):
        states(correlated(policy=PolynomialDecay(initial=1.0, power=1.0, rounds=9)))


def test_what_only_draws_noise_is_no_mechanism() -> None:
    with pytest.raises(InvalidType, match="mechanism must make an aggregate private"):
        replace(tiny_algorithm(), mechanism=object())  # type: ignore[arg-type]
