from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.app import ConfigRecord, Error, Message, RecordDict

from fedward.deploy.flower.grid_transport import GridTransport
from fedward.deploy.flower.packet_records import to_records
from fedward.deploy.server.message_transport import Question
from fedward.deploy.wire.packet import Packet

ASKED = Packet(fields={"version": 1, "round": 2})
QUESTION = Question(packet=ASKED, longest_answer=1000)


class FakeGrid:
    """A grid on which a test says what comes back; it keeps what was pushed."""

    def __init__(self, replies: Any) -> None:
        self.replies, self.pulls = replies, 0
        self.pushed: list[Message] = []

    def get_nodes(self) -> Any:
        private = ec.generate_private_key(ec.SECP384R1()).public_key()
        self.key = private.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        pem = private.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return [SimpleNamespace(node_id=7, public_key=pem), SimpleNamespace(node_id=8, public_key=b"none")]

    def push_messages(self, messages: Any) -> list[str | None]:
        self.pushed += messages
        for number, message in enumerate(messages):
            message.metadata.__dict__["_message_id"] = f"id-{number}"
        return [f"id-{number}" for number in range(len(messages))]

    def pull_messages(self, ids: Any) -> Any:
        self.pulls += 1
        return self.replies(self, list(ids))


def reply(message: Message, content: Any, source: int | None = None) -> Message:
    made = Message(content, reply_to=message)
    if source is not None:
        made.metadata.__dict__["_src_node_id"] = source
    return made


def test_nodes_are_known_by_the_keys_that_they_were_registered_with() -> None:
    grid = FakeGrid(None)
    first, second = GridTransport(grid).nodes()
    assert (first.number, first.key.encode()) == (7, grid.key)
    assert (second.number, second.key) == (8, "")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda m: reply(m, to_records(ASKED)), ""),
        (lambda m: reply(m, to_records(ASKED), source=99), "another node"),
        (lambda m: reply(m, Error(code=1, reason="bad\x1b[31m\nnews")), "reports an error"),
        (lambda m: reply(m, RecordDict({"other": ConfigRecord({"a": 1})})), "no message of fedward"),
    ],
    ids=["an answer", "of another node", "an error", "foreign records"],
)
def test_an_answer_is_a_packet_or_a_problem(answer: Any, says: str) -> None:
    grid = FakeGrid(lambda grid, ids: [answer(grid.pushed[0])])
    found = GridTransport(grid, pause=0.0).ask({7: QUESTION}, "task", 2, 5.0)[7]
    assert (found.packet is not None) == (not says)
    assert says in found.problem
    assert "\x1b" not in found.problem


def test_only_the_first_answer_counts_and_foreign_ones_do_not() -> None:
    def twice(grid: FakeGrid, ids: list[str]) -> list[Message]:
        first, again = (reply(grid.pushed[0], to_records(ASKED)) for _ in range(2))
        foreign = reply(grid.pushed[0], to_records(ASKED))
        foreign.metadata.__dict__["_reply_to_message_id"] = "id-of-nobody"
        return [foreign, first, again]

    grid = FakeGrid(twice)
    found = GridTransport(grid, pause=0.0).ask({7: QUESTION}, "greeting", -1, 5.0)
    assert set(found) == {7}
    assert grid.pulls == 1
    assert grid.pushed[0].metadata.message_type == "query"


def test_who_does_not_answer_before_the_deadline_has_not_answered() -> None:
    grid = FakeGrid(lambda grid, ids: [])
    found = GridTransport(grid, pause=0.01).ask({7: QUESTION}, "task", 0, 0.05)
    assert found == {}
    assert grid.pushed[0].metadata.ttl == 0.05


def test_nobody_can_guess_the_name_of_a_message_that_it_was_not_sent() -> None:
    grid = FakeGrid(lambda grid, ids: [])
    for _ in range(2):
        GridTransport(grid, pause=0.0).ask({7: QUESTION, 8: QUESTION}, "task", 2, 0.001)
    groups = {message.metadata.group_id for message in grid.pushed}
    assert len(groups) == 4
    assert all(len(group) == len("3-") + 32 and group.startswith("3-") for group in groups)
