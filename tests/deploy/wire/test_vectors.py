from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType
from fedward.deploy.wire.packet import VERSION, Packet
from fedward.deploy.wire.vectors import kind_of, pack, unpack


@given(
    rows=st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_vectors_arrive_with_the_bits_that_were_sent(rows: list[list[float]], dtype: torch.dtype) -> None:
    sent = [torch.tensor(row, dtype=dtype) for row in rows]
    like = torch.zeros(3, dtype=dtype)
    packet = Packet(fields={"version": VERSION}, arrays={"rows": pack(sent, like)})
    found = unpack(packet.reader("message"), "rows", len(sent), kind_of(like), 3)
    assert [each.numpy().tobytes() for each in found] == [each.numpy().tobytes() for each in sent]


def test_what_arrives_can_be_written_to() -> None:
    packet = Packet(fields={"version": VERSION}, arrays={"rows": pack([torch.ones(2)], torch.zeros(2))})
    (row,) = unpack(packet.reader("message"), "rows", 1, "float32", 2)
    row.add_(1)
    assert row.tolist() == [2.0, 2.0]


def test_other_types_are_not_sent() -> None:
    with pytest.raises(InvalidType, match="float32 or float64, got"):
        kind_of(torch.zeros(2, dtype=torch.int64))
