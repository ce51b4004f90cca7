from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

import pytest
import torch
from torch import nn

import fedward
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train as train_with
from fedward.core.types import Job, Row
from fedward.presets import fedavg, fedsgd
from fedward.privacy import Budget, Ledger
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()


def test_it_yields_every_round_and_leaves_the_model_alone() -> None:
    model = tiny_model()
    before = copy.deepcopy(model.state_dict())
    rounds = list(fedward.rounds(tiny_algorithm(), model, FEDERATION, rounds=4, seed=1))
    assert [state.round for state, _ in rounds] == [1, 2, 3, 4]
    assert [log.round for _, log in rounds] == [0, 1, 2, 3]
    assert rounds[-1][0].ledger.rounds == 4
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_the_same_seed_gives_the_same_model_bit_for_bit() -> None:
    results = [
        list(fedward.rounds(tiny_algorithm(), tiny_model(), FEDERATION, rounds=3, seed=seed))[-1][
            0
        ].parameters
        for seed in (5, 5, 6)
    ]
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_going_on_from_any_state_ends_in_the_same_model_and_ledger(stop: int) -> None:
    algorithm, model = tiny_algorithm(), tiny_model()
    whole = list(fedward.rounds(algorithm, model, FEDERATION, rounds=4, seed=1))
    resumed = list(fedward.rounds(algorithm, model, FEDERATION, rounds=4, seed=1, state=whole[stop - 1][0]))
    assert len(resumed) == 4 - stop
    assert torch.equal(resumed[-1][0].parameters, whole[-1][0].parameters)
    assert resumed[-1][0].ledger == whole[-1][0].ledger


def test_a_finished_training_releases_nothing_more() -> None:
    algorithm, model = tiny_algorithm(), tiny_model()
    state = list(fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1))[-1][0]
    assert list(fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1, state=state)) == []


def test_fedavg_and_fedsgd_learn() -> None:
    federation, model = tiny_federation(num_users=20, per_user=20), tiny_model()
    for algorithm, rounds in [
        (fedavg(sampler=FixedSizeSampler(size=10), local=tiny_sgd(batch_size=5)), 15),
        (fedsgd(sampler=EveryoneSampler(), learning_rate=2.0), 40),
    ]:
        backend = fedward.InProcess(model, federation)
        state = list(fedward.rounds(algorithm, model, federation, rounds=rounds, seed=1))[-1][0]
        assert federation.test is not None
        assert backend.evaluate(state.parameters, federation.test).accuracy > 0.9


class Recorder:
    """A journal and a backend in one, to see in which order they are called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.ledgers: list[Ledger] = []

    def reserve(self, ledger: Ledger, users: object = None) -> None:
        self.calls.append("reserve")
        self.ledgers.append(ledger)

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        self.calls.append("train")
        return iter([Row(job.user, torch.zeros_like(job.parameters)) for job in jobs])


def test_a_round_is_reserved_before_its_jobs_run() -> None:
    recorder = Recorder()
    for _ in train_with(
        tiny_algorithm(),
        tiny_model(),
        FEDERATION,
        recorder,
        rounds=2,
        seed=1,
        journal=recorder,
    ):
        recorder.calls.append("yield")
    assert recorder.calls == ["reserve", "train", "yield"] * 2
    assert [ledger.reserved is not None for ledger in recorder.ledgers] == [True, True]


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_the_budget_ends_training_before_the_round_that_would_overspend(accountant: str) -> None:
    algorithm = tiny_algorithm()
    budget = Budget(epsilon=6.0, delta=1e-3, accountant=accountant)
    state = list(fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=50, seed=1, budget=budget))[-1][0]
    assert 1 <= state.round < 50
    assert state.ledger.guarantee(1e-3, accountant).epsilon <= 6.0
    assert algorithm.guarantee(12, state.round + 1, 1e-3, accountant).epsilon > 6.0


def test_a_budget_that_no_round_fits_in_is_refused_before_any_work() -> None:
    recorder = Recorder()
    with pytest.raises(InvalidValue, match="one round"):
        train_with(
            tiny_algorithm(),
            tiny_model(),
            FEDERATION,
            recorder,
            rounds=2,
            seed=1,
            budget=Budget(epsilon=0.01, delta=1e-3, accountant="pld"),
            journal=recorder,
        )
    assert recorder.calls == []


def test_a_budget_for_what_has_no_guarantee_is_refused() -> None:
    algorithm = fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd())
    with pytest.raises(InvalidValue):
        fedward.rounds(
            algorithm,
            tiny_model(),
            FEDERATION,
            rounds=2,
            seed=1,
            budget=Budget(epsilon=1.0, delta=1e-3, accountant="pld"),
        )


class Broken(nn.Module):
    def __init__(self, output: object) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.output = output

    def forward(self, x: torch.Tensor) -> object:
        if isinstance(self.output, Exception):
            raise self.output
        return self.output


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(4, 2), r"cannot read a batch of shape \(2, 3\)"),
        (nn.Linear(3, 1), r"score for each example and class, \(2, 2\), got \(2, 1\)"),
        (Broken(torch.zeros(2)), "score for each example and class"),
        (Broken(torch.zeros(1, 2)), "score for each example and class"),
        (Broken("text"), "got str"),
        (Broken(RuntimeError("boom")), "boom"),
        (nn.ReLU(), "no trainable parameters"),
        (
            nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)),
            "layer 1 is BatchNorm1d.*GroupNorm",
        ),
        (
            nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False)),
            "layer 1 is BatchNorm1d",
        ),
    ],
)
def test_a_model_that_cannot_work_is_refused_before_any_work(model: nn.Module, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(tiny_algorithm(), model, FEDERATION, rounds=1, seed=1)


def test_batch_norm_is_allowed_without_privacy_and_its_statistics_are_averaged() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd(batch_size=5))
    state = list(fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1))[-1][0]
    spec = ParameterSpec.of(model)
    statistics = spec.views(state.parameters)["1.running_mean"]
    assert not torch.equal(statistics, torch.zeros(4))


@pytest.mark.parametrize("rounds", [0, -1])
def test_rounds_must_be_positive(rounds: int) -> None:
    with pytest.raises(InvalidValue, match="rounds must be at least 1"):
        fedward.rounds(tiny_algorithm(), tiny_model(), FEDERATION, rounds=rounds, seed=1)


def test_more_users_than_exist_are_refused() -> None:
    algorithm = fedavg(sampler=FixedSizeSampler(size=13), local=tiny_sgd())
    with pytest.raises(InvalidValue, match="at most the number of users, 12, got 13"):
        fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=1, seed=1)


def test_a_state_of_another_model_is_refused() -> None:
    algorithm = tiny_algorithm()
    state = algorithm.init(torch.zeros(5))
    with pytest.raises(InvalidValue, match="state must hold 26 parameters"):
        fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=1, seed=1, state=state)


def test_a_state_of_another_kind_of_training_is_refused() -> None:
    state = list(fedward.rounds(tiny_algorithm(), tiny_model(), FEDERATION, rounds=1, seed=1))[-1][0]
    for other in (
        tiny_algorithm(sampler=PoissonSampler(rate=0.25)),
        tiny_algorithm(sampler=FixedSizeSampler(size=6)),
        tiny_algorithm(noise_source="system"),
        fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd()),
    ):
        with pytest.raises(InvalidValue, match="same sampling, noise source and guarantee"):
            fedward.rounds(other, tiny_model(), FEDERATION, rounds=2, seed=1, state=state)
    # More noise from here on is another matter: the ledger holds both.
    noisier = tiny_algorithm(noise_multiplier=2.0)
    after = list(fedward.rounds(noisier, tiny_model(), FEDERATION, rounds=2, seed=1, state=state))[-1][0]
    assert len(after.ledger.entries) == 2


def test_dropout_follows_the_seed_and_leaves_the_global_generator_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
    torch.manual_seed(0)
    first = list(fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1))[-1][0].parameters
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))
    torch.manual_seed(99)
    second = list(fedward.rounds(algorithm, model, FEDERATION, rounds=2, seed=1))[-1][0].parameters
    assert torch.equal(first, second)
