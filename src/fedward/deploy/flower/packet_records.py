"""Packets as Flower's records: one of fields, one of raw arrays; whatever else a message holds is refused."""

from __future__ import annotations

from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedward.deploy.wire.packet import BadPacket, Packet, RawArray

_FIELDS, _ARRAYS = "fedward.fields", "fedward.arrays"
_RAW = "fedward.raw"


def to_records(packet: Packet) -> RecordDict:
    """The records of a packet."""
    fields: dict[str, Any] = dict(packet.fields)
    arrays = {
        name: Array(dtype=array.kind, shape=tuple(array.shape), stype=_RAW, data=array.data)
        for name, array in packet.arrays.items()
    }
    return RecordDict({_FIELDS: ConfigRecord(fields), _ARRAYS: ArrayRecord(arrays)})


def from_records(records: RecordDict) -> Packet:
    """The packet of some records; nothing in it is believed yet, and no array is read."""
    if set(records) != {_FIELDS, _ARRAYS}:
        raise BadPacket("a message must hold the records of fedward and no others")
    fields, arrays = records[_FIELDS], records[_ARRAYS]
    if type(fields) is not ConfigRecord or type(arrays) is not ArrayRecord:
        raise BadPacket("a message must hold fields and arrays, got records of another kind")
    raw = {}
    for name, array in arrays.items():
        if array.stype != _RAW:
            raise BadPacket("an array must be raw bytes: nothing that a sender has serialised is unpacked")
        raw[str(name)] = RawArray(kind=array.dtype, shape=tuple(array.shape), data=array.data)
    return Packet(fields={str(name): value for name, value in fields.items()}, arrays=raw)
