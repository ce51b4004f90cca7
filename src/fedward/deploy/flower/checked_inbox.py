"""The inbox of a superlink: a reply is fetched piece by piece, and none that is longer than it may be.

Flower's own ``Grid.pull_messages`` fetches whatever a node has announced, puts arrays together as often as
their node says, waits two hours for pieces that never come, and raises what a damaged piece makes it raise,
with the replies of all other nodes lost. Here each reply has its own limit of bytes, which every response is
held against before its body is read; a piece that is not there yet is looked for at the next look; and what
is wrong with one reply is a problem of its sender alone.

It uses parts of flwr 1.41 that Flower does not promise to keep: ``tests/deploy/flower/test_checked_inbox.py``
says so as soon as they change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import httpx
from flwr.app import Array, Message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree, PullObjectRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.supercore.inflatable.inflatable_object import (
    get_object_body,
    get_object_head_values_from_object_content,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.superlink.grid.http_grid import HttpGrid

from fedward.deploy.flower.inbox import failed, reply_of
from fedward.deploy.flower.response_limit import ResponseLimit, TooLong
from fedward.deploy.server.message_transport import Reply

_CHUNK = 1 << 20
"""Bytes: a node that follows Flower cuts arrays into pieces of five times as many."""
_PIECES = 16
_ANNOUNCEMENT = 1 << 16
_PER_PIECE = 256
_ENVELOPE = 1 << 10


class _Pull:
    """A reply that has been announced and is not all here yet."""

    def __init__(self, message: str, pieces: list[str], longest: int) -> None:
        self.message, self.missing, self.left = message, pieces, longest
        self.contents: dict[str, bytes] = {}


class CheckedInbox:
    """The replies to messages that were pushed over a superlink.

    Args:
      grid: connected to the superlink.
      senders: the node that each message was sent to.
      longest: how many bytes the reply to each message may have.
    """

    def __init__(self, grid: HttpGrid, senders: Mapping[str, int], longest: Mapping[str, int]) -> None:
        self._node, self._run = grid.node, grid.run.run_id
        self._senders, self._longest = senders, longest
        self._client: Any = grid._runtime_client
        self._limit = ResponseLimit.of(cast(httpx.Client, self._client._client))
        self._silent = list(senders)
        self._pulls: dict[str, _Pull] = {}

    def look(self) -> dict[str, Reply]:
        found: dict[str, Reply] = {}
        for asked in self._silent:
            if (reply := self._look_for(asked)) is not None:
                found[asked] = reply
        self._silent = [asked for asked in self._silent if asked not in found and asked not in self._pulls]
        for asked, pull in list(self._pulls.items()):
            if (reply := self._fetch(asked, pull)) is not None:
                found[asked] = reply
                del self._pulls[asked]
        return found

    def _look_for(self, asked: str) -> Reply | None:
        """Whether there is a reply; what of it is an error, or too much, is over with that."""
        # One at a time: what a node announces must not cost the others theirs.
        most = _pieces(self._longest[asked])
        try:
            with self._limit.at_most(_ANNOUNCEMENT + most * _PER_PIECE):
                answer = self._client.PullMessages(PullAppMessagesRequest(message_ids=[asked]))
        except TooLong:
            return _too_long(self._longest[asked])
        for message, tree in zip(answer.messages_list, answer.message_object_trees, strict=False):
            # What the superlink has seen and not what the sender writes into the message itself.
            if message.metadata.reply_to_message_id != asked:
                continue
            number = message.metadata.message_id
            problem: Reply | None = None
            if message.HasField("error"):
                problem = failed(message.error.reason)
            elif message.metadata.src_node_id != self._senders[asked]:
                problem = Reply(problem="another node answered in its place")
            elif (pieces := _at_most(iterate_object_tree(cast(ObjectTree, tree)), most)) is None:
                problem = _too_long(self._longest[asked])
            else:
                self._pulls[asked] = _Pull(number, pieces, self._longest[asked])
            if problem is not None:
                self._forget(number)
            return problem
        return None

    def _fetch(self, asked: str, pull: _Pull) -> Reply | None:
        """What is there of a reply's pieces; the reply itself once none is missing."""
        while pull.missing:
            request = PullObjectRequest(node=self._node, run_id=self._run, object_id=pull.missing[-1])
            try:
                with self._limit.at_most(pull.left + _ENVELOPE):
                    piece = self._client.PullObject(request)
            except TooLong:
                return self._done(pull, _too_long(self._longest[asked]))
            if not piece.object_found:
                return self._done(pull, Reply(problem="a piece of its answer is lost"))
            if not piece.object_available:
                return None
            pull.left -= len(piece.object_content)
            if pull.left < 0:
                return self._done(pull, _too_long(self._longest[asked]))
            pull.contents[pull.missing.pop()] = piece.object_content
        return self._done(pull, self._put_together(asked, pull))

    def _put_together(self, asked: str, pull: _Pull) -> Reply:
        try:
            if _unpacked(pull.contents) > self._longest[asked]:
                return _too_long(self._longest[asked])
            message = inflate_object_from_contents(pull.message, pull.contents)
        except Exception as error:  # whatever a node's bytes make Flower raise
            return Reply(problem=f"it sent what Flower cannot unpack: {type(error).__name__}")
        if not isinstance(message, Message) or not message.has_content():
            return Reply(problem="it sent what is no message of Flower")
        return reply_of(message, self._senders[asked], self._senders[asked])

    def _done(self, pull: _Pull, reply: Reply) -> Reply:
        self._forget(pull.message)
        return reply

    def _forget(self, message: str) -> None:
        """The superlink keeps a message until somebody says that it was received."""
        self._client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=self._node, run_id=self._run, message_object_id=message)
        )


def _pieces(longest: int) -> int:
    return _PIECES + longest // _CHUNK


def _at_most(trees: Iterator[ObjectTree], most: int) -> list[str] | None:
    """The different pieces of a reply; None if it says that it has more than it may."""
    found: dict[str, None] = {}
    for count, tree in enumerate(trees):
        if count == most:
            return None
        found[tree.object_id] = None
    return list(found)


def _unpacked(contents: Mapping[str, bytes]) -> int:
    """The bytes of all arrays once they are put together: a piece may be in one many times."""
    total = 0
    for content in contents.values():
        kind, pieces, _ = get_object_head_values_from_object_content(content)
        if kind == Array.__qualname__:
            places = json.loads(get_object_body(content, Array))["arraychunk_ids"]
            total += sum(len(contents[pieces[place]]) for place in places)
    return total


def _too_long(longest: int) -> Reply:
    return Reply(
        problem=f"its answer is longer than the {longest:,} bytes that it may have, and was not read"
    )
