"""Models that write to their input: the data stay as they are, and so does every later figure."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fedward
from fedward.attacks.attack_goal import Goal
from fedward.backends import InProcess, Threads, Workers, measure
from fedward.backends.engines.evaluation import evaluate
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.processes.worker_buffers import tensors_of
from fedward.core.check import check_setup
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job
from fedward.local import DPSGD, FullGradient, NoisyGradient, ProjectedSGD
from fedward.local.per_example import clipped_sum
from support import tiny_algorithm, tiny_sgd


class Shifts(nn.Module):
    """Takes 1 from every input: in place, or not."""

    def __init__(self, inner: nn.Module, *, in_place: bool = True) -> None:
        super().__init__()
        self.inner, self.in_place = inner, in_place

    def forward(self, x: Tensor) -> Tensor:
        if self.in_place:
            x -= 1
        else:
            x = x - 1
        scores: Tensor = self.inner(x)
        return scores


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(12, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.table(tokens.abs())
        return scores


def cnn(channels: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(channels, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


OWNERS = np.repeat(np.arange(6), 50)
LABELS = np.arange(300) % 3


def features(*shape: int) -> Callable[[], np.ndarray[Any, Any]]:
    return lambda: np.random.default_rng(1).normal(size=(300, *shape)).astype(np.float32)


def sequences() -> Ragged:
    rng = np.random.default_rng(2)
    return Ragged.from_sequences([rng.integers(2, 12, size=n) for n in rng.integers(1, 6, size=300)])


def tokens() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(2, 12, size=(300, 4))


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "features": (lambda: Shifts(nn.Linear(5, 3)), features(5)),
    "relu in place": (
        lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(5, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)),
        features(5),
    ),
    "one channel": (lambda: Shifts(cnn(1)), features(1, 4, 4)),
    "three channels": (lambda: Shifts(cnn(3)), features(3, 4, 4)),
    "flat picture": (lambda: nn.Sequential(nn.Flatten(), Shifts(nn.Linear(16, 3))), features(1, 4, 4)),
    "tokens": (lambda: Shifts(Words()), tokens),
    "sequences": (lambda: Shifts(Words()), sequences),
}


def case_of(name: str) -> tuple[nn.Module, Federation]:
    model, data = CASES[name]
    torch.manual_seed(0)
    return model(), Federation.from_arrays(data(), LABELS, OWNERS, test=(data(), LABELS))


def tensors(federation: Federation) -> list[Tensor]:
    found = []
    for examples in (federation.examples, federation.test):
        assert examples is not None
        x = examples.x
        found += [x.values, x.offsets] if isinstance(x, Ragged) else [x]
        found.append(examples.y)
    return found


def assert_untouched(federation: Federation, before: list[Tensor]) -> None:
    assert all(torch.equal(a, b) for a, b in zip(tensors(federation), before, strict=True))


TRAINERS: dict[str, Any] = {
    "sgd": tiny_sgd(batch_size=50),  # all of a user's examples in one batch
    "projected": ProjectedSGD(sgd=tiny_sgd(batch_size=50)).at_round(0, (0.5,)),
    "full gradient": FullGradient(),
    "noisy gradient": NoisyGradient(noise_multiplier=1.0, clip_bound=0.5),
    "dp-sgd": DPSGD(
        learning_rate=0.1,
        probability=1.0,
        expected_batch=50,
        steps=2,
        noise_multiplier=0.1,
        clip_bound=0.5,
    ),
}
BACKENDS: dict[str, Callable[[nn.Module, Federation], Any]] = {
    "in process": InProcess,
    "generic": lambda model, federation: InProcess(model, federation, engine="generic"),
    "threads": lambda model, federation: Threads(model, federation, threads=1),
    "workers": lambda model, federation: Workers(model, federation, workers=1),
}
# Processes take seconds to start: what is the same in each of them is tried in one.
PAIRS = [(case, backend) for case in CASES for backend in ("in process", "generic")] + [
    (case, backend)
    for case in ("relu in place", "one channel", "tokens")
    for backend in ("threads", "workers")
]


@pytest.mark.parametrize(("case", "kind"), PAIRS)
def test_measuring_and_training_change_neither_the_data_nor_the_next_figure(case: str, kind: str) -> None:
    model, federation = case_of(case)
    before = [tensor.clone() for tensor in tensors(federation)]
    parameters = ParameterSpec.of(model).flatten(model)
    sent = copy.deepcopy(federation.examples)  # examples that a worker does not have yet
    assert federation.test is not None
    backend = BACKENDS[kind](model, federation)
    try:
        for examples in (federation.test, federation.examples, sent):
            first = backend.evaluate(parameters, examples)
            (confident,) = backend.confidences([parameters], examples)
            assert list(backend.evaluate_many([parameters] * 3, examples)) == [first] * 3
            assert np.array_equal(next(iter(backend.confidences([parameters], examples))), confident)
        goal = Goal(clean=federation.test, triggered=(("again", federation.test),))
        found = [measure(backend, parameters, goal) for _ in range(2)]
        assert found[0] == found[1]
        assert found[0].attacks["again"].cost == found[0].main.loss  # the same examples, seen twice
        for trainer in TRAINERS.values():
            job = Job(parameters=parameters, user=2, num_examples=50, trainer=trainer, seed=3)
            one, two, three = (row.update for row in backend.train([job] * 3))
            assert torch.equal(one, two)
            assert torch.equal(one, three)
    finally:
        backend.close()
    assert_untouched(federation, before)


@pytest.mark.parametrize("case", CASES)
def test_checking_a_setup_leaves_the_data_alone(case: str) -> None:
    model, federation = case_of(case)
    before = [tensor.clone() for tensor in tensors(federation)]
    check_setup(tiny_algorithm(num_users=6), model, federation.roster, rounds=3)
    assert_untouched(federation, before)


def test_a_trainer_of_ones_own_that_gives_the_model_all_examples_leaves_them_alone() -> None:
    model, federation = (
        flat_model(Shifts(nn.Linear(5, 3))),
        Federation.from_arrays(features(5)(), LABELS, OWNERS),
    )
    own = federation.user(2)
    assert isinstance(own.x, Tensor)
    before = own.x.clone()
    model(own.x)
    model.add_gradient(own.x, own.y, 50)
    clipped_sum(model, own.x, own.y, (0.5,))
    assert torch.equal(own.x, before)


class OneByOne(nn.Module):
    """A model that the rules for whole batches do not cover."""

    def __init__(self, *, in_place: bool) -> None:
        super().__init__()
        self.weight, self.in_place = nn.Parameter(torch.linspace(-1, 1, 15).reshape(3, 5)), in_place

    def forward(self, x: Tensor) -> Tensor:
        if self.in_place:
            x -= 1
        else:
            x = x - 1
        return x @ self.weight.T


def linear(*, in_place: bool) -> nn.Module:
    torch.manual_seed(4)
    return Shifts(nn.Linear(5, 3), in_place=in_place)


@pytest.mark.parametrize(
    "make", [linear, lambda in_place: OneByOne(in_place=in_place)], ids=["rules", "each"]
)
@pytest.mark.parametrize("broken", [False, True], ids=["all usable", "one not finite"])
def test_clipped_gradients_are_those_of_the_examples_as_they_are(make: Any, broken: bool) -> None:
    """Where a batch goes in once more, for an example without a gradient, it was shifted twice."""
    x, y = torch.from_numpy(features(5)()[:20]).clone(), torch.from_numpy(LABELS[:20])
    if broken:
        x[7] = torch.inf
    sums = [clipped_sum(flat_model(make(in_place=way)), x.clone(), y, (0.05,)) for way in (True, False)]
    assert torch.equal(*sums)
    assert float(sums[0].norm()) > 0.1


def test_the_callers_own_arrays_are_as_they_were_after_a_training() -> None:
    x, test, y, owners = features(5)(), features(5)() + 1, LABELS.copy(), OWNERS.copy()
    before = [array.copy() for array in (x, test, y, owners)]
    for sharing in (False, True):
        federation = Federation.from_arrays(x, y, owners, test=(test, y), copy=not sharing)
        model = Shifts(nn.Linear(5, 3))
        backend = fedward.InProcess(model, federation)
        algorithm = tiny_algorithm(num_users=6, clip_bound=0.5, noise_multiplier=0.1)
        assert federation.test is not None
        figures = []
        for state, _ in fedward.rounds(algorithm, model, federation, rounds=3, seed=1, backend=backend):
            figures.append(backend.evaluate(state.parameters, federation.test))
            assert backend.evaluate(state.parameters, federation.test) == figures[-1]
        assert len(figures) == 3
        for array, was in zip((x, test, y, owners), before, strict=True):
            assert np.array_equal(array, was)


def test_a_linear_model_is_measured_without_a_copy() -> None:
    """It does not write to its input: a copy of ten thousand pictures would take half of the time."""
    seen: list[int] = []

    class Spy(FlatModule):
        def __call__(self, x: Tensor, *, owned: bool = False) -> Tensor:
            seen.append(owned)
            return super().__call__(x, owned=owned)

    for module in (nn.Linear(5, 3), Shifts(nn.Linear(5, 3))):
        model = Spy(module)
        evaluate(
            model, model.parameters.clone(), Examples(torch.zeros(4, 5), torch.zeros(4, dtype=torch.int64))
        )
    assert seen == [True, False]


def test_a_hook_that_writes_to_the_input_of_a_linear_model_writes_to_a_copy() -> None:
    def shift(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        inputs[0].sub_(1)

    module, federation = nn.Linear(5, 3), Federation.from_arrays(features(5)(), LABELS, OWNERS)
    parameters, before = ParameterSpec.of(module).flatten(module), tensors_of(federation.examples)
    kept = [tensor.clone() for tensor in before]
    backend = InProcess(module, federation)
    handle = torch.nn.modules.module.register_module_forward_pre_hook(shift)
    try:
        first = backend.evaluate(parameters, federation.examples)
        assert backend.evaluate(parameters, federation.examples) == first
    finally:
        handle.remove()
    assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))
