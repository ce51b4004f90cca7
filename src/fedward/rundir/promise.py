"""The part of a result that says what a training guarantees."""

from __future__ import annotations

from fedward.rundir.file_record import FileRecord, StoredGuarantee


class Promise(FileRecord):
    """What a training guarantees, and the same in words."""

    guarantee: StoredGuarantee
    statement: str
