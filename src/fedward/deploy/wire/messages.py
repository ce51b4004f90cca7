"""The four messages: a task and its answer, a greeting and its answer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds, LocalTrainer
from fedward.deploy.wire.packet import VERSION, BadPacket, Packet
from fedward.deploy.wire.trainers import trainer_from, trainer_text
from fedward.deploy.wire.vectors import KINDS, kind_of, pack, unpack

REASONS = ("unknown", "budget", "failed")
"""Why a node leaves a user out: it has no such user, the user's own budget is spent, its training failed."""

_SIZE = 2**40
# Bytes of an answer besides its rows and the names of its users; a presence has no more than these.
_SLACK = 1 << 16
_PER_USER = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """A round's work for one node: it learns of its own users alone who is drawn.

    ``seeds`` is one for each user, or None where users draw their own. ``looks`` are the noise multipliers of
    the server's looks at norms, where a clip policy takes some and users protect themselves: a node sends the
    norm of an update only then, and only if its rules allow it. ``layout`` is the digest of the model's names
    and shapes, so that no vector is taken for another model's.
    """

    round: int
    layout: str
    users: tuple[str, ...]
    trainer: LocalTrainer
    bounds: Bounds
    parameters: Tensor
    seeds: tuple[int, ...] | None = None
    looks: tuple[float, ...] = ()

    def to_packet(self) -> Packet:
        seeds = {} if self.seeds is None else {"seeds": [str(seed) for seed in self.seeds]}
        return Packet(
            fields={
                "version": VERSION,
                "round": self.round,
                "layout": self.layout,
                "users": list(self.users),
                "trainer": trainer_text(self.trainer),
                "bounds": [float(bound) for bound in self.bounds],
                "looks": list(self.looks),
                "kind": kind_of(self.parameters),
                "size": len(self.parameters),
                **seeds,
            },
            arrays={"parameters": pack([self.parameters], self.parameters)},
        )

    @property
    def longest_answer(self) -> int:
        """The bytes that an answer may have: a row for each user, its name twice, a norm."""
        row = len(self.parameters) * self.parameters.element_size()
        return _SLACK + sum(row + 2 * len(user.encode()) + _PER_USER for user in self.users)

    @classmethod
    def from_packet(cls, packet: Packet, spec: ParameterSpec) -> Task:
        """The task of a message, if it is about a model of this layout."""
        reader = packet.reader("task")
        layout, kind, size = reader.text("layout"), reader.text("kind"), reader.whole("size", at_most=_SIZE)
        if (layout, kind, size) != (layout_of(spec), kind_name(spec), spec.size):
            raise BadPacket(
                f"task is about another model than this node's: {kind} of {size} parameters, {layout}; "
                f"here {kind_name(spec)} of {spec.size}, {layout_of(spec)}"
            )
        users = tuple(reader.texts("users"))
        if len(set(users)) < len(users):
            raise BadPacket("task must name every user once, got one twice")
        seeds = tuple(map(_seed, reader.texts("seeds", longest=40))) if reader.has("seeds") else None
        if seeds is not None and len(seeds) != len(users):
            raise BadPacket(f"task must have a seed for each of {len(users)} users, got {len(seeds)}")
        task = cls(
            round=reader.whole("round"),
            layout=layout,
            users=users,
            trainer=trainer_from(reader.text("trainer")),
            # Without clipping a bound is infinite.
            bounds=tuple(reader.numbers("bounds", most=100_000, infinite=True)),
            looks=tuple(reader.numbers("looks", most=100)),
            parameters=unpack(reader, "parameters", 1, kind, size)[0],
            seeds=seeds,
        )
        reader.finish()
        return task


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """A node's rows, by user, and how many users it left out for which reason.

    ``norms`` has those of users whose norms may be looked at.
    """

    rows: Mapping[str, Tensor]
    norms: Mapping[str, float]
    left_out: Mapping[str, int]

    def to_packet(self, like: Tensor) -> Packet:
        return Packet(
            fields={
                "version": VERSION,
                "users": list(self.rows),
                "normed": list(self.norms),
                "norms": list(self.norms.values()),
                **{reason: self.left_out.get(reason, 0) for reason in REASONS},
            },
            arrays={"rows": pack(list(self.rows.values()), like)},
        )

    @classmethod
    def from_packet(cls, packet: Packet, asked: Sequence[str], like: Tensor) -> Answer:
        """The answer of a message, if it has rows of users that were asked for, each once, and no others."""
        reader = packet.reader("answer")
        users = reader.texts("users", most=len(asked))
        normed = reader.texts("normed", most=len(users))
        norms = reader.numbers("norms", most=len(users))
        if len(set(users)) < len(users) or len(set(normed)) < len(normed) or len(normed) != len(norms):
            raise BadPacket("answer must name every user once")
        if not set(users) <= set(asked) or not set(normed) <= set(users):
            raise BadPacket("answer must be about users that were asked for, got another")
        left_out = {reason: reader.whole(reason, at_most=len(asked)) for reason in REASONS}
        rows = unpack(reader, "rows", len(users), kind_of(like), len(like))
        reader.finish()
        return cls(
            rows=dict(zip(users, rows, strict=True)),
            norms=dict(zip(normed, norms, strict=True)),
            left_out=left_out,
        )


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """Asks a node whether it is ready for its declared users and what they will be asked; no work is done.

    ``users`` is None where the server does not know yet which of its declared nodes this is. ``trainer`` and
    ``looks`` are those of the first round.
    """

    layout: str
    users: tuple[str, ...] | None
    trainer: LocalTrainer
    looks: tuple[float, ...] = ()

    longest_answer: ClassVar[int] = _SLACK
    """The bytes that a presence may have."""

    def to_packet(self) -> Packet:
        users = {} if self.users is None else {"users": list(self.users)}
        return Packet(
            fields={
                "version": VERSION,
                "layout": self.layout,
                "trainer": trainer_text(self.trainer),
                "looks": list(self.looks),
                **users,
            }
        )

    @classmethod
    def from_packet(cls, packet: Packet) -> Greeting:
        reader = packet.reader("greeting")
        users = tuple(reader.texts("users")) if reader.has("users") else None
        found = cls(
            layout=reader.text("layout"),
            users=users,
            trainer=trainer_from(reader.text("trainer")),
            looks=tuple(reader.numbers("looks", most=100)),
        )
        reader.finish()
        return found


@dataclass(frozen=True, kw_only=True)
class Presence:
    """What a node says of itself: its place in a simulation, its model, how far its users are the declared.

    Numbers only: names that the server has not declared stay where they are. ``refuses`` says why its rules
    do not allow what it will be asked for; empty if they do.
    """

    place: int
    layout: str
    missing: int
    undeclared: int
    refuses: str = ""

    def to_packet(self) -> Packet:
        return Packet(
            fields={
                "version": VERSION,
                "place": self.place,
                "layout": self.layout,
                "missing": self.missing,
                "undeclared": self.undeclared,
                "refuses": self.refuses,
            }
        )

    @classmethod
    def from_packet(cls, packet: Packet) -> Presence:
        reader = packet.reader("presence")
        found = cls(
            place=reader.whole("place", at_least=-1),
            layout=reader.text("layout", longest=100),
            missing=reader.whole("missing"),
            undeclared=reader.whole("undeclared"),
            refuses=reader.text("refuses", longest=2000),
        )
        reader.finish()
        return found


def kind_name(spec: ParameterSpec) -> str:
    """The name of the model's float type on the wire."""
    return next(kind for kind in KINDS if str(spec.dtype) == f"torch.{kind}")


def layout_of(spec: ParameterSpec) -> str:
    """A digest of the names, shapes and type of a model's parameters."""
    text = repr((spec.names, spec.shapes, spec.trainable, str(spec.dtype)))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise BadPacket(f"a seed must be a whole number of at least 0, got {text!r}")
    return int(text)
