"""What the native engine computes, beside the loop and beside autograd in double precision."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, event, given
from hypothesis import strategies as st
from torch import nn

from backends.engines.native.oracles import (
    ROUNDING,
    Array,
    Training,
    engine_of,
    gradients_of_examples,
    instruction_sets,
    same_bits,
    size,
    steepness,
    watched,
)
from backends.engines.native.stacks import Stack, drawn, small_cnn, small_resnet, stack_of, stacks
from fedward.core.examples import Examples
from fedward.local import SGD
from fedward.local.projected_sgd import Projected
from support import flat_inputs

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)


def random_training(stack: Stack, seed: int) -> Training:
    """A training that stays well conditioned: no step is longer than the curvature allows."""
    rng = random.Random(seed)
    x, y = stack.examples(rng.randint(1, 12), seed)
    steep = float(gradients_of_examples(stack.double(), x.double(), y).norm(dim=1).max())
    momentum = rng.choice([0.0, 0.5, 0.9])
    sgd = SGD(
        learning_rate=rng.choice([0.3, 0.1, 0.02]) * (1 - momentum) / (1 + steep**2),
        batch_size=rng.randint(1, 9),
        epochs=rng.randint(1, 3),
        momentum=momentum,
        weight_decay=rng.choice([0.0, 5e-4, 0.3]),
    )
    event(f"a smaller last batch: {0 < len(y) % sgd.batch_size < len(y)}")
    return Training(stack, sgd, Examples(x, y), seed)


def trainings() -> st.SearchStrategy[Training]:
    return st.builds(random_training, stacks(), st.integers(0, 2**20))


@drawn(250)
@given(trainings())
def test_a_training_ends_where_the_loop_ends(training: Training) -> None:
    exact, clear = training.exact()
    assume(clear)
    found, loop = training.native(engine_of(training.stack)), training.loop()
    assert found.dtype == np.float32
    assert np.abs(found - loop).max() <= 1e-4
    # In proportion, too: small updates must not pass because they are small. The end of a step is rounded
    # to the precision of the weights, whatever its length.
    steps = training.sgd.num_steps(len(training.examples))
    rounding = steps * 2.0**-24 * size(training.stack.start)
    assert size(found - exact) <= 1e-4 * size(exact) + rounding
    assert size(found - loop) <= 1e-4 * size(exact) + 2 * rounding


@drawn(150)
@given(stack=stacks(), count=st.sampled_from([5, 1, 2, 9, 67]), seed=st.integers(0, 999))
def test_a_gradient_is_that_of_double_precision(stack: Stack, count: int, seed: int) -> None:
    engine = engine_of(stack)
    count = min(count, engine.chunk + 3)
    event(f"more than one chunk: {count > engine.chunk}")
    x, y = stack.examples(count, seed)
    module = stack.double()
    with watched(module) as kinks:
        single = gradients_of_examples(module, x.double(), y)
    assume(kinks.clear)
    index = np.random.default_rng(seed).permutation(count)
    found = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), index)
    assert size(found - single.mean(0).numpy()) <= ROUNDING * float(steepness(stack, x[:9], y[:9]).mean())


@drawn(100)
@given(
    stack=stacks(), first=st.integers(0, 3), count=st.sampled_from([9, 0, 1, 67]), seed=st.integers(0, 999)
)
def test_scores_are_those_of_double_precision(stack: Stack, first: int, count: int, seed: int) -> None:
    x, _ = stack.examples(first + count + 2, seed)
    found = engine_of(stack).scores(stack.start.numpy(), x.numpy(), first, count)
    with torch.no_grad():
        wanted = stack.double()(x[first : first + count].double()).numpy()
    assert found.shape == (count, stack.classes)
    assert np.abs(found - wanted).max(initial=0) <= ROUNDING * max(1.0, np.abs(wanted).max(initial=0))


ENDING = (nn.AdaptiveAvgPool2d(1), nn.Flatten())
WIDE = {
    "weights beyond the second cache": stack_of(
        nn.Flatten(), nn.Linear(600, 111), nn.ReLU(), nn.Linear(111, 70), nn.Linear(70, 33), shape=(6, 10, 10)
    ),
    "many pixels": stack_of(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Conv2d(4, 6, 5, stride=2),
        nn.Flatten(),
        nn.Linear(6 * 7 * 8, 2),
        shape=(1, 34, 37),
    ),
    "many channels": stack_of(
        nn.Conv2d(3, 70, 2),
        nn.ReLU(),
        nn.Conv2d(70, 65, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(65, 130),
        shape=(3, 5, 5),
    ),
}


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("name", WIDE)
def test_large_layers_take_other_ways_to_the_same_numbers(name: str, instructions: str) -> None:
    stack = WIDE[name]
    engine = engine_of(stack, instructions)
    x, y = stack.examples(engine.chunk + 2, 3)
    module = stack.double()
    with watched(module) as kinks:
        single = gradients_of_examples(module, x.double(), y)
    assert kinks.nearest > 1e-6
    found = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.arange(len(x)))
    assert size(found - single.mean(0).numpy()) <= 4 * ROUNDING * float(steepness(stack, x, y).mean())
    with torch.no_grad():
        wanted = module(x.double()).numpy()
    assert np.abs(engine.scores(stack.start.numpy(), x.numpy(), 0, len(x)) - wanted).max() <= ROUNDING * 10


@pytest.mark.parametrize("instructions", instruction_sets())
def test_activations_far_from_zero_are_normalised_as_precisely(instructions: str) -> None:
    """A variance made of sums of squares would be lost: 1000 squared and 1 squared are seven digits apart."""
    stack = stack_of(nn.GroupNorm(2, 6), nn.Conv2d(6, 4, 3), *ENDING, nn.Linear(4, 3), shape=(6, 9, 7))
    engine = engine_of(stack, instructions)
    x, y = stack.examples(3)
    x = torch.round(1024 * (x + 1000)) / 1024
    wanted = gradients_of_examples(stack.double(), x.double(), y).mean(0).numpy()
    found = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.arange(3))
    # The mean is rounded to a float of that size, and x - mean is as wrong as it is.
    assert size(found - wanted) <= 1000 * ROUNDING / 16 * size(wanted)


@pytest.mark.parametrize("instructions", instruction_sets())
def test_a_residual_network_has_the_gradient_of_double_precision(instructions: str) -> None:
    stack = small_resnet(1)
    engine = engine_of(stack, instructions)
    x, y = stack.examples(16, 4)
    module = stack.double()
    with watched(module) as kinks:
        single = gradients_of_examples(module, x.double(), y)
    assert kinks.nearest > 1e-6
    found = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.arange(len(x)))
    assert size(found - single.mean(0).numpy()) <= 2e-6 * size(single.mean(0))


def test_a_model_with_many_parameters_goes_through_in_larger_chunks() -> None:
    """Its weights lie behind the caches; and no chunk takes more than 32 megabytes."""
    small, large = (stack_of(nn.Linear(n, 800), nn.ReLU(), nn.Linear(800, 3), shape=(n,)) for n in (600, 800))
    assert engine_of(small).chunk < 30
    assert engine_of(large).chunk == 64
    picture = stack_of(
        nn.Conv2d(1, 600, 3), nn.AvgPool2d(98), nn.Flatten(), nn.Linear(600, 900), shape=(1, 100, 100)
    )
    assert engine_of(picture).chunk == 1


@drawn(60)
@given(trainings(), st.sampled_from([0.3, 0.02]))
def test_a_bound_that_always_acts_keeps_the_model_in_the_ball(training: Training, part: float) -> None:
    free, _ = training.exact()
    bound = part * size(free)
    # A ball that is smaller than the rounding of the weights has nothing in it but the centre.
    rounding = 2.0**-24 * size(training.stack.start)
    assume(bound > 100 * rounding)
    trainer = Projected(sgd=training.sgd, bound=bound)
    exact, clear = training.exact(trainer)
    assume(clear)
    found = training.native(engine_of(training.stack), bound)
    event(f"acts: {size(exact) >= 0.99 * bound}")
    assert size(found) <= bound + rounding
    assert np.abs(found - training.loop(trainer)).max() <= 1e-4
    steps = training.sgd.num_steps(len(training.examples))
    assert size(found - exact) <= 1e-4 * size(exact) + steps * rounding


@drawn(30)
@given(trainings())
def test_a_bound_that_never_acts_changes_nothing(training: Training) -> None:
    engine = engine_of(training.stack)
    assert same_bits(training.native(engine), training.native(engine, 1e6))
    assert same_bits(training.native(engine), training.native(engine, math.inf))


@drawn(50)
@given(trainings())
def test_all_instruction_sets_agree(training: Training) -> None:
    _, clear = training.exact()
    assume(clear)
    stack, (x, y) = training.stack, (flat_inputs(training.examples).numpy(), training.examples.y.numpy())
    start, index = stack.start.numpy(), np.arange(len(y))
    gross = float(steepness(stack, flat_inputs(training.examples), training.examples.y).mean())
    first = None
    for name in instruction_sets():
        engine = engine_of(stack, name)
        assert engine.instructions == name
        found = (
            engine.scores(start, x, 0, len(x)),
            engine.gradient(start, x, y, index),
            engine.clipped_sum(start, x, y, index, [gross + 1e-9]),
            training.native(engine),
        )
        first = first or found
        scores, gradient, clipped, update = (size(a - b) for a, b in zip(found, first, strict=True))
        assert scores <= ROUNDING * max(1.0, size(first[0]))
        assert gradient <= ROUNDING * gross
        assert clipped <= ROUNDING * gross * len(x)
        assert update <= 1e-4 * size(first[3]) + 1e-6


def mixed_jobs(engine: Any, stack: Stack) -> list[Callable[[], Array]]:
    """Eight jobs of every kind, of different sizes."""
    jobs: list[Callable[[], Array]] = []
    start = stack.start.numpy()
    for seed in range(8):
        x, y = (tensor.numpy() for tensor in stack.examples(20 + 30 * seed, seed))
        index = np.random.default_rng(seed).permutation(len(x))
        half = [len(x) // 2, len(x) - len(x) // 2]
        made: tuple[Callable[..., Array], tuple[Any, ...], dict[str, Any]] = [
            (engine.train, (start, x, y, index, half), {"learning_rate": 0.1, "momentum": 0.9, "bound": 0.2}),
            (engine.gradient, (start, x, y, index), {}),
            (engine.clipped_sum, (start, x, y, index, [0.3]), {}),
            (engine.scores, (start, x, 0, len(x)), {}),
        ][seed % 4]
        call, arguments, options = made
        jobs.append(partial(call, *arguments, **options))
    return jobs


@pytest.mark.parametrize("make", [small_cnn, small_resnet])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_do_not_change_a_bit(threads: int, make: Callable[[], Stack]) -> None:
    stack = make()
    alone = [job() for job in mixed_jobs(engine_of(stack), stack)]
    jobs = mixed_jobs(engine_of(stack), stack)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            together = list(pool.map(lambda job: job(), jobs))
            assert all(same_bits(one, other) for one, other in zip(alone, together, strict=True))


@pytest.mark.parametrize("make", [small_cnn, small_resnet])
def test_a_job_leaves_nothing_behind_for_the_next(make: Callable[[], Stack]) -> None:
    stack = make()
    engine = engine_of(stack)
    jobs = mixed_jobs(engine, stack)
    first = [job() for job in jobs]
    broken = stack.examples(70)[0].fill_(math.nan).numpy()
    for i in (3, 0, 7, 1, 1, 2, 6, 5, 4, 0):
        assert not np.isfinite(engine.scores(stack.start.numpy(), broken, 0, 70)).any()
        nothing = engine.gradient(stack.start.numpy(), broken, np.zeros(70, np.int64), np.arange(70))
        assert not np.isfinite(nothing).all()
        assert same_bits(jobs[i](), first[i])
