from __future__ import annotations

from pathlib import Path

from fedward.base.durable_files import write_if_changed


def test_a_file_that_holds_the_same_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "claims.json"
    write_if_changed(file, b"one")
    first = file.stat()
    write_if_changed(file, b"one")
    # Whatever is written gets a file of its own.
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    write_if_changed(file, b"another")
    assert file.read_bytes() == b"another"
