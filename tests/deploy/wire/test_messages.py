from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deploy.odd_values import ANYTHING
from fedward.core.parameters import ParameterSpec
from fedward.deploy.wire.messages import Answer, Greeting, Presence, Task, layout_of
from fedward.deploy.wire.packet import BadPacket, Packet
from fedward.local import SGD
from fedward.testing.backend_jobs import network, start_of

SPEC = ParameterSpec.of(network())
TRAINER = SGD(learning_rate=0.1, batch_size=2, epochs=1)
TASK = Task(
    round=3,
    layout=layout_of(SPEC),
    users=("ann", "bob"),
    trainer=TRAINER,
    bounds=(0.5,),
    parameters=start_of(network()),
    seeds=(2**127, 5),
    looks=(3.5,),
)
LIKE = start_of(network())
ANSWER = Answer(rows={"ann": LIKE + 1, "bob": LIKE}, norms={"bob": 0.25}, left_out={"failed": 1})
GREETING = Greeting(layout=layout_of(SPEC), users=("ann",), trainer=TRAINER, looks=(2.0,))
PRESENCE = Presence(place=2, layout="x", missing=1, undeclared=0, refuses="no")


def changed(packet: Packet, name: str, value: Any) -> Packet:
    return Packet(fields={**packet.fields, name: value}, arrays=packet.arrays)


def test_a_task_arrives_as_it_was_sent() -> None:
    found = Task.from_packet(TASK.to_packet(), SPEC)
    assert torch.equal(found.parameters, TASK.parameters)
    for name in ("round", "layout", "users", "trainer", "bounds", "seeds", "looks"):
        assert getattr(found, name) == getattr(TASK, name)


def test_without_clipping_a_bound_is_infinite_and_never_nan() -> None:
    unclipped = changed(TASK.to_packet(), "bounds", [math.inf])
    assert Task.from_packet(unclipped, SPEC).bounds == (math.inf,)
    with pytest.raises(BadPacket, match="bounds"):
        Task.from_packet(changed(unclipped, "bounds", [math.nan]), SPEC)


def test_an_answer_arrives_as_it_was_sent() -> None:
    found = Answer.from_packet(ANSWER.to_packet(LIKE), ("ann", "bob", "eve"), LIKE)
    assert {name: row.tolist() for name, row in found.rows.items()} == {
        name: row.tolist() for name, row in ANSWER.rows.items()
    }
    assert (found.norms, found.left_out["failed"]) == ({"bob": 0.25}, 1)


def test_greetings_arrive_as_they_were_sent() -> None:
    assert Greeting.from_packet(GREETING.to_packet()) == GREETING
    assert Presence.from_packet(PRESENCE.to_packet()) == PRESENCE


@given(name=st.sampled_from(sorted(TASK.to_packet().fields)), value=ANYTHING)
def test_a_task_with_an_odd_field_is_refused_or_still_a_task(name: str, value: Any) -> None:
    try:
        found = Task.from_packet(changed(TASK.to_packet(), name, value), SPEC)
    except BadPacket:
        return
    assert len(found.parameters) == SPEC.size
    assert found.seeds is None or len(found.seeds) == len(found.users)


@given(name=st.sampled_from(sorted(ANSWER.to_packet(LIKE).fields)), value=ANYTHING)
def test_an_answer_with_an_odd_field_is_refused_or_still_an_answer(name: str, value: Any) -> None:
    try:
        found = Answer.from_packet(changed(ANSWER.to_packet(LIKE), name, value), ("ann", "bob"), LIKE)
    except BadPacket:
        return
    assert set(found.rows) <= {"ann", "bob"}
    assert all(row.shape == LIKE.shape for row in found.rows.values())


def test_an_answer_about_somebody_else_is_refused() -> None:
    with pytest.raises(BadPacket, match="users that were asked for"):
        Answer.from_packet(ANSWER.to_packet(LIKE), ("ann", "eve"), LIKE)


def test_a_task_about_another_model_is_refused() -> None:
    other = ParameterSpec.of(torch.nn.Linear(3, 4))
    with pytest.raises(BadPacket, match="another model"):
        Task.from_packet(TASK.to_packet(), other)


def test_models_of_equal_size_and_other_shapes_are_told_apart() -> None:
    one, other = torch.nn.Linear(3, 4), torch.nn.Linear(7, 2)
    assert ParameterSpec.of(one).size == ParameterSpec.of(other).size
    assert layout_of(ParameterSpec.of(one)) != layout_of(ParameterSpec.of(other))
