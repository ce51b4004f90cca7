from __future__ import annotations

import pytest
import torch
from torch import nn

from fedward.backends import InProcess, evaluate
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
MODEL = tiny_model()
START = ParameterSpec.of(MODEL).flatten(MODEL)


def job(user: int, seed: int = 5, examples: Examples | None = None) -> Job:
    return Job(parameters=START, user=user, num_examples=5, trainer=tiny_sgd(), seed=seed, examples=examples)


def test_rows_come_in_the_order_of_the_jobs() -> None:
    rows = list(InProcess(MODEL, FEDERATION).train([job(3), job(1), job(7)]))
    assert [row.user for row in rows] == [3, 1, 7]


def test_an_update_does_not_depend_on_what_else_is_run() -> None:
    backend = InProcess(MODEL, FEDERATION)
    alone = next(iter(InProcess(MODEL, FEDERATION).train([job(3)]))).update
    among = [row.update for row in backend.train([job(1), job(3), job(2), job(3)])]
    assert torch.equal(alone, among[1])
    assert torch.equal(alone, among[3])
    assert not torch.equal(among[0], among[1])


def test_an_update_is_local_minus_global_parameters() -> None:
    update = next(iter(InProcess(MODEL, FEDERATION).train([job(0)]))).update
    assert update.shape == START.shape
    assert 0 < float(update.norm()) < 10
    assert torch.equal(START, ParameterSpec.of(MODEL).flatten(MODEL))


def test_a_job_with_its_own_examples_does_not_read_the_users() -> None:
    flipped = Examples(FEDERATION.user(0).x, 1 - FEDERATION.user(0).y)
    backend = InProcess(MODEL, FEDERATION)
    honest, poisoned = (row.update for row in backend.train([job(0), job(0, examples=flipped)]))
    assert not torch.equal(honest, poisoned)


def test_the_number_of_threads_is_left_as_it_was() -> None:
    before = torch.get_num_threads()
    list(InProcess(MODEL, FEDERATION).train([job(0)]))
    assert torch.get_num_threads() == before


def test_evaluation_counts_and_averages_over_all_batches() -> None:
    test = FEDERATION.test
    assert test is not None
    scores = MODEL(test.x).detach()
    model = FlatModule(tiny_model())
    for batch_size in (7, 1000):
        metrics = evaluate(model, START, test, batch_size)
        assert metrics.accuracy == float((scores.argmax(1) == test.y).double().mean())
        assert metrics.loss == pytest.approx(float(nn.functional.cross_entropy(scores, test.y)), rel=1e-5)
        assert metrics.examples == len(test)


def test_evaluation_without_examples_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one example"):
        evaluate(
            FlatModule(tiny_model()), START, Examples(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64))
        )


def test_evaluation_switches_dropout_off() -> None:
    model = FlatModule(nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.9), nn.Linear(50, 2)))
    parameters = model.parameters.clone()
    assert FEDERATION.test is not None
    results = {evaluate(model, parameters, FEDERATION.test).loss for _ in range(3)}
    assert len(results) == 1


class Counting(nn.Module):
    """Keeps what it has seen in a buffer that is not sent."""

    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen = self.seen + x.detach().sum(0)
        scores: torch.Tensor = self.inner(x + self.seen)
        return scores


def test_state_that_is_not_sent_does_not_go_from_one_user_to_the_next() -> None:
    """Otherwise one user would move the others' updates too, past its own clipping."""
    module = Counting()
    start = ParameterSpec.of(module).flatten(module)
    jobs = [
        Job(parameters=start, user=user, num_examples=5, trainer=tiny_sgd(), seed=5) for user in (0, 1, 2)
    ]
    alone = next(iter(InProcess(module, FEDERATION).train(jobs[2:]))).update
    after_others = list(InProcess(module, FEDERATION).train(jobs))[2].update
    assert torch.equal(alone, after_others)


def test_a_model_that_is_not_finite_predicts_nothing() -> None:
    federation, model = tiny_federation(), tiny_model()
    broken = torch.full_like(ParameterSpec.of(model).flatten(model), float("nan"))
    assert federation.test is not None
    assert (federation.test.y == 0).any()  # argmax over NaN is class 0, which would be right for these
    assert InProcess(model, federation).evaluate(broken, federation.test).accuracy == 0


def test_the_device_is_checked_before_anything_runs() -> None:
    rows = InProcess(MODEL, FEDERATION, device="cpu").train([job(3)])
    assert torch.equal(next(rows).update, next(iter(InProcess(MODEL, FEDERATION).train([job(3)]))).update)
    with pytest.raises(InvalidValue, match="device"):
        InProcess(MODEL, FEDERATION, device="toaster")
