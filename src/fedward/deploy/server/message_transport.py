"""The Protocol of whatever carries messages between the server and its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from fedward.deploy.wire.packet import Packet

Kind = Literal["task", "greeting"]


@dataclass(frozen=True, kw_only=True)
class NodeSeen:
    """A node that is there now: the carrier's number of it, and the key that it has proven to have."""

    number: int
    key: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """A packet for one node, and how many bytes its answer may have: a longer one is not fetched."""

    packet: Packet
    longest_answer: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Reply:
    """What came from a node in time: a packet, or why there is none."""

    packet: Packet | None = None
    problem: str = ""


class Transport(Protocol):
    """Carries packets. What it says about who sent one must be true: nothing in a packet says so."""

    def nodes(self) -> list[NodeSeen]:
        """The nodes that are there now."""
        ...

    def ask(
        self, questions: Mapping[int, Question], kind: Kind, round: int, deadline: float
    ) -> dict[int, Reply]:
        """Asks each node its own question, and has the first answer of each that came before the deadline."""
        ...
