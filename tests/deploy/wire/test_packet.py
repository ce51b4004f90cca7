from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.odd_values import ANYTHING
from fedward.deploy.wire.packet import VERSION, BadPacket, Packet, RawArray, Reader


def reader(**fields: Any) -> Reader:
    return Packet(fields={"version": VERSION, **fields}).reader("message")


@given(ANYTHING)
def test_whatever_stands_in_a_field_is_of_the_type_that_is_asked_for_or_refused(value: Any) -> None:
    for take in ("text", "whole", "flag", "texts", "numbers"):
        try:
            found = getattr(reader(field=value), take)("field")
        except BadPacket:
            continue
        assert found == value
        if take == "numbers":
            assert all(math.isfinite(each) for each in found)


@given(ANYTHING)
def test_only_our_version_is_read(value: Any) -> None:
    if type(value) is int and value == VERSION:
        return
    with pytest.raises(BadPacket, match="must be of version"):
        Packet(fields={"version": value}).reader("message")


@given(
    kind=st.sampled_from(["float32", "float64", "object", ""]),
    shape=st.lists(st.integers(-3, 10**12), max_size=3).map(tuple),
    size=st.integers(0, 64),
)
def test_an_array_is_given_out_only_if_its_bytes_are_those_of_its_shape(
    kind: str, shape: tuple[int, ...], size: int
) -> None:
    packet = Packet(
        fields={"version": VERSION}, arrays={"rows": RawArray(kind=kind, shape=shape, data=b"\0" * size)}
    )
    right = kind == "float32" and shape == (2, 3) and size == 24
    if right:
        assert len(packet.reader("message").array("rows", "float32", (2, 3), 4)) == 24
        return
    with pytest.raises(BadPacket):
        packet.reader("message").array("rows", "float32", (2, 3), 4)


def test_what_nobody_asked_for_is_refused() -> None:
    with pytest.raises(BadPacket, match="nothing else, got 'claim'"):
        reader(claim=7).finish()


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(BadPacket, match="message must hold round"):
        reader().whole("round")
