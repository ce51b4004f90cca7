from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from fedward.deploy.flower.packet_records import from_records, to_records
from fedward.deploy.wire.packet import BadPacket, Packet, RawArray

PACKET = Packet(
    fields={"version": 1, "users": ["ann"], "norms": [0.5], "none": [], "text": "x"},
    arrays={"rows": RawArray(kind="float32", shape=(1, 2), data=b"\0" * 8)},
)


def test_a_packet_survives_flowers_own_bytes() -> None:
    from flwr.common.serde import recorddict_from_proto, recorddict_to_proto

    found = from_records(recorddict_from_proto(recorddict_to_proto(to_records(PACKET))))
    assert dict(found.fields) == dict(PACKET.fields)
    assert found.arrays["rows"].data == PACKET.arrays["rows"].data
    assert found.arrays["rows"].shape == (1, 2)


def records(**more: Any) -> RecordDict:
    return RecordDict({**dict(to_records(PACKET)), **more})


@pytest.mark.parametrize(
    "sent",
    [
        RecordDict({}),
        records(more=ConfigRecord({"a": 1})),
        RecordDict({"fedward.fields": MetricRecord({"version": 1}), "fedward.arrays": ArrayRecord({})}),
        records(**{"fedward.arrays": ArrayRecord({"rows": Array(np.ones(3, dtype=np.float32))})}),
    ],
    ids=["nothing", "one record more", "metrics for fields", "an array that numpy has packed"],
)
def test_other_records_are_refused(sent: RecordDict) -> None:
    with pytest.raises(BadPacket):
        from_records(sent)
