"""Models of text by the native engine: what they learn is what the generic path learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backends.engines.native.oracles import instruction_sets, same_bits
from backends.engines.native.stacks import drawn
from backends.engines.native.texts import Text, arrays, models_of_text, random_text
from fedward.backends import InProcess, Threads
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.flat_model import flat_model
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.types import Job, LocalTrainer
from fedward.local import DPSGD, SGD, FullGradient
from fedward.local.noisy_gradient import NoisyGradient
from fedward.local.projected_sgd import Projected

pytest.importorskip("fedward.backends.engines.native._engine", reason="the native engine was not compiled")

SETS = st.sampled_from(instruction_sets())
STEPS = SGD(learning_rate=0.1, batch_size=4, epochs=2, momentum=0.5, weight_decay=0.01)
TRAINERS: dict[str, LocalTrainer] = {
    "sgd": STEPS,
    "one step": SGD(learning_rate=0.1, batch_size=100, steps=1),
    "projected": Projected(sgd=STEPS, bound=0.05),
    "full gradient": FullGradient(),
    "noisy gradient": NoisyGradient(clip_bound=0.5, noise_multiplier=0.1),
    "dp-sgd": DPSGD(
        learning_rate=0.1,
        probability=0.5,
        expected_batch=5,
        steps=3,
        clip_bound=0.5,
        noise_multiplier=0.1,
        momentum=0.5,
    ),
}


def job(text: Text, trainer: LocalTrainer, examples: Examples, **changes: Any) -> Job:
    plain = Job(parameters=text.start, user=0, num_examples=len(examples), trainer=trainer, seed=5)
    return replace(plain, **changes)


@drawn(30)
@given(text=models_of_text(), count=st.integers(1, 30), seed=st.integers(0, 999), name=SETS)
def test_gradients_are_those_of_double_precision(text: Text, count: int, seed: int, name: str) -> None:
    examples = text.examples(count, seed)
    found = text.engine(name).gradient(text.start.numpy(), *arrays(examples), np.arange(count))
    exact = text.gradients(examples)
    assert np.abs(found - exact.mean(0)).max() <= 3e-6 * max(0.1, float(np.abs(exact).max()))


@drawn(30)
@given(text=models_of_text(), count=st.integers(1, 30), seed=st.integers(0, 999), name=SETS)
def test_scores_are_those_of_double_precision_in_any_span(
    text: Text, count: int, seed: int, name: str
) -> None:
    examples, engine = text.examples(count, seed), text.engine(name)
    x, _ = arrays(examples)
    found = engine.scores(text.start.numpy(), x, 0, count)
    with torch.no_grad():
        exact = text.double()(examples.batch(torch.arange(count))[0]).numpy()
    assert np.abs(found - exact).max() <= 3e-6 * max(1.0, float(np.abs(exact).max()))
    cut = seed % (count + 1)
    parts = [engine.scores(text.start.numpy(), x, a, b - a) for a, b in ((0, cut), (cut, count))]
    assert same_bits(np.concatenate(parts), found)


@drawn(30)
@given(
    text=models_of_text(),
    count=st.integers(1, 14),
    seed=st.integers(0, 999),
    trainer=st.sampled_from(sorted(TRAINERS)),
)
def test_every_trainer_moves_the_model_as_on_the_generic_path(
    text: Text, count: int, seed: int, trainer: str
) -> None:
    examples = text.examples(count, seed)
    own = job(text, TRAINERS[trainer], examples)
    native, generic = (Engine(text.module, engine=engine) for engine in ("native", "generic"))
    assert native.way(own, examples) == "native"
    one, other = native.train(own, examples), generic.train(own, examples)
    assert float((one.update - other.update).abs().max()) <= 1e-4
    assert (one.norm is None) == (other.norm is None)


@drawn(30)
@given(text=models_of_text(), count=st.integers(1, 14), seed=st.integers(0, 999))
def test_a_training_is_that_of_double_precision(text: Text, count: int, seed: int) -> None:
    examples = text.examples(count, seed)
    model = flat_model(text.double())
    STEPS.train(model, examples, np.random.default_rng(seed))
    batches = list(STEPS.indices(count, np.random.default_rng(seed)))
    found = text.engine().train(
        text.start.numpy(),
        *arrays(examples),
        np.concatenate(batches),
        [len(batch) for batch in batches],
        learning_rate=STEPS.learning_rate,
        momentum=STEPS.momentum,
        weight_decay=STEPS.weight_decay,
    )
    exact = (model.parameters - text.start.double()).numpy()
    assert np.abs(found - exact).max() <= 2e-5 * max(0.1, float(np.abs(exact).max()))


def test_sequences_have_the_same_bits_as_rows_that_are_padded() -> None:
    text = random_text(3)
    ragged = text.examples(12)
    rows, _ = ragged.batch(torch.arange(12))
    padded = Examples(torch.nn.functional.pad(rows, (0, 3)), ragged.y)
    engine = Engine(text.module, engine="native")
    for trainer in TRAINERS.values():
        one, other = (engine.train(job(text, trainer, own), own).update for own in (ragged, padded))
        assert same_bits(one, other)
    metrics = [engine.evaluate(text.start, own) for own in (ragged, padded)]
    assert metrics[0] == metrics[1]


def test_threads_and_this_process_give_the_same_bits() -> None:
    text = random_text(8)
    own = text.examples(700)
    owner = np.arange(700) // 7
    federation = Federation.from_arrays(own.x, own.y, owner, num_classes=text.classes)
    jobs = [
        job(text, trainer, own, user=user, num_examples=7)
        for user in (4, 9, 4)
        for trainer in TRAINERS.values()
    ]
    alone = InProcess(text.module, federation, engine="native")
    expected = [row.update for row in alone.train(jobs)]
    for threads in (1, 2):
        with Threads(text.module, federation, threads=threads, engine="native") as backend:
            assert all(map(same_bits, (row.update for row in backend.train(jobs)), expected))
            assert backend.evaluate(text.start, own) == alone.evaluate(text.start, own)


def test_confidences_and_accuracy_are_those_of_the_generic_path() -> None:
    text = random_text(1)
    examples = text.examples(60)
    native, generic = (Engine(text.module, engine=engine) for engine in ("native", "generic"))
    assert native.measures_natively(text.start, examples)
    one, other = (engine.evaluate(text.start, examples) for engine in (native, generic))
    assert one.accuracy == other.accuracy
    assert one.loss == pytest.approx(other.loss, abs=1e-5)
    np.testing.assert_allclose(
        native.confidences(text.start, examples), generic.confidences(text.start, examples), atol=1e-5
    )


def test_the_vector_of_the_padding_moves_by_weight_decay_alone() -> None:
    module = random_text(0).module
    module.embedding.weight.requires_grad_(True)
    module.embedding.padding_idx = 0
    text = Text(module, module.embedding.num_embeddings, module.output.out_features)
    examples = text.examples(10)
    engine = Engine(module, engine="native")
    size = module.embedding.embedding_dim
    for decay in (0.0, 0.1):
        sgd = SGD(learning_rate=0.5, batch_size=10, steps=1, weight_decay=decay)
        update = engine.train(job(text, sgd, examples), examples).update
        torch.testing.assert_close(update[:size], -0.5 * decay * text.start[:size])
        assert bool(update[size:].any())


@drawn(20)
@given(text=models_of_text(), rate=st.sampled_from([1e10, 1e38]))
def test_a_training_that_diverges_is_seen(text: Text, rate: float) -> None:
    examples = text.examples(8)
    sgd = SGD(learning_rate=rate, batch_size=2, epochs=3, weight_decay=0.1)
    native, generic = (
        Engine(text.module, engine=engine).train(job(text, sgd, examples), examples).update
        for engine in ("native", "generic")
    )
    assert bool(torch.isfinite(generic).all()) or not bool(torch.isfinite(native).all())


@pytest.mark.parametrize("token", [-1, 10**6])
def test_a_token_without_a_vector_fails_by_the_generic_path_and_names_the_user(token: int) -> None:
    text = random_text(4)
    examples = Examples(Ragged.from_sequences([[1, token], [1]]), torch.tensor([0, 0]))
    own = job(text, STEPS, examples, user=3)
    with pytest.raises(TrainingFailed) as failure:
        Engine(text.module).train(own, examples)
    assert failure.value.user == 3
    with pytest.raises(InvalidValue, match="engine native does not cover this training"):
        Engine(text.module, engine="native").train(own, examples)


def test_frozen_vectors_are_those_of_the_beginning() -> None:
    text = next(
        found for found in map(random_text, range(50)) if not found.module.embedding.weight.requires_grad
    )
    examples = text.examples(5)
    own, engine = job(text, STEPS, examples), Engine(text.module, engine="native")
    before = engine.train(own, examples).update
    with torch.no_grad():
        text.module.embedding.weight.zero_()
    assert same_bits(engine.train(own, examples).update, before)
