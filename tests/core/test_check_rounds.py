"""Every round is checked before the first: none ends a training whose privacy has been spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedward
from core.rounds import FEDERATION, MODEL
from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import ConstrainAndScale, Scale, SkipLocalPrivacy, TrainAndScale
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound, PerLayerNorm, PolynomialDecay
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds, LocalTrainer, PolicyState
from fedward.local import DPSGD, SGD, FullGradient, NoisyGradient, ProjectedSGD
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.mechanisms import GaussianNoise
from fedward.presets import insdp_fedavg, ldp_fedsgd
from fedward.sampling import PoissonSampler
from support import Tamperer, tiny_algorithm, tiny_sgd

HALF = PoissonSampler(rate=0.5)
PRIVATE = DPSGD(
    learning_rate=0.1,
    probability=0.4,
    expected_batch=2.0,
    steps=1,
    noise_multiplier=1.0,
    clip_bound=0.5,
    learning_rate_decay=0.01,
)
FALLING = tiny_sgd(learning_rate=1.0, learning_rate_decay=0.01)
ALGORITHMS: dict[str, Algorithm] = {
    "sgd": tiny_algorithm(local=FALLING),
    "projected": tiny_algorithm(local=ProjectedSGD(sgd=FALLING)),
    "full gradient": tiny_algorithm(local=FullGradient(learning_rate_decay=0.01)),
    "dp-sgd": insdp_fedavg(num_users=12, sampler=HALF, local=replace(PRIVATE, learning_rate=1.0)),
    "noisy gradient": replace(
        ldp_fedsgd(num_users=12, sampler=HALF, noise_multiplier=2.0, clip_bound=0.5),
        local=NoisyGradient(noise_multiplier=2.0, clip_bound=0.5, learning_rate_decay=0.01),
    ),
}
# 0.01 to the power of 161 is the last that a double can tell from zero.
MESSAGE = (
    r"learning rate must be positive and finite, got 0\.0 in round 162 of 300 \(rounds are counted from 0\)"
)


def crew(*model: Any, rounds: tuple[int, ...] | None = None) -> Attacker:
    return Attacker(users=frozenset({1}), knowledge="own", rounds=rounds, data=(), model=model)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_learning_rate_that_falls_to_zero_is_refused_with_the_round_in_which_it_does(name: str) -> None:
    algorithm = ALGORITHMS[name]
    with pytest.raises(InvalidValue, match=MESSAGE):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=300, seed=1)
    with pytest.raises(InvalidValue, match=r"in round 162 of 163"):
        check_setup(algorithm, MODEL, FEDERATION.roster, rounds=163)
    check_setup(algorithm, MODEL, FEDERATION.roster, rounds=162)


def test_trainings_together_are_checked_the_same_way() -> None:
    together = Lockstep(MODEL, FEDERATION, fedward.InProcess(MODEL, FEDERATION), seed=1)
    with pytest.raises(InvalidValue, match=MESSAGE):
        together.start([Training(algorithm=ALGORITHMS["sgd"], rounds=300)])


@given(
    learning_rate=st.floats(1e-300, 1e3),
    decay=st.floats(0.001, 0.99),
    rounds=st.integers(1, 400),
)
def test_the_rounds_that_stand_for_all_have_the_first_that_fails(
    learning_rate: float, decay: float, rounds: int
) -> None:
    trainer = SGD(learning_rate=learning_rate, batch_size=2, epochs=1, learning_rate_decay=decay)

    def fails(t: int) -> bool:
        try:
            trainer.at_round(t, ())
        except InvalidValue:
            return True
        return False

    failing = [t for t in range(rounds) if fails(t)]
    tried = trainer.decisive_rounds(rounds)
    assert set(tried) <= set(range(rounds))
    assert [t for t in tried if fails(t)][:1] == failing[:1]


def test_a_trainer_of_ones_own_is_tried_in_every_round() -> None:
    @dataclass(frozen=True)
    class Own:
        def at_round(self, round: int, bounds: Bounds) -> LocalTrainer:
            if round == 5:
                raise InvalidValue("number of steps must be at least 1, got 0")
            return tiny_sgd()

        def train(self, *_: Any) -> None:
            raise AssertionError

    algorithm = tiny_algorithm(local=Own())
    with pytest.raises(InvalidValue, match=r"steps must be at least 1, got 0 in round 5 of 8 "):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=8, seed=1)
    check_setup(algorithm, MODEL, FEDERATION.roster, rounds=5)


@dataclass(frozen=True, kw_only=True)
class Table(FixedBound):
    """A bound for each round, known beforehand."""

    then: tuple[tuple[int, Bounds], ...]

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return dict(self.then).get(round, self._bounds)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0.0,), "clip bound must be positive, got 0.0 in round 7 of 20"),
        ((-1.0,), "clip bound must be positive, got -1.0 in round 7 of 20"),
        ((math.nan,), "clip bound must be positive, got nan in round 7 of 20"),
        (
            (math.inf,),
            "standard deviation of the noise must be positive and finite, got inf in round 7 of 20",
        ),
        ((1e-323,), "standard deviation of the noise must be positive and finite, got 0.0 in round 7 of 20"),
        ((), "clip bounds must be 1 or 2, one for each layer, got 0 in round 7 of 20"),
        ((0.5, 0.5, 0.5), "clip bounds must be 1 or 2, one for each layer, got 3 in round 7 of 20"),
    ],
)
def test_a_bound_of_a_later_round_that_will_not_do_is_refused_before_the_first(
    bounds: Bounds, message: str
) -> None:
    sizes = ParameterSpec.of(MODEL).layer_sizes()
    algorithm = replace(
        tiny_algorithm(),
        norm=PerLayerNorm(sizes=sizes),
        mechanism=GaussianNoise(multiplier=0.01),
        policy=Table(clip_bound=0.5, then=((7, bounds), (9, bounds))),
    )
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=20, seed=1)
    check_setup(algorithm, MODEL, FEDERATION.roster, rounds=7)


def test_a_falling_bound_whose_noise_comes_to_nothing_is_refused() -> None:
    """ε was printed for it, and the last rounds had no noise at all."""
    policy = PolynomialDecay(initial=1e-200, power=40.0, rounds=1000)
    assert policy.bound((), 999, None)[0] > 0
    algorithm = replace(tiny_algorithm(noise_multiplier=1e-3), policy=policy)
    assert algorithm.noise_std(policy.bound((), 999, None)[0]) == 0
    first = next(t for t in range(1000) if algorithm.noise_std(policy.bound((), t, None)[0]) == 0)
    with pytest.raises(
        InvalidValue, match=rf"noise must be positive and finite, got 0\.0 in round {first} of"
    ):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=1000, seed=1)
    check_setup(algorithm, MODEL, FEDERATION.roster, rounds=first)


@pytest.mark.parametrize("make", [lambda **kw: replace(PRIVATE, **kw), lambda **kw: NoisyGradient(**kw)])
def test_users_whose_own_noise_comes_to_nothing_are_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(InvalidValue, match="standard deviation of the noise must be positive and finite"):
        make(noise_multiplier=1e-9, clip_bound=1e-320)
    told = make(noise_multiplier=1e-9, clip_bound=None)
    with pytest.raises(InvalidValue, match="standard deviation of the noise"):
        told.at_round(0, (1e-320,))


@dataclass(frozen=True, kw_only=True)
class RunsDown(FixedBound):
    """A policy whose bound follows from what it carried along: nobody knows it beforehand."""

    to: float

    def init(self) -> PolicyState:
        return (0.5,)

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return (policy[0],)

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return (self.to,)


@pytest.mark.parametrize("to", [0.0, -0.5, math.nan, 1e-323])
def test_a_bound_that_nobody_could_know_ends_the_training_before_a_model_without_noise(to: float) -> None:
    algorithm = replace(tiny_algorithm(noise_multiplier=0.1), policy=RunsDown(clip_bound=1.0, to=to))
    rounds = fedward.rounds(algorithm, MODEL, FEDERATION, rounds=3, seed=1)
    state, _ = next(rounds)
    assert state.round == 1
    with pytest.raises(InvalidValue, match="must be positive"):
        next(rounds)


@pytest.mark.parametrize(
    "part",
    [TrainAndScale(local=FALLING, factor=2.0), ConstrainAndScale(local=FALLING, factor=2.0, norm=0.3)],
    ids=lambda part: type(part).__name__,
)
def test_what_attackers_train_with_is_tried_in_the_rounds_in_which_they_attack(part: Any) -> None:
    algorithm = tiny_algorithm()
    options: dict[str, Any] = {"rounds": 300, "seed": 1}
    for rounds in (None, (3, 162), (3, 250, 170)):
        attackers = crew(part, rounds=rounds)
        first = 162 if rounds is None else min(t for t in rounds if t >= 162)
        with pytest.raises(InvalidValue, match=rf"got 0\.0 in round {first} of 300"):
            fedward.rounds(algorithm, MODEL, FEDERATION, adversary=attackers, **options)
    fedward.rounds(algorithm, MODEL, FEDERATION, adversary=crew(part, rounds=(3, 161)), **options)
    fedward.rounds(algorithm, MODEL, FEDERATION, adversary=crew(Scale(factor=2.0), part), rounds=162, seed=1)


def test_an_adversary_of_ones_own_is_tried_in_every_round() -> None:
    class Late(Tamperer):
        def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
            if round == 3:
                raise InvalidValue("nothing to train with")
            return trainer

    adversary = Late({1}, lambda user, update: update)
    with pytest.raises(InvalidValue, match="nothing to train with in round 3 of 4"):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=4, seed=1, adversary=adversary)
    fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=3, seed=1, adversary=adversary)


@pytest.mark.parametrize(
    ("algorithm", "adversary"),
    [
        (tiny_algorithm(local=tiny_sgd(learning_rate_decay=0.9995)), None),
        (
            replace(tiny_algorithm(), policy=PolynomialDecay(initial=0.5, power=2.0, rounds=10**6)),
            crew(TrainAndScale(local=tiny_sgd(learning_rate_decay=0.9995), factor=2.0)),
        ),
        (
            insdp_fedavg(num_users=12, sampler=HALF, local=replace(PRIVATE, learning_rate_decay=0.9995)),
            crew(SkipLocalPrivacy()),
        ),
    ],
    ids=["sgd", "polynomial, attacked", "dp-sgd, attacked"],
)
def test_a_million_rounds_are_checked_by_trying_a_few(
    algorithm: Algorithm, adversary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One trial takes about ten microseconds: all of them would take as long as some trainings."""
    made: list[int] = []
    kind: Any = type(algorithm.local)
    at_round = kind.at_round

    def counted(self: Any, round: int, bounds: Bounds) -> Any:
        made.append(round)
        return at_round(self, round, bounds)

    monkeypatch.setattr(kind, "at_round", counted)
    check_setup(algorithm, MODEL, FEDERATION.roster, adversary, 10**6)
    assert len(made) <= 12
    assert 10**6 - 1 in made
