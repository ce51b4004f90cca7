"""Attendance: which declared nodes are there, known by their keys; everybody else is not talked to."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from fedward.base.validate import InvalidValue
from fedward.base.visible_text import visible
from fedward.deploy.server.message_transport import Question, Reply, Transport
from fedward.deploy.server.population import DeclaredNode, Population
from fedward.deploy.wire.messages import Greeting, Presence
from fedward.deploy.wire.packet import BadPacket

_AGAIN = 60.0

log = logging.getLogger("fedward.deploy")


class NotEnoughNodes(InvalidValue):
    """Too few declared nodes came in time. Nothing was spent on the round that could not begin."""


class Attendance:
    """Finds the declared nodes among those that are there, and greets each once before it gets any work.

    Args:
      greeting: what nodes are asked before they get any work. A node with another model stops the run before
        anything is spent; one whose rules do not allow the work does not count as there.
      deadline: seconds that a node has to answer a greeting.
      sleep: how time passes between two looks; tests make it short.
    """

    def __init__(
        self,
        transport: Transport,
        population: Population,
        *,
        greeting: Greeting,
        deadline: float,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._transport, self._population = transport, population
        self._greeting, self._deadline, self._sleep = greeting, deadline, sleep
        self._known: dict[int, str] = {}
        self._strangers: set[int] = set()
        # When a node that did not answer, or refused, is greeted again.
        self._later: dict[int, float] = {}

    def present(self) -> dict[str, int]:
        """The number of each declared node that is there, by name."""
        there = self._transport.nodes()
        numbers = {seen.number for seen in there}
        self._known = {number: name for number, name in self._known.items() if number in numbers}
        now = time.monotonic()
        new = [
            seen
            for seen in there
            if seen.number not in self._known and self._later.get(seen.number, 0.0) <= now
        ]
        if self._population.keyed:
            by_key = {seen.number: self._population.node_with_key(seen.key) for seen in new}
            for number, node in by_key.items():
                if node is None:
                    self._turn_away(number, "its key is not in the population")
            self._greet({number: node for number, node in by_key.items() if node is not None})
        else:
            self._greet({seen.number: None for seen in new if seen.number not in self._strangers})
        return {name: number for number, name in self._known.items()}

    def wait_for(self, least: int, patience: float) -> dict[str, int]:
        """The nodes that are there, once there are so many."""
        until = time.monotonic() + patience
        said = False
        while len(found := self.present()) < least:
            if time.monotonic() > until:
                raise NotEnoughNodes(
                    f"{least} declared nodes must be there before a round begins, got {len(found)} after "
                    f"{patience:g} s; start the run again when they are, and it goes on where it was"
                )
            if not said:
                log.info("waiting for nodes: %d of %d are there", len(found), least)
                said = True
            self._sleep(1.0)
        return found

    def _greet(self, nodes: dict[int, DeclaredNode | None]) -> None:
        if not nodes:
            return
        greetings = {
            number: replace(self._greeting, users=None if node is None else node.users)
            for number, node in nodes.items()
        }
        questions = {
            number: Question(packet=greeting.to_packet(), longest_answer=greeting.longest_answer)
            for number, greeting in greetings.items()
        }
        replies = self._transport.ask(questions, "greeting", -1, self._deadline)
        for number, node in nodes.items():
            self._welcome(number, node, replies.get(number, Reply(problem="no answer in time")))

    def _welcome(self, number: int, node: DeclaredNode | None, reply: Reply) -> None:
        called = "a node" if node is None else f"node {node.name}"
        self._later[number] = time.monotonic() + _AGAIN
        if reply.packet is None:
            log.warning("%s does not answer a greeting: %s", called, reply.problem)
            return
        try:
            presence = Presence.from_packet(reply.packet)
        except BadPacket as error:
            log.warning("%s answers a greeting with what is none: %s", called, error)
            return
        if node is None:
            if not 0 <= presence.place < len(self._population.nodes):
                self._turn_away(number, f"its place is {presence.place}, and that of no declared node")
                return
            node = self._population.nodes[presence.place]
        if node.name in self._known.values():
            self._turn_away(number, f"node {node.name} is there already")
            return
        if presence.layout != self._greeting.layout:
            raise InvalidValue(
                f"node {node.name} holds another model than the server: its app or its fedward differs; "
                "nothing was spent"
            )
        if presence.refuses:
            log.warning("node %s refuses: %s", node.name, visible(presence.refuses))
            return
        if presence.missing or presence.undeclared:
            log.warning(
                "node %s lacks %d of its declared users, who drop out whenever they are drawn, and has %d "
                "that are not declared, who are never asked",
                node.name,
                presence.missing,
                presence.undeclared,
            )
        self._strangers.discard(number)
        self._later.pop(number, None)
        self._known[number] = node.name

    def _turn_away(self, number: int, why: str) -> None:
        if number not in self._strangers:
            self._strangers.add(number)
            log.warning("a node is not talked to: %s", why)
