"""A packet: named fields and raw arrays, as they come from somebody who is not trusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedward.base.validate import InvalidValue, shorten

VERSION = 1
"""Of the messages. A node and a server of different versions refuse each other."""

_LONGEST_TEXT = 100_000
_LONGEST_LIST = 1_000_000
_SHOWN = 60


class BadPacket(InvalidValue):
    """A message that is not what it should be. Whoever sent it is not believed in anything."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RawArray:
    """The bytes of an array, and what its sender says that they are; nobody has believed it yet."""

    kind: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class Packet:
    """What one message holds.

    >>> Packet(fields={"version": VERSION, "round": 3}).reader("task").whole("round", at_most=10)
    3
    >>> Packet(fields={"version": 99}).reader("task")
    Traceback (most recent call last):
    ...
    fedward.deploy.wire.packet.BadPacket: task must be of version 1, got 99
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, RawArray] = field(default_factory=dict)

    def reader(self, what: str) -> Reader:
        """What reads it, once its version is known to be ours."""
        version = self.fields.get("version")
        if type(version) is not int or version != VERSION:
            raise BadPacket(f"{what} must be of version {VERSION}, got {shorten(version, _SHOWN)}")
        return Reader(self, what)


class Reader:
    """Takes the fields of a packet one by one, and refuses each that is not as it must be."""

    def __init__(self, packet: Packet, what: str) -> None:
        self._packet, self._what = packet, what
        self._left = set(packet.fields) - {"version"}
        self._arrays_left = set(packet.arrays)

    def text(self, name: str, longest: int = _LONGEST_TEXT) -> str:
        return str(self._take(name, lambda value: type(value) is str and len(value) <= longest, "text"))

    def whole(self, name: str, *, at_least: int = 0, at_most: int = 2**63 - 1) -> int:
        words = f"a whole number from {at_least} to {at_most}"
        return int(self._take(name, lambda value: type(value) is int and at_least <= value <= at_most, words))

    def flag(self, name: str) -> bool:
        return bool(self._take(name, lambda value: type(value) is bool, "true or false"))

    def texts(self, name: str, most: int = _LONGEST_LIST, longest: int = 1000) -> list[str]:
        found = self._list(name, most, lambda each: type(each) is str and len(each) <= longest, "texts")
        return [str(each) for each in found]

    def numbers(self, name: str, most: int = _LONGEST_LIST, *, infinite: bool = False) -> list[float]:
        """Finite numbers, or numbers that may be infinite; never NaN."""
        bad = math.isnan if infinite else lambda each: not math.isfinite(each)
        found = self._list(
            name,
            most,
            lambda each: type(each) in (int, float) and not bad(each),
            "numbers" if infinite else "finite numbers",
        )
        return [float(each) for each in found]

    def has(self, name: str) -> bool:
        return name in self._packet.fields

    def array(self, name: str, kind: str, shape: tuple[int, ...], item: int) -> bytes:
        """The bytes of an array, if it is exactly of this kind and shape, and of so many bytes."""
        array = self._packet.arrays.get(name)
        if array is None:
            raise BadPacket(f"{self._what} must hold the array {name}")
        self._arrays_left.discard(name)
        if array.kind != kind or tuple(array.shape) != shape:
            got = f"{shorten(array.kind, _SHOWN)} {shorten(tuple(array.shape), _SHOWN)}"
            raise BadPacket(f"{self._what}: {name} must be {kind} {shape}, got {got}")
        wanted = math.prod(shape) * item
        if len(array.data) != wanted:
            raise BadPacket(f"{self._what}: {name} must have {wanted} bytes, got {len(array.data)}")
        return array.data

    def finish(self) -> None:
        """Refuses what nobody asked for."""
        if more := sorted(self._left | self._arrays_left):
            raise BadPacket(f"{self._what} must hold nothing else, got {shorten(more[0], _SHOWN)}")

    def _list(self, name: str, most: int, right: Callable[[Any], bool], words: str) -> list[Any]:
        found = self._take(
            name,
            lambda value: type(value) is list and len(value) <= most and all(map(right, value)),
            f"at most {most} {words}",
        )
        return list(found)

    def _take(self, name: str, right: Callable[[Any], bool], words: str) -> Any:
        if name not in self._packet.fields:
            raise BadPacket(f"{self._what} must hold {name}")
        value = self._packet.fields[name]
        if not right(value):
            raise BadPacket(f"{self._what}: {name} must be {words}, got {shorten(value, _SHOWN)}")
        self._left.discard(name)
        return value
