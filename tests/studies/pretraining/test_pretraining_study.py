from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.config.pretraining_file import from_content, read
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.models import weights_file
from fedward.models.weights_file import About
from fedward.studies.pretraining import pretraining_study as module
from fedward.studies.pretraining.pretraining_study import Pretraining
from studies.pretrained import CONTENT, pretrain, pretrained, pretraining


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts in an epoch instead of one."""
    monkeypatch.setattr(module, "_PART", 500)


def stored(path: Path) -> tuple[About, dict[str, torch.Tensor]]:
    return weights_file.from_bytes(path.read_bytes(), str(path))


def same_bits(a: Path, b: Path) -> bool:
    one, two = stored(a)[1], stored(b)[1]
    return one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)


def test_it_learns_and_says_what_it_is(tmp_path: Path) -> None:
    wanted = pretraining()
    steps = list(pretrain(wanted, tmp_path / "weights.pt"))
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]
    assert steps[0].accuracy == {}
    about, tensors = stored(tmp_path / "weights.pt")
    assert about.finished
    assert len(about.accuracy) == 2
    assert about.accuracy[1] > 0.8
    assert (about.model["name"], about.data["name"], about.seed, about.epochs) == ("mlp", "digits", 1, 2)
    assert about.versions.keys() == {"fedward", "torch", "numpy"}
    assert str(about) == f"mlp trained on digits for 2 epochs, {about.accuracy[1]:.1%} accuracy"
    # The model that was asked for has the weights now, and they measure what the file says.
    assert all(torch.equal(tensors[key], value) for key, value in wanted.model.state_dict().items())
    test = wanted.federation.test
    assert test is not None
    right = float((wanted.model(test.x).argmax(1) == test.y).float().mean())
    assert right == pytest.approx(about.accuracy[1], abs=0.005)


def test_every_epoch_uses_every_example_once_in_another_order(small_parts: None) -> None:
    wanted = pretraining()
    count = len(wanted.federation.examples)
    orders = [wanted.order(epoch) for epoch in (0, 1)]
    assert wanted.parts == math.ceil(count / 500) == 3
    for order, seeds in orders:
        assert sorted(order.tolist()) == list(range(count))
        assert len(set(seeds)) == 3
    assert not np.array_equal(orders[0][0], orders[1][0])
    assert not set(orders[0][1]) & set(orders[1][1])


def test_the_steps_are_those_of_plain_sgd(tmp_path: Path) -> None:
    wanted = pretraining()
    start = ParameterSpec.of(wanted.model).flatten(wanted.model)
    for _ in pretrain(wanted, tmp_path / "weights.pt", Compute(engine="generic")):
        pass
    model = FlatModule(wanted.model)
    model.parameters.copy_(start)
    for epoch, rate in enumerate((0.1, 0.1 * 0.9)):
        order, (seed,) = wanted.order(epoch)
        examples = wanted.federation.examples.select(torch.from_numpy(order))
        shuffled = np.random.Generator(np.random.Philox(key=seed)).permutation(len(examples))
        velocity = torch.zeros_like(start)
        for place in range(0, len(shuffled), 20):
            x, y = examples.batch(torch.from_numpy(shuffled[place : place + 20]))
            model.gradient.zero_()
            cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
            velocity = 0.5 * velocity + model.gradient
            model.weights.sub_(rate * velocity)
    for key, view in model.spec.views(model.parameters).items():
        torch.testing.assert_close(stored(tmp_path / "weights.pt")[1][key], view, rtol=0, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_killed_anywhere_it_goes_on_to_the_same_bits(small_parts: None, tmp_path: Path, steps: int) -> None:
    whole = pretrained(tmp_path / "whole.pt")
    killed = tmp_path / "killed.pt"
    stopped = pretrain(pretraining(), killed, seconds=0.0)
    for _ in itertools.islice(stopped, steps + 1):
        pass
    assert isinstance(stopped, Generator)
    stopped.close()
    about, _ = stored(killed)
    assert (about.epochs * 3 + about.parts, about.finished) == (steps, False)
    resumed = list(pretrain(pretraining(), killed))
    assert resumed[0].done == steps
    assert same_bits(whole, killed)
    assert stored(whole)[0] == stored(killed)[0]


def test_what_is_not_saved_yet_is_done_again(small_parts: None, tmp_path: Path) -> None:
    whole, killed = pretrained(tmp_path / "whole.pt"), tmp_path / "killed.pt"
    stopped = pretrain(pretraining(), killed, seconds=1e9)
    for _ in itertools.islice(stopped, 5):
        pass
    assert isinstance(stopped, Generator)
    stopped.close()
    assert stored(killed)[0].epochs == 1
    assert [step.done for step in pretrain(pretraining(), killed)] == [3, 4, 5, 6]
    assert same_bits(whole, killed)


def test_more_epochs_go_on_from_a_finished_file_and_fewer_are_refused(tmp_path: Path) -> None:
    path = pretrained(tmp_path / "grown.pt", epochs=1)
    before = path.read_bytes()
    assert [step.done for step in pretrain(pretraining(epochs=1), path)] == [1]
    assert path.read_bytes() == before  # it is finished: nothing is done again
    pretrained(path, epochs=2)
    assert same_bits(path, pretrained(tmp_path / "at_once.pt", epochs=2))
    with pytest.raises(InvalidValue, match=r"holds more than 1 epoch of this pre-training: 2"):
        pretrained(path, epochs=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 2}, "data, start, seed differ"),
        ({"model": {"name": "digits_cnn"}}, "model, start differ"),
        ({"data": {"name": "digits", "users": 19}}, "data differ"),
        ({"training": CONTENT["training"] | {"momentum": 0.0}}, "training differ"),
    ],
)
def test_the_file_of_another_pretraining_is_left_alone(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = pretrained(tmp_path / "weights.pt", epochs=1)
    before = path.read_bytes()
    with pytest.raises(InvalidValue, match=rf"holds another pre-training: {words}; choose another file"):
        pretrained(path, **changes)
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = pretrained(tmp_path / "weights.pt", epochs=1)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:40], b"", whole[:200] + b"x" + whole[201:], b"anything"):
        path.write_bytes(damaged)
        with pytest.raises(
            InvalidValue, match=r"weights\.pt is damaged or not of the format 'fedward weights"
        ):
            pretrained(path, epochs=1)
        assert path.read_bytes() == damaged


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"must be a file, got a directory"):
        pretrained(tmp_path)


def test_what_a_kill_left_in_the_middle_of_writing_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".weights.pt.fedward-0123456789abcdef.part").write_bytes(b"half")
    (tmp_path / ".other.pt.fedward-0123456789abcdef.part").write_bytes(b"of another training")
    pretrained(tmp_path / "weights.pt", epochs=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".other.pt.fedward-0123456789abcdef.part",
        ".weights.pt.fedward-lock",
        "weights.pt",
    ]


def test_nothing_that_fedward_did_not_write_is_removed(tmp_path: Path) -> None:
    """``touch .env.local; fedward pretrain pre.toml --out env`` removed that file."""
    theirs = (
        *(".env.local", ".env.production", ".env.0123456789abcdef.part", ".env.abcdefgh", ".env.part"),
        *(".env.fedward-0123456789ABCDEF.part", ".env.fedward-0123456789abcde.part", ".env.lock", ".env"),
        *(".env.fedward-0123456789abcdef.part.bak", "env.fedward-0123456789abcdef.part", ".env.x.part"),
    )
    for name in theirs:
        (tmp_path / name).write_text(f"of mine: {name}")
    (tmp_path / ".env.fedward-0123456789abcdef.part").mkdir()
    pretrained(tmp_path / "env", epochs=1)
    for name in theirs:
        assert (tmp_path / name).read_text() == f"of mine: {name}"
    assert (tmp_path / ".env.fedward-0123456789abcdef.part").is_dir()


def test_two_pretrainings_into_one_file_at_once_are_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "weights.pt", tmp_path / "link.pt"
    link.symlink_to(path)
    first = pretrain(pretraining(epochs=1), path)
    next(first)
    for other in (path, tmp_path / "." / "weights.pt", link):
        with pytest.raises(InvalidValue, match=rf"{other.name} is in use by another process"):
            next(pretrain(pretraining(epochs=1), other))
    pretrained(tmp_path / "another.pt", epochs=1)  # beside it there is room
    assert [step.done for step in first] == [1]
    assert stored(path)[0].finished
    assert [step.done for step in pretrain(pretraining(epochs=1), path)] == [1]


def test_a_pretraining_that_is_given_up_leaves_the_file_free(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    first = pretrain(pretraining(epochs=1), path)
    next(first)
    assert isinstance(first, Generator)
    first.close()
    with pytest.raises(InvalidValue, match="diverged"):
        pretrained(path, training={"learning_rate": 1e30, "batch_size": 20})
    pretrained(path, epochs=1)


def test_a_training_that_diverges_says_so_and_saves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"diverged in epoch 1: .* lower learning rate"):
        pretrained(tmp_path / "weights.pt", training={"learning_rate": 1e30, "batch_size": 20})
    assert [file.name for file in tmp_path.iterdir()] == [".weights.pt.fedward-lock"]


def test_data_without_a_test_set_have_no_accuracy(tmp_path: Path) -> None:
    wanted = pretraining(epochs=1)
    bare = replace(wanted, federation=replace(wanted.federation, test=None))
    assert isinstance(bare, Pretraining)
    steps = list(pretrain(bare, tmp_path / "weights.pt"))
    assert steps[-1].accuracy == {}
    assert str(stored(tmp_path / "weights.pt")[0]) == "mlp trained on digits for 1 epoch"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, r"epochs: epochs must be at least 1, got 0"),
        ({"seed": -1}, r"seed: seed must be at least 0, got -1"),
        ({"rounds": 3}, r"unknown key 'rounds'"),
        ({"training": {"batch_size": 20}}, r"training\.learning_rate is missing"),
        ({"training": {"learning_rate": -1.0, "batch_size": 20}}, r"learning rate must be positive"),
        ({"training": CONTENT["training"] | {"epochs": 3}}, r"training: unknown key 'epochs'"),
        ({"model": {"name": "mpl"}}, r"model: name must be one of .*did you mean 'mlp'"),
        ({"model": {"name": "mlp", "weights": 3}}, r"model\.weights must be text in quotes, got 3"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_before_anything_is_done(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=rf"(?s)pre-training is not a valid pre-training:.*{message}"):
        from_content(CONTENT | changes)


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(
        'seed = 1\nepochs = 3\ndata = { name = "digits" }\nmodel = { name = "mlp" }\n'
        "training = { learning_rate = 0.1, batch_size = 8 }\n"
    )
    assert read(tmp_path / "file.toml").epochs == 3
    with pytest.raises(InvalidValue, match="there is no file"):
        read(tmp_path / "none.toml")


def test_a_learning_rate_that_falls_to_zero_is_said_before_the_first_epoch() -> None:
    training = CONTENT["training"] | {"learning_rate_decay": 0.01}
    message = (
        r"training: learning rate must be positive and finite, got 0\.0 in epoch 162 of 200 \(epochs are"
    )
    with pytest.raises(InvalidValue, match=message):
        pretraining(epochs=200, training=training)
    assert pretraining(epochs=162, training=training).file.epochs == 162
