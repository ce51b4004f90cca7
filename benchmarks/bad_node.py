"""Nodes that are no supernodes: they talk to a superlink as those do, and answer as they are told.

python benchmarks/bad_node.py FOLDER ADDRESS PLACE     # an honest one, for federation_faults.py
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives import serialization
from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents, pull_objects
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.fleet_http_connection import http_request_response

from fedward.config.experiment import read
from fedward.deploy.flower.packet_records import from_records, to_records
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.node.session import Node
from fedward.deploy.wire.messages import Task
from fedward.deploy.wire.packet import Packet

NODES = 3
# Seconds of silence after which a superlink may take a node for offline.
_PAUSE = 30.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Marking(Node):
    """A node that says when it begins to train."""

    mark: Callable[[str, int], None]

    def _train(self, task: Task, names: list[str]) -> Any:
        self.mark("training", task.round)
        return super()._train(task, names)


class LightNode(threading.Thread):
    """Answers greetings as a node does, and the task of round n with the n-th of its faults.

    It leaves marks in the folder when it is asked, trains and has answered, and waits where one tells it to.

    Args:
      folder: of the keys, and of the app and its marks in ``federation``.
      address: of the superlink.
      place: which node it is; it has the key and the users of that place.
      deadline: seconds that answers have.
      faults: by round; a round without one is answered honestly.
      before: is called with each round's number before it is answered.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        place: int,
        *,
        deadline: float = 0.0,
        faults: Sequence[str] = (),
        before: Callable[[int], object] = lambda number: None,
    ) -> None:
        super().__init__(daemon=True)
        self.folder, self.address, self.place = folder, address, place
        self.deadline, self.faults, self.before = deadline, faults, before
        self.marks = folder / "federation" / "marks"
        folder = folder / "federation"
        setup = read(folder / "app" / "federated_app" / "experiment.toml")
        data = setup.load_data()
        each = data.num_users // NODES
        self.node = Marking(
            mark=self._mark,
            model=setup.model.build(input_shape=tuple(data.examples.x.shape[1:]), num_classes=10),
            users={str(user): data.user(place * each + user) for user in range(each)},
            rules=Rules(trust_server=True),
            place=place,
        )

    def run(self) -> None:
        key: Any = serialization.load_ssh_private_key((self.folder / f"key{self.place}").read_bytes(), None)
        authority = (self.folder / "ca.crt").read_bytes()
        while True:
            with (
                suppress(Exception, SystemExit),
                http_request_response(self.address, False, authority, (key, key.public_key())) as connection,
            ):
                self.number, self.receive, self.send, _, _, self.pull, self.push, self.confirm = connection
                self._work()
            time.sleep(1.0)

    def _work(self) -> None:
        """Answers until a moment is missing: whoever has been stopped for long is taken for offline."""
        seen = time.monotonic()
        while time.monotonic() - seen < _PAUSE:
            seen, found = time.monotonic(), None
            # The superlink is being started again, the run has ended, or Flower has refused what was sent.
            with suppress(Exception):
                if (found := self.receive()) is not None:
                    self._answer(*found)
            if found is None:
                time.sleep(0.3)
            seen = time.monotonic()

    def _answer(self, question: Message, tree: ObjectTree) -> None:
        run = question.metadata.run_id
        TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = run, 1, self.number
        pieces = [each.object_id for each in iterate_object_tree(tree)]
        contents = pull_objects(pieces, lambda name: self.pull(run, name))
        self.confirm(run, question.metadata.message_id)
        whole: Any = inflate_object_from_contents(question.metadata.message_id, contents)
        whole.metadata.__dict__["_message_id"] = question.metadata.message_id
        packet = from_records(whole.content)
        if question.metadata.message_type == "query":
            self._reply(whole, to_records(self.node.greet(packet)))
            return
        number = packet.fields["round"]
        fault = self.faults[number] if number < len(self.faults) else ""
        self._mark("asked", number)
        self.before(number)
        answer = self.node.answer(packet)
        FAULTS.get(fault, _honest)(self, whole, answer)
        self._mark("answered", number)

    def _mark(self, what: str, number: int) -> None:
        (self.marks / f"{what}-{self.place}-{number}").touch()
        while (self.marks / f"hold-{what}-{self.place}-{number}").exists():
            time.sleep(0.1)

    def _reply(self, question: Message, content: Any, **changes: Any) -> None:
        """Announces an answer and sends its pieces."""
        message = Message(content, reply_to=question)
        for name, value in changes.items():
            message.metadata.__dict__[f"_{name}"] = value
        pieces = {name: each.deflate() for name, each in get_all_nested_objects(message).items()}
        self._push(message, get_object_tree(message), pieces)

    def _push(self, message: Message, tree: ObjectTree, pieces: dict[str, bytes]) -> None:
        message.metadata.__dict__["_message_id"] = tree.object_id
        wanted, session = self.send(message, tree, 0.0)
        for name in wanted & set(pieces):
            self.push(message.metadata.run_id, session, name, pieces[name])


Fault = Callable[[LightNode, Message, Packet], None]


def _honest(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(answer))


def _late(node: LightNode, question: Message, answer: Packet) -> None:
    time.sleep(node.deadline + 2)
    node._reply(question, to_records(answer))


def _twice(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(answer))
    node._reply(question, to_records(_rows(answer, lambda rows: rows * 0 + 1)))


def _oversized(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(_rows(answer, lambda rows: np.zeros(10_000_000, rows.dtype))))


def _bomb(node: LightNode, question: Message, answer: Packet) -> None:
    """One piece of a megabyte, which the array says that it consists of a million times: a terabyte."""
    records = to_records(_rows(answer, lambda rows: np.zeros(4_000, rows.dtype)))
    array: Any = records["fedward.arrays"]["rows"]
    array.__dict__["_chunks"] = array.slice_array() * 1_000_000
    node._reply(question, records)


def _many(node: LightNode, question: Message, answer: Packet) -> None:
    message = Message(to_records(answer), reply_to=question)
    tree = get_object_tree(message)
    for number in range(1_000):
        tree.children[0].children.append(
            ObjectTree(object_id=hashlib.sha256(str(number).encode()).hexdigest())
        )
    node._push(message, tree, {})


def _never(node: LightNode, question: Message, answer: Packet) -> None:
    message = Message(to_records(answer), reply_to=question)
    node._push(message, get_object_tree(message), {})


def _damaged(node: LightNode, question: Message, answer: Packet) -> None:
    """An object of a right digest and a right head, in which nothing of a message is."""
    message = Message(to_records(answer), reply_to=question)
    content = b"Message  5\x00hello"
    name = hashlib.sha256(content).hexdigest()
    node._push(message, ObjectTree(object_id=name), {name: content})


def _nan(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(_first(answer, np.nan)))


def _huge(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(_first(answer, 1e30)))


def _foreign(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, RecordDict({"config": ConfigRecord({"a": 1})}))


def _version(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(Packet(fields={**answer.fields, "version": 2}, arrays=answer.arrays)))


def _as_another(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, to_records(answer), src_node_id=node.number ^ 1)


def _error(node: LightNode, question: Message, answer: Packet) -> None:
    node._reply(question, Error(code=4, reason="John Doe\x1b[31m has failed" + "!" * 10_000))


def _rows(answer: Packet, change: Callable[[Any], Any]) -> Packet:
    rows = answer.arrays["rows"]
    data = change(np.frombuffer(rows.data, "<f4").copy()).tobytes()
    return Packet(fields=answer.fields, arrays={"rows": replace(rows, data=data)})


def _first(answer: Packet, value: float) -> Packet:
    """The answer with this as the first number of its first row."""

    def changed(rows: Any) -> Any:
        rows[0] = value
        return rows

    return _rows(answer, changed)


FAULTS: dict[str, Fault] = {
    "late": _late,
    "twice": _twice,
    "oversized": _oversized,
    "one piece a million times": _bomb,
    "1,000 pieces": _many,
    "announced and never sent": _never,
    "damaged": _damaged,
    "NaN": _nan,
    "1e30": _huge,
    "foreign records": _foreign,
    "another version": _version,
    "in the name of another node": _as_another,
    "an error": _error,
}


if __name__ == "__main__":
    LightNode(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])).run()
