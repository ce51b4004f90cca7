"""What users send is plain before anything is asked of it: no class, no memory of theirs gets any further."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fedward
from core.hostile_tensors import READABLE, UNFIT, Dispatches, Small, ZeroNorm
from core.rounds import FEDERATION, MODEL, SIZE, numbered, start
from fedward.aggregation import AllRows, CoordinateMedian, Mean
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import FixedBound, PerLayerNorm, RawMedian
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import ParameterSpec
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Bounds, PolicyState, Row, ServerState, Sight
from fedward.mechanisms import NoNoise
from fedward.sampling import EveryoneSampler
from fedward.server import ServerMomentum, ServerStep
from part_examples import TINY_DP_SGD
from support import Tamperer, one_round, tiny_algorithm, tiny_federation, tiny_model

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about kinds of tensors that it is leaving
HUGE = torch.full((SIZE,), 5e5)
BOUND, USERS = 0.7, 12


def quiet(**changes: Any) -> Algorithm:
    """Everybody in every round and no noise: what is left is what rows were clipped to."""
    return replace(
        tiny_algorithm(sampler=EveryoneSampler(), clip_bound=BOUND), mechanism=NoNoise(), **changes
    )


ALGORITHMS: dict[str, Callable[[], Algorithm]] = {
    "one norm": quiet,
    "a norm for each layer": lambda: quiet(norm=PerLayerNorm(sizes=ParameterSpec.of(MODEL).layer_sizes())),
    "a rule of all rows": lambda: quiet(aggregator=AllRows(rule=CoordinateMedian())),
    "a server with memory": lambda: quiet(server=ServerMomentum()),
}


def outcome(algorithm: Algorithm, sent: Callable[[], Any], *, tampered: bool) -> tuple[ServerState, Any]:
    """A round in which user 3 sends that, by itself or through an adversary."""
    adversary = Tamperer({3}, lambda user, update: sent()) if tampered else None
    state, log, _ = one_round(
        algorithm,
        start(algorithm),
        FEDERATION,
        lambda u: sent() if u == 3 and not tampered else numbered(u) / 100,
        adversary=adversary,
    )
    assert log.telemetry is not None
    return state, log.telemetry


def assert_same(one: ServerState, two: ServerState) -> None:
    for state in (one, two):
        assert [type(each) for each in (state.parameters, *state.server)] == [Tensor] * (
            1 + len(state.server)
        )
    assert torch.equal(one.parameters, two.parameters)
    assert all(torch.equal(a, b) for a, b in zip(one.server, two.server, strict=True))


@pytest.mark.parametrize("tampered", [False, True])
@pytest.mark.parametrize("how", ALGORITHMS)
@pytest.mark.parametrize("kind", READABLE)
def test_a_tensor_of_any_class_counts_as_the_plain_one_in_its_memory(
    kind: str, how: str, tampered: bool
) -> None:
    algorithm = ALGORITHMS[how]()
    state, seen = outcome(algorithm, lambda: READABLE[kind](HUGE.clone()), tampered=tampered)
    expected, told = outcome(algorithm, lambda: HUGE.clone(), tampered=tampered)
    assert_same(state, expected)
    assert seen == told
    assert seen.norms[3] == pytest.approx(5e5 * SIZE**0.5)
    assert seen.rejected == ()


@pytest.mark.parametrize("tampered", [False, True])
@pytest.mark.parametrize("kind", UNFIT)
def test_what_cannot_be_made_plain_is_rejected_and_counted(kind: str, tampered: bool) -> None:
    algorithm = quiet()
    state, seen = outcome(algorithm, lambda: UNFIT[kind](HUGE.clone()), tampered=tampered)
    expected, _ = outcome(algorithm, lambda: torch.zeros(SIZE), tampered=tampered)
    assert seen.rejected == (3,)
    assert_same(state, expected)


def test_no_class_moves_the_model_further_than_its_bound() -> None:
    """The tensor of the issue: with a norm of 0 it went through the clip whole, and ε was printed."""
    algorithm = quiet()
    calm, _, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: torch.zeros(SIZE))
    state, _ = outcome(algorithm, lambda: HUGE.as_subclass(ZeroNorm), tampered=True)
    others, _ = outcome(algorithm, lambda: torch.zeros(SIZE), tampered=True)
    assert float((calm.parameters - start(algorithm).parameters).norm()) == 0
    assert 0 < float((state.parameters - others.parameters).norm()) <= BOUND / USERS * (1 + 1e-6)


class WritesLater(Tamperer):
    """Sends small rows, keeps them, and makes the earlier ones huge when it is asked for the next."""

    def __init__(self) -> None:
        super().__init__({1, 4, 9}, lambda user, update: update)
        self.kept: list[Tensor] = []

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        for earlier in self.kept:
            earlier.fill_(1e6)
        self.kept.append(torch.full((SIZE,), 1e-3))
        return self.kept[-1]


@pytest.mark.parametrize(
    "algorithm",
    [quiet(aggregator=AllRows(rule=CoordinateMedian())), quiet(policy=RawMedian())],
    ids=["a rule of all rows", "a bound from the norms of the round"],
)
def test_what_a_sender_writes_after_it_has_sent_changes_nothing(algorithm: Algorithm) -> None:
    """Measured and clipped it may have been; summed up it was not yet."""
    adversary = WritesLater()
    state, log, _ = one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=adversary)
    honest = Tamperer({1, 4, 9}, lambda user, update: torch.full((SIZE,), 1e-3))
    expected, told, _ = one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=honest)
    assert float(adversary.kept[0].max()) == 1e6
    assert_same(state, expected)
    assert log == told


def test_an_adversary_is_shown_plain_tensors_only() -> None:
    seen: list[Sight] = []

    class Spy(Tamperer):
        knowledge = "cohort"
        needs_all_rows = True

        def __init__(self) -> None:
            self.users = frozenset({2, 5})

        def poison(self, *_: Any) -> None:
            return None

        def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
            seen.append(sight)
            assert type(update) is Tensor
            return update

    def sent(user: int) -> Any:
        kinds = list(READABLE.values())
        return UNFIT["computes by its own code"](HUGE) if user in (5, 7) else kinds[user](numbered(user))

    one_round(quiet(), start(quiet()), FEDERATION, sent, adversary=Spy())
    (sight,) = seen  # who trained what is no update is not asked
    assert sight.own.keys() == {2}
    assert sight.honest is not None
    assert [type(each) for each in (sight.parameters, *sight.own.values(), sight.honest)] == [Tensor] * 3
    assert torch.equal(sight.honest, torch.stack([numbered(u) for u in range(12) if u not in (2, 5, 7)]))


@dataclass(frozen=True, kw_only=True)
class Watching(FixedBound):
    """Keeps the norms that it is shown."""

    seen: list[Bounds]

    def looks(self, round: int) -> tuple[float, ...]:
        return (5.0,)

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        self.seen.extend(norms)
        return policy


def test_a_reported_norm_is_a_plain_number_before_it_is_compared() -> None:
    policy = Watching(clip_bound=BOUND, seen=[])
    algorithm = quiet(policy=policy)
    state = start(algorithm)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    said: dict[int, Any] = {0: Small(1e9), 1: Small(-1.0), 2: "2", 3: np.float64(0.25), 4: Small("nan")}
    rows = [Row(job.user, numbered(job.user), said.get(job.user)) for job in plan.jobs]
    finish_round(algorithm, state, plan, receive(algorithm, state, plan, rows, 1), 1)
    norms = [norm for (norm,) in policy.seen]
    assert {type(norm) for norm in norms} == {float}
    own = [float(numbered(user).double().norm()) for user in range(12)]
    assert norms == pytest.approx([1e9, own[1], own[2], 0.25, *own[4:]])


def of_class(model: nn.Module, kind: Callable[[Tensor], Tensor]) -> nn.Module:
    """The same model with weights of a class of their own."""
    model[0].weight = nn.Parameter(kind(model[0].weight.detach()))  # type: ignore[index]
    return model


def test_a_state_never_inherits_a_class_from_the_model() -> None:
    model = of_class(tiny_model(), lambda weight: weight.as_subclass(ZeroNorm))
    assert type(model[0].weight) is ZeroNorm  # type: ignore[index]
    assert type(ParameterSpec.of(model).flatten(model)) is Tensor
    algorithm = tiny_algorithm()
    ends = [list(fedward.rounds(algorithm, each, FEDERATION, rounds=2, seed=1)) for each in (model, MODEL)]
    assert_same(ends[0][-1][0], ends[1][-1][0])


def test_a_state_never_inherits_a_class_from_the_servers_step() -> None:
    @dataclass(frozen=True, kw_only=True)
    class OwnStep(ServerStep):
        def step(self, parameters: Tensor, mean: Tensor, state: Any) -> Any:
            moved, _ = super().step(parameters, mean, state)
            return moved.as_subclass(ZeroNorm), (mean.as_subclass(ZeroNorm),)

    state, _ = outcome(quiet(server=OwnStep()), lambda: HUGE, tampered=False)
    assert [type(each) for each in (state.parameters, *state.server)] == [Tensor, Tensor]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (of_class(tiny_model(), Dispatches), "parameter 0.weight must be a plain tensor, got Dispatches"),
        (nn.Sequential(nn.LazyLinear(2)), "parameter 0.weight must be a plain tensor, got Uninit"),
    ],
)
def test_a_model_whose_weights_cannot_be_read_is_refused_before_training(
    model: nn.Module, message: str
) -> None:
    with pytest.raises(InvalidType, match=message):
        ParameterSpec.of(model)


def test_where_users_clip_for_themselves_no_weight_may_have_a_class_of_its_own() -> None:
    model = of_class(tiny_model(), lambda weight: weight.as_subclass(ZeroNorm))
    algorithm = fedward.presets.insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=TINY_DP_SGD)
    with pytest.raises(InvalidValue, match=r"0\.weight of the model is a ZeroNorm, which is refused where"):
        fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1)


def test_data_of_a_class_are_plain_in_a_federation() -> None:
    clean = tiny_federation()
    assert isinstance(clean.examples.x, Tensor)
    owner = torch.repeat_interleave(torch.arange(12), clean.sizes).numpy()
    own = fedward.Federation.from_arrays(
        clean.examples.x.as_subclass(ZeroNorm), clean.examples.y.as_subclass(ZeroNorm), owner
    )
    direct = fedward.Examples(clean.examples.x.as_subclass(ZeroNorm), clean.examples.y)
    for examples in (own.examples, direct):
        assert (type(examples.x), type(examples.y)) == (Tensor, Tensor)
        assert torch.equal(examples.x, clean.examples.x)  # type: ignore[arg-type]


def test_only_means_of_plain_rows_come_out_of_a_mean() -> None:
    """A mean is where the class of one row would become that of the model."""
    added: list[type] = []

    @dataclass(frozen=True, kw_only=True)
    class Seeing(Mean):
        def add(self, total: Tensor, row: Tensor, num_examples: int) -> Tensor:
            added.append(type(row))
            return super().add(total, row, num_examples)

    algorithm = quiet(aggregator=Seeing(expected_cohort=12.0))
    one_round(algorithm, start(algorithm), FEDERATION, lambda u: list(READABLE.values())[u](numbered(u)))
    assert added == [Tensor] * 12
