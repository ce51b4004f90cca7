from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from deploy.odd_values import ANYTHING
from fedward.base.validate import InvalidValue
from fedward.core.types import LocalTrainer
from fedward.deploy.wire.packet import BadPacket
from fedward.deploy.wire.trainers import trainer_from, trainer_text
from fedward.local import DPSGD, SGD, FullGradient, NoisyGradient, ProjectedSGD

STEPS = SGD(learning_rate=0.1, batch_size=8, epochs=1, momentum=0.9)
TRAINERS: list[LocalTrainer] = [
    STEPS,
    FullGradient(learning_rate=0.5),
    ProjectedSGD(sgd=STEPS),
    ProjectedSGD(sgd=STEPS).at_round(2, (0.3,)),
    DPSGD(
        learning_rate=0.1, probability=0.1, expected_batch=5, steps=2, noise_multiplier=1 / 3, clip_bound=1.0
    ),
    NoisyGradient(noise_multiplier=4.0, clip_bound=0.1, noise_source="system"),
]


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda each: type(each).__name__)
def test_a_trainer_arrives_as_it_was_sent(trainer: LocalTrainer) -> None:
    found = trainer_from(trainer_text(trainer))
    assert found == trainer
    assert type(found) is type(trainer)


def test_a_trainer_of_ones_own_is_not_sent() -> None:
    class Own:
        pass

    with pytest.raises(InvalidValue, match="must be one of sgd"):
        trainer_text(Own())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "os.system"},
        {"learning_rate": float("nan")},
        {"learning_rate": -1.0},
        {"batch_size": "8"},
        {"command": "rm"},
        {"epochs": [1, 2]},
        {"epochs": {"name": "sgd"}},
    ],
    ids=str,
)
def test_a_text_that_is_no_trainer_of_ours_is_refused(change: dict[str, Any]) -> None:
    content = json.loads(trainer_text(STEPS)) | change
    with pytest.raises(BadPacket):
        trainer_from(json.dumps(content))


@given(ANYTHING)
def test_no_text_does_anything_but_make_a_trainer_or_raise(value: Any) -> None:
    try:
        text = json.dumps(value)
    except TypeError:
        text = str(value)
    with pytest.raises(BadPacket):
        trainer_from(text)
