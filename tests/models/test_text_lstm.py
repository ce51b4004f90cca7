from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.backends import InProcess, Workers
from fedward.backends.engines.choice import Engine
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job
from fedward.core.vocabulary import Vocabulary
from fedward.local import DPSGD, SGD
from fedward.local.per_example import clipped_sum
from fedward.models import TEXT_MODELS, build
from models.model_examples import WORDS, made

SENTENCES = [[2, 3, 4], [6], [5, 1, 2, 2, 3, 4], [3, 3]]
LABELS = torch.tensor([0, 1, 1, 0])

sentences = st.lists(st.lists(st.integers(1, WORDS.size - 1), min_size=1, max_size=9), min_size=1, max_size=5)


def batch(rows: list[list[int]]) -> Tensor:
    return Ragged.from_sequences(rows)[torch.arange(len(rows))]


def gradient(model: nn.Module, tokens: Tensor, label: int) -> Tensor:
    trained = [p for p in model.parameters() if p.requires_grad]
    loss = cross_entropy(model(tokens), torch.tensor([label]))
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, trained)])


@pytest.mark.parametrize("name", TEXT_MODELS)
@given(rows=sentences, more=st.integers(0, 4))
@settings(deadline=None, max_examples=30)
def test_padding_does_not_show_in_the_scores(name: str, rows: list[list[int]], more: int) -> None:
    model = made(name)
    padded = nn.functional.pad(batch(rows), (0, more))
    together = model(padded)
    for row, scores in zip(rows, together, strict=True):
        torch.testing.assert_close(model(torch.tensor([row])), scores.unsqueeze(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_padding_does_not_show_in_the_gradient(name: str) -> None:
    model = made(name).double()
    for row in SENTENCES:
        tokens = torch.tensor([row])
        alone, padded = (gradient(model, x, label=1) for x in (tokens, nn.functional.pad(tokens, (0, 5))))
        torch.testing.assert_close(alone, padded, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_every_word_shows_in_the_scores_the_first_and_the_last_too(name: str) -> None:
    model = made(name)
    tokens = batch(SENTENCES)
    for row, sentence in enumerate(SENTENCES):
        for place in range(len(sentence)):
            other = tokens.clone()
            other[row, place] = sentence[place] % (WORDS.size - 1) + 1
            assert float((model(other) - model(tokens))[row].detach().abs().max()) > 1e-6


def test_a_row_without_any_word_has_scores_too() -> None:
    model = made("sentiment_lstm")
    scores = model(torch.zeros(2, 3, dtype=torch.int64))
    torch.testing.assert_close(scores[:1], model(torch.zeros(1, 1, dtype=torch.int64)))
    assert bool(torch.isfinite(scores).all())


def test_frozen_vectors_are_the_vocabularys_and_no_part_of_an_update() -> None:
    model = made("sentiment_lstm")
    table = model.get_submodule("embedding").get_parameter("weight")
    assert WORDS.vectors is not None
    assert torch.equal(table[2:], WORDS.vectors)
    assert not bool(table[0].any())
    torch.testing.assert_close(table[1], WORDS.vectors.mean(0))
    spec = ParameterSpec.of(model)
    assert not any("embedding" in name for name in spec.names)
    # Two layers of 7 units on vectors of 6 numbers, each with two biases, and the scores.
    assert spec.layer_sizes() == (4 * 7 * (6 + 7) + 8 * 7, 4 * 7 * (7 + 7) + 8 * 7, 7 * 10 + 10)


def test_learned_vectors_are_trained_and_sent() -> None:
    spec = ParameterSpec.of(made("word_lstm", embedding=3))
    assert spec.shapes[0] == (WORDS.size, 3)
    assert spec.layer_sizes() == (WORDS.size * 3, 4 * 7 * (3 + 7) + 8 * 7, 7 * 10 + 10)


def job(model: nn.Module, trainer: Any, user: int = 0) -> Job:
    start = ParameterSpec.of(model).flatten(model)
    return Job(parameters=start, user=user, num_examples=2, trainer=trainer, seed=5)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_training_moves_the_layers_and_not_frozen_vectors(name: str) -> None:
    model = made(name, num_classes=2)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    examples = Examples(Ragged.from_sequences(SENTENCES), LABELS)
    engine = Engine(model)
    wanted = job(model, SGD(learning_rate=0.5, batch_size=2, epochs=2, weight_decay=0.1))
    update = engine.train(wanted, examples).update
    moved = {key: bool(part.any()) for key, part in ParameterSpec.of(model).views(update).items()}
    assert moved
    assert all(moved.values())
    # The engine trains a copy; what it does not send must be as it was there, too.
    assert torch.equal(engine.train(wanted, examples).update, update)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    trained = FlatModule(copy.deepcopy(model))
    wanted.trainer.train(trained, examples, np.random.default_rng(0))
    frozen = dict(trained.module.named_parameters()).keys() - set(trained.spec.names)
    assert frozen == ({"embedding.weight"} if name == "sentiment_lstm" else set())
    for key in frozen:
        assert torch.equal(trained.module.state_dict()[key], before[key])


def federation() -> Federation:
    return Federation.from_arrays(
        Ragged.from_sequences(SENTENCES),
        LABELS,
        [0, 0, 1, 1],
        test=(Ragged.from_sequences(SENTENCES), LABELS),
        vocabulary=WORDS,
    )


def test_frozen_vectors_travel_to_worker_processes() -> None:
    model, data = made("sentiment_lstm", num_classes=2), federation()
    jobs = [job(model, SGD(learning_rate=0.5, batch_size=2, epochs=2), user) for user in (0, 1)]
    here = list(InProcess(model, data).train(jobs))
    with Workers(model, data, workers=1) as workers:
        there = list(workers.train(jobs))
        assert data.test is not None
        measured = workers.evaluate(jobs[0].parameters, data.test)
    assert measured == InProcess(model, data).evaluate(jobs[0].parameters, data.test)
    for a, b in zip(here, there, strict=True):
        assert torch.equal(a.update, b.update)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_clipped_gradients_are_those_of_each_sentence_alone(name: str) -> None:
    module = made(name, num_classes=2)
    tokens = batch(SENTENCES)
    alone = [
        gradient(module, torch.tensor([row]), int(label))
        for row, label in zip(SENTENCES, LABELS, strict=True)
    ]
    norms = [float(g.norm()) for g in alone]
    bound = sorted(norms)[1]  # some are clipped, one is not
    wanted = sum(g * min(1.0, bound / norm) for g, norm in zip(alone, norms, strict=True))
    model = FlatModule(module)
    model.module.train()
    found = clipped_sum(model, tokens, LABELS, (bound,)).float()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)

    sizes = model.spec.layer_sizes()
    limits = tuple(0.1 / (i + 1) for i in range(len(sizes)))
    parts = [
        part * min(1.0, limit / float(part.norm()))
        for g in alone
        for part, limit in zip(g.split(list(sizes)), limits, strict=True)  # type: ignore[no-untyped-call]
    ]
    by_layer = torch.stack([torch.cat(parts[i : i + len(sizes)]) for i in range(0, len(parts), len(sizes))])
    found = clipped_sum(model, tokens, LABELS, limits).float()
    torch.testing.assert_close(found, by_layer.sum(0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_private_training_accepts_the_model(name: str) -> None:
    model = made(name, num_classes=2)
    trainer = DPSGD(
        learning_rate=0.1, probability=0.5, expected_batch=2, steps=2, clip_bound=1.0, noise_multiplier=1.0
    )
    trainer.check_model(model, batch(SENTENCES[:1]))
    update = (
        Engine(model).train(job(model, trainer), Examples(Ragged.from_sequences(SENTENCES), LABELS)).update
    )
    assert bool(torch.isfinite(update).all())
    assert float(update.norm()) > 0


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_a_model_learns_which_word_stood_first(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, 7, (120,), generator=generator)
    rows = [torch.randint(2, 7, (int(n),), generator=generator) for n in lengths]
    examples = Examples(Ragged.from_sequences(rows), torch.stack([(row[0] >= 4).long() for row in rows]))
    model = made(name, num_classes=2, hidden=16)
    start = ParameterSpec.of(model).flatten(model)
    engine = Engine(model)
    trainer = SGD(learning_rate=0.1, batch_size=10, epochs=40, momentum=0.9)
    end = start + engine.train(job(model, trainer), examples).update
    assert engine.evaluate(start, examples).accuracy < 0.75
    assert engine.evaluate(end, examples).accuracy > 0.95


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_a_copy_and_a_pickle_give_the_same_scores(name: str) -> None:
    model = made(name)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(batch(SENTENCES)), model(batch(SENTENCES)))
        assert ParameterSpec.of(other) == ParameterSpec.of(model)


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_without_a_vocabulary_a_model_of_text_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"{name} reads words, so the data must have a vocabulary"):
        build(name, input_shape=(1, 28, 28), num_classes=2, seed=0)


def test_frozen_vectors_must_be_there() -> None:
    bare = Vocabulary(words=("a", "b"))
    with pytest.raises(InvalidValue, match=r"sentiment_lstm needs a vector for each word.*word_lstm"):
        build("sentiment_lstm", input_shape=(), num_classes=2, seed=0, vocabulary=bare)
    assert build("word_lstm", input_shape=(), num_classes=2, seed=0, vocabulary=bare)


@pytest.mark.parametrize("name", ["mnist_cnn", "logistic_regression", "mlp"])
def test_a_model_of_pictures_on_words_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"{name} reads numbers, but these data are words.*word_lstm"):
        build(name, input_shape=(), num_classes=2, seed=0, vocabulary=WORDS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"embedding": 0}, "embedding must be at least 1, got 0"),
        ({"num_classes": 1}, "number of classes must be at least 2, got 1"),
    ],
)
def test_sizes_that_make_no_model_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        made("word_lstm", **options)
    with pytest.raises(InvalidType, match=r"hidden must be a whole number, got 2\.5"):
        made("sentiment_lstm", hidden=2.5)
