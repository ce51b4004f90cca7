"""Packets over Flower's grid: one message for each node, and its first answer before the deadline."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import serialization
from flwr.app import Message
from flwr.serverapp import Grid
from flwr.superlink.grid.http_grid import HttpGrid

from fedward.deploy.flower.checked_inbox import CheckedInbox
from fedward.deploy.flower.inbox import Inbox, OpenInbox
from fedward.deploy.flower.packet_records import to_records
from fedward.deploy.server.message_transport import Kind, NodeSeen, Question, Reply

MESSAGE_TYPES: dict[Kind, str] = {"task": "train", "greeting": "query"}
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGER = 0.1, 1.0, 1.3


class GridTransport:
    """Flower's grid. A message lives as long as the deadline: what comes later, Flower does not take.

    Args:
      grid: of a server app that runs.
      pause: seconds between the first two looks for answers; later ones grow up to a second.
    """

    def __init__(self, grid: Grid, pause: float = _FIRST_PAUSE) -> None:
        self._grid, self._pause = grid, pause

    def nodes(self) -> list[NodeSeen]:
        """The nodes that Flower takes to be online, with the keys that they were registered with."""
        return [
            NodeSeen(number=int(node.node_id), key=_key_text(node.public_key))
            for node in self._grid.get_nodes()
        ]

    def ask(
        self, questions: Mapping[int, Question], kind: Kind, round: int, deadline: float
    ) -> dict[int, Reply]:
        if not questions:
            return {}
        until = time.monotonic() + deadline
        # A superlink takes an answer from any node that names the message. Its name is a digest: the random
        # part keeps those that were not sent it from guessing it.
        messages = [
            Message(
                to_records(question.packet),
                dst_node_id=number,
                message_type=MESSAGE_TYPES[kind],
                ttl=deadline,
                group_id=f"{round + 1}-{secrets.token_hex(16)}",
            )
            for number, question in questions.items()
        ]
        # None stands for a message that could not be pushed; its node does not answer.
        pushed = list(self._grid.push_messages(messages))
        senders = {
            message: number for message, number in zip(pushed, questions, strict=False) if message is not None
        }
        inbox = self._inbox(senders, questions)
        replies: dict[int, Reply] = {}
        pause = self._pause
        while len(replies) < len(senders) and time.monotonic() < until:
            for message, reply in inbox.look().items():
                replies[senders[message]] = reply
            if len(replies) < len(senders):
                time.sleep(min(pause, max(0.0, until - time.monotonic())))
                pause = min(_LONGEST_PAUSE, _LONGER * pause)
        return replies

    def _inbox(self, senders: Mapping[str, int], questions: Mapping[int, Question]) -> Inbox:
        if isinstance(self._grid, HttpGrid):
            longest = {message: questions[number].longest_answer for message, number in senders.items()}
            return CheckedInbox(self._grid, senders, longest)
        return OpenInbox(self._grid, senders)


def _key_text(key: Any) -> str:
    """A registered key as ``ssh-keygen`` writes it; empty where there is none that can be read."""
    try:
        public = serialization.load_pem_public_key(bytes(key))
        text = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    except (ValueError, TypeError):
        return ""
    return text.decode("ascii")
