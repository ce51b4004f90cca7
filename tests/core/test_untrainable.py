"""Models that cannot be trained: a clear error that names user and round, before or at the first job."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.core.failure import TrainingFailed
from fedward.core.train import train
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import Tamperer, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
MODEL = tiny_model()


class Wrapped(nn.Module):
    """A linear model that does something else while it is trained, from a certain call on."""

    calls = 0  # of the class: what a module keeps of a user is forgotten with that user

    def __init__(self, what: Any, after: int = 0) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.what, self.after = what, after
        Wrapped.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.inner(x)
        if not self.training:
            return scores
        Wrapped.calls += 1
        if Wrapped.calls <= self.after:
            return scores
        changed: Tensor = self.what(scores)
        return changed


def fail(scores: Tensor) -> Tensor:
    raise KeyError("a layer that is not there")


def too_much(scores: Tensor) -> Tensor:
    return scores + torch.empty(2**50)  # more than any machine has: refused at once, nothing is taken


def rounds(module: nn.Module, count: int = 3, **changes: Any) -> int:
    algorithm = tiny_algorithm(**({"sampler": EveryoneSampler()} | changes))
    done = 0
    for _ in train(algorithm, module, FEDERATION, InProcess(module, FEDERATION), rounds=count, seed=1):
        done += 1
    return done


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (fail, "KeyError: 'a layer that is not there'"),
        (too_much, "RuntimeError: .*memory"),
        (lambda scores: scores[:, 0], "the model cannot be trained"),
        (lambda scores: scores[:1], "the model cannot be trained"),
        (lambda scores: None, "the model cannot be trained"),
    ],
)
def test_what_fails_while_it_is_trained_names_user_and_round(what: Any, message: str) -> None:
    with pytest.raises(TrainingFailed, match=f"^round 1, user 0: .*{message}"):
        rounds(Wrapped(what))


def test_a_failure_later_names_that_round_and_user() -> None:
    # 12 users with 5 examples in batches of 2: 3 calls each, 36 a round.
    with pytest.raises(TrainingFailed, match=r"^round 2, user 4: .*a layer that is not there"):
        rounds(Wrapped(fail, after=36 + 4 * 3))


def test_scores_that_are_not_finite_are_refused_before_any_job() -> None:
    module = nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.fill_(float("nan"))
    with pytest.raises(InvalidValue, match=r"model output must be finite before training starts, got \[nan"):
        rounds(module)


def test_a_loss_that_is_not_a_number_from_the_start_ends_training_in_the_first_round() -> None:
    with pytest.raises(TrainingFailed, match=r"^round 1, user 0: none of the 12 honest updates is finite"):
        rounds(Wrapped(lambda scores: scores * float("nan")))


def test_a_learning_rate_that_diverges_at_once_is_told() -> None:
    with pytest.raises(TrainingFailed, match="the learning rate is too high"):
        rounds(tiny_model(), local=tiny_sgd(learning_rate=1e38, epochs=20))


NOT_A_NUMBER = r"none of the \d+ honest updates is finite"


def test_one_user_that_is_alone_in_the_first_cohorts_ends_nothing() -> None:
    """Its data may be broken. A second user without a finite update tells that it is the model."""
    algorithm = tiny_algorithm(sampler=FixedSizeSampler(size=1))
    module = Wrapped(lambda scores: scores * float("nan"))
    seen = []

    def go() -> None:
        backend = InProcess(module, FEDERATION)
        for _, log in train(algorithm, module, FEDERATION, backend, rounds=50, seed=1):
            assert log.telemetry is not None
            seen.append(log.telemetry.cohort)

    with pytest.raises(TrainingFailed, match=NOT_A_NUMBER) as caught:
        go()
    assert len(seen) >= 1
    assert len(set(seen)) == 1
    assert caught.value.round == len(seen)


def test_rounds_without_anybody_do_not_hide_a_model_that_cannot_be_trained() -> None:
    algorithm = tiny_algorithm(sampler=PoissonSampler(rate=0.05))
    for seed in itertools.count():  # the first in which nobody takes part in the first round
        empty = train(algorithm, MODEL, FEDERATION, InProcess(MODEL, FEDERATION), rounds=1, seed=seed)
        telemetry = next(iter(empty))[1].telemetry
        assert telemetry is not None
        if not telemetry.cohort:
            break
    module = Wrapped(lambda scores: scores * float("nan"))
    backend = InProcess(module, FEDERATION)
    with pytest.raises(TrainingFailed, match=NOT_A_NUMBER) as caught:
        list(train(algorithm, module, FEDERATION, backend, rounds=200, seed=seed))
    assert caught.value.round is not None
    assert caught.value.round > 0


def test_the_only_user_there_is_has_to_do() -> None:
    one = tiny_federation(num_users=1)
    module = Wrapped(lambda scores: scores * float("nan"))
    algorithm = tiny_algorithm(num_users=1, sampler=EveryoneSampler())
    with pytest.raises(TrainingFailed, match=r"^round 1, user 0: none of the 1 honest updates is finite"):
        list(train(algorithm, module, one, InProcess(module, one), rounds=1, seed=1))


def test_some_users_that_send_no_numbers_end_nothing() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    adversary = Tamperer(set(range(11)), lambda user, update: update * float("nan"))
    module = nn.Linear(3, 2)
    backend = InProcess(module, FEDERATION)
    logs = [
        log for _, log in train(algorithm, module, FEDERATION, backend, rounds=2, seed=1, adversary=adversary)
    ]
    assert [len(log.telemetry.rejected) for log in logs if log.telemetry is not None] == [11, 11]


def test_a_cohort_of_nobody_but_attackers_ends_nothing() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    adversary = Tamperer(set(range(12)), lambda user, update: update * float("nan"))
    module = nn.Linear(3, 2)
    states = train(
        algorithm, module, FEDERATION, InProcess(module, FEDERATION), rounds=2, seed=1, adversary=adversary
    )
    assert len(list(states)) == 2


def test_divergence_after_the_first_round_is_counted_and_ends_nothing() -> None:
    assert rounds(Wrapped(lambda scores: scores * float("nan"), after=36)) == 3
