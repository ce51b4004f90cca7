"""An inbox: the replies to some messages as they come, each as a packet or as why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from flwr.app import Message
from flwr.serverapp import Grid

from fedward.base.validate import shorten
from fedward.base.visible_text import visible
from fedward.deploy.flower.packet_records import from_records
from fedward.deploy.server.message_transport import Reply
from fedward.deploy.wire.packet import BadPacket

_LONGEST_REASON = 300


class Inbox(Protocol):
    """Looks for replies; knows every message by its identifier, and the node that it was sent to."""

    def look(self) -> dict[str, Reply]:
        """The replies that came since the last look, by the message that they answer."""
        ...


class OpenInbox:
    """The inbox of a grid that shares this process with its nodes: a simulation's. Nothing is kept out."""

    def __init__(self, grid: Grid, senders: Mapping[str, int]) -> None:
        self._grid, self._waiting = grid, dict(senders)

    def look(self) -> dict[str, Reply]:
        found: dict[str, Reply] = {}
        for message in self._grid.pull_messages(list(self._waiting)):
            asked = message.metadata.reply_to_message_id
            if asked in self._waiting:
                found[asked] = reply_of(message, message.metadata.src_node_id, self._waiting.pop(asked))
        return found


def reply_of(message: Message, sender: int, asked: int) -> Reply:
    """What a whole message says, if it comes from the node that was asked."""
    if message.has_error():
        return failed(message.error.reason)
    if sender != asked:
        return Reply(problem="another node answered in its place")
    try:
        return Reply(packet=from_records(message.content))
    except BadPacket as error:
        return Reply(problem=f"it sent what is no message of fedward: {error}")


def failed(reason: object) -> Reply:
    """The reply of a node, or of Flower about it, that is an error."""
    return Reply(problem=f"it reports an error, {visible(shorten(str(reason), _LONGEST_REASON))}")
