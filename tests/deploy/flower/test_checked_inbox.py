from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

import httpx
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    ConfirmMessageReceivedResponse,
    ObjectTree,
    PullObjectRequest,
    PullObjectResponse,
)
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.run import Run
from flwr.superlink.grid.http_grid import HttpGrid

from fedward.deploy.flower.checked_inbox import CheckedInbox
from fedward.deploy.flower.packet_records import to_records
from fedward.deploy.server.message_transport import Reply
from fedward.deploy.wire.packet import Packet, RawArray

NODE, ASKED, LONGEST = 7, "asked", 100_000


def packet(rows: bytes = b"\0" * 8, **fields: Any) -> Packet:
    return Packet(
        fields={"version": 1, "users": ["ann"], **fields},
        arrays={"rows": RawArray(kind="float32", shape=(1, 2), data=rows)},
    )


class Superlink:
    """Answers as a superlink does, over HTTP and in this process; it has what nodes have pushed to it."""

    def __init__(self) -> None:
        self.replies: dict[str, tuple[Any, ObjectTree]] = {}
        self.objects: dict[str, bytes] = {}
        self.late: set[str] = set()
        self.sent: list[int] = []
        self.confirmed: list[str] = []

    def push(self, asked: str, content: Any, source: int = NODE) -> Message:
        """Stores a reply; its sender's number is what the superlink was told."""
        question = Message(RecordDict({}), dst_node_id=NODE, message_type="train")
        question.metadata.__dict__["_message_id"] = asked
        message = Message(content, reply_to=question)
        message.metadata.__dict__["_src_node_id"] = source
        message.metadata.__dict__["_message_id"] = message.object_id
        self.replies[asked] = (
            message_to_proto(remove_content_from_message(message)),
            get_object_tree(message),
        )
        self.objects |= {name: each.deflate() for name, each in get_all_nested_objects(message).items()}
        return message

    def grid(self) -> HttpGrid:
        grid = HttpGrid(insecure=True, token="token")
        grid.set_run(Run.create_empty(run_id=3))
        client = grid._runtime_client
        client._client = httpx.Client(transport=httpx.MockTransport(self._answer))
        client._retry_invoker = None
        return grid

    def _answer(self, request: httpx.Request) -> httpx.Response:
        what = request.url.path.rpartition("/")[2]
        found: Any
        if what == "pull-messages":
            (asked,) = PullAppMessagesRequest.FromString(request.content).message_ids
            reply = self.replies.pop(asked, None)
            found = PullAppMessagesResponse(
                messages_list=[] if reply is None else [reply[0]],
                message_object_trees=[] if reply is None else [reply[1]],
            )
        elif what == "pull-object":
            name = PullObjectRequest.FromString(request.content).object_id
            there = name in self.objects and name not in self.late
            found = PullObjectResponse(
                object_found=name in self.objects,
                object_available=there,
                object_content=self.objects[name] if there else b"",
            )
        else:
            sent = ConfirmMessageReceivedRequest.FromString(request.content)
            self.confirmed.append(sent.message_object_id)
            found = ConfirmMessageReceivedResponse()
        body = found.SerializeToString()
        self.sent.append(len(body))
        return httpx.Response(200, headers={"content-length": str(len(body))}, stream=Body(body, self))


class Body(httpx.SyncByteStream):  # type: ignore[misc]
    """A response's body that says when it is read."""

    def __init__(self, body: bytes, link: Superlink) -> None:
        self.body, self.link = body, link

    def __iter__(self) -> Any:
        read.append(len(self.body))
        yield self.body


read: list[int] = []


@pytest.fixture
def link() -> Superlink:
    read.clear()
    return Superlink()


def inbox(link: Superlink, *asked: str) -> CheckedInbox:
    names = asked or (ASKED,)
    return CheckedInbox(link.grid(), dict.fromkeys(names, NODE), dict.fromkeys(names, LONGEST))


def reply(link: Superlink) -> Reply:
    return inbox(link).look()[ASKED]


def test_an_answer_arrives_as_it_was_sent_and_the_superlink_forgets_it(link: Superlink) -> None:
    message = link.push(ASKED, to_records(packet(rows=b"\1" * 50_000)))
    found = reply(link).packet
    assert found is not None
    assert found.arrays["rows"].data == b"\1" * 50_000
    assert dict(found.fields) == dict(packet().fields)
    assert link.confirmed == [message.object_id]


@pytest.mark.parametrize(
    "content",
    [
        to_records(packet(rows=bytes(LONGEST * 20))),
        to_records(packet(text="x" * LONGEST * 20)),
        to_records(Packet(arrays={str(n): packet().arrays["rows"] for n in range(10_000)})),
    ],
    ids=["an array", "a field", "10,000 arrays"],
)
def test_an_answer_that_is_too_long_is_not_read(content: RecordDict, link: Superlink) -> None:
    link.push(ASKED, content)
    assert "longer than the 100,000 bytes" in reply(link).problem
    assert max(link.sent) > LONGEST
    assert sum(read) < 2 * LONGEST


def test_a_piece_that_an_array_names_again_and_again_is_not_put_together(link: Superlink) -> None:
    records = to_records(packet(rows=b"\1" * 60_000))
    array = records["fedward.arrays"]["rows"]
    (chunk,) = array.slice_array()
    array.__dict__["_chunks"] = [chunk] * 10_000
    link.push(ASKED, records)
    assert "longer than the 100,000 bytes" in reply(link).problem


def test_a_piece_that_does_not_come_holds_up_nobody(link: Superlink) -> None:
    link.push("one", to_records(packet(n=1)))
    held = link.push("two", to_records(packet(n=2)))
    link.late.add(held.object_id)
    both = inbox(link, "one", "two")
    assert set(both.look()) == {"one"}
    assert both.look() == {}
    link.late.clear()
    found = both.look()["two"].packet
    assert found is not None
    assert found.fields["n"] == 2


def damaged(link: Superlink, kind: str, change: Any) -> None:
    for name, content in link.objects.items():
        if content.startswith(kind.encode()):
            link.objects[name] = change(content)


@pytest.mark.parametrize("kind", ["Message", "RecordDict", "ArrayRecord", "ConfigRecord", "Array "])
@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"",
        lambda content: b"\x80\x04}q",
        lambda content: content[:-3],
        lambda content: content.replace(b" ", b" " + b"0" * 64 + b",", 1),
        lambda content: b"ArrayChunk" + content[content.index(b" ") :],
    ],
    ids=["empty", "no object", "cut", "another child", "another kind"],
)
def test_whatever_a_node_sends_is_a_problem_of_its_own(kind: str, change: Any, link: Superlink) -> None:
    link.push("bad", to_records(packet()))
    damaged(link, kind, change)
    link.push("good", to_records(packet(n=2, rows=b"\2" * 8)))
    both = inbox(link, "bad", "good")
    found = both.look()
    assert "bad" not in found or found["bad"].packet is None
    assert found["good"].packet is not None


def test_a_piece_that_the_superlink_has_lost_is_a_problem(link: Superlink) -> None:
    message = link.push(ASKED, to_records(packet()))
    del link.objects[message.object_id]
    assert "is lost" in reply(link).problem


def test_the_sender_is_who_the_superlink_says_and_not_who_the_message_says(link: Superlink) -> None:
    message = link.push(ASKED, to_records(packet()))
    proto, _ = link.replies[ASKED]
    assert message.metadata.src_node_id == NODE
    proto.metadata.src_node_id = 8
    assert "another node" in reply(link).problem


def test_an_error_is_told_without_fetching_anything(link: Superlink) -> None:
    message = link.push(ASKED, Error(code=1, reason="bad\x1b[31m\nnews" + "x" * 1000))
    found = reply(link)
    assert found.problem.startswith("it reports an error, 'bad")
    assert "\x1b" not in found.problem
    assert len(found.problem) < 400
    assert link.confirmed == [message.object_id]


def test_foreign_records_are_a_problem(link: Superlink) -> None:
    link.push(ASKED, RecordDict({"other": ConfigRecord({"a": 1})}))
    assert "no message of fedward" in reply(link).problem


def test_an_array_that_numpy_has_packed_is_a_problem(link: Superlink) -> None:
    import numpy as np

    rows = ArrayRecord({"rows": Array(np.ones(3, dtype=np.float32))})
    records = dict(to_records(packet())) | {"fedward.arrays": rows}
    link.push(ASKED, RecordDict(records))
    assert "raw bytes" in reply(link).problem
