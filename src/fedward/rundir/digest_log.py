"""The digests of a run directory, ``digests.jsonl``: what each of its files is, written before the file is.

One JSON object a line; each begins with a check over itself and the line before. The first says what the file
is, every other what some files are about to become (bytes and SHA-256; null where a file goes), or, where it
says ``settled``, have become:

    {"check": "3f0c...", "format": "fedward digests", "version": 1, "adopted": false}
    {"check": "91ab...", "files": {"run.json": [1204, "9c1e..."]}, "settled": true}
    {"check": "77d0...", "files": {"ledger.json": [912, "04aa..."], "users.json": null}}

Only what the last line announces may not be done yet, when a process was killed: a file of it is right as it
was before or as it is announced. All others have one right content.

The digests say that nothing was damaged since it was written. They do not say that nobody forged it: whoever
can write the directory can renew them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fedward.base.validate import InvalidValue

NAME = "digests.jsonl"
VERSION = 1
_FORMAT = "fedward digests"
_START = "0" * 16
_PREFIX = len(f'{{"check": "{_START}", ')


class FileState(NamedTuple):
    """What is in a file: how many bytes, and their SHA-256."""

    size: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> FileState:
        """
        >>> FileState.of(b"abc").sha256[:8]
        'ba7816bf'
        """
        return cls(len(content), hashlib.sha256(content).hexdigest())


Changes = Mapping[str, FileState | None]
"""What files become, by name; None where a file goes."""


@dataclass(frozen=True, kw_only=True)
class DigestLog:
    """What the log says.

    Args:
      files: every file, as it is once all is done that was announced.
      before: of files that the last line announces, what they were: nothing where it is settled.
      adopted: whether it was begun beside files of an earlier version, of whose past it knows nothing.
      lines, size, check: how many whole lines it has, how many bytes they are, and the check of the last.
      cut_off: whether something follows them that is no whole line, as a kill leaves it.
      announced: everything that each file was announced to become.
    """

    files: dict[str, FileState]
    before: dict[str, FileState | None]
    adopted: bool
    lines: int
    size: int
    check: str
    cut_off: bool = False
    announced: dict[str, list[FileState | None]] = field(default_factory=dict)

    def right(self, name: str) -> tuple[FileState | None, ...]:
        """All that a file may be now."""
        now = self.files.get(name)
        return (now, self.before[name]) if name in self.before else (now,)


def encode(content: Mapping[str, Any], check: str) -> tuple[bytes, str]:
    """A line with this content after one with that check, and the check of it."""
    body = json.dumps(content)[1:]
    own = hashlib.blake2b(f"{check}{body}".encode(), digest_size=8).hexdigest()
    return f'{{"check": "{own}", {body}\n'.encode(), own


def change_line(changes: Changes, check: str, *, settled: bool = False) -> tuple[bytes, str]:
    """The line that announces changes, or states what has become of them."""
    files = {name: None if state is None else list(state) for name, state in changes.items()}
    return encode({"files": files} | ({"settled": True} if settled else {}), check)


def whole_log(files: Mapping[str, FileState], *, adopted: bool) -> bytes:
    """A log of two lines, in which everything is settled.

    >>> log = parse_log(whole_log({"run.json": FileState.of(b"abc")}, adopted=False), "digests.jsonl")
    >>> log.files["run.json"].size, log.lines, log.before
    (3, 2, {})
    """
    header, check = encode({"format": _FORMAT, "version": VERSION, "adopted": adopted}, _START)
    return header + change_line(files, check, settled=True)[0]


def parse_log(content: bytes, source: str) -> DigestLog:
    """Reads a log; a last line that a kill cut off is none. Raises where it is damaged otherwise."""
    lines = list(_whole_lines(content))
    # The first two are written at once.
    if len(lines) < 2 or lines[0].get("format") != _FORMAT or lines[0].get("version") != VERSION:
        raise _damaged(source)
    size = sum(line["length"] for line in lines)
    rest = content[size:]
    # A kill cuts off the last line only, which may end in whatever was on the disk.
    if b"\n" in rest[:-1] and rest.strip(b"\0\n"):
        raise _damaged(source)
    files: dict[str, FileState] = {}
    announced: dict[str, list[FileState | None]] = {}
    before: dict[str, FileState | None] = {}
    for line in lines[1:]:
        changes = _changes(line, source)
        before = {} if line.get("settled") else {name: files.get(name) for name in changes}
        for name, state in changes.items():
            announced.setdefault(name, []).append(state)
            if state is None:
                files.pop(name, None)
            else:
                files[name] = state
    return DigestLog(
        files=files,
        before=before,
        adopted=bool(lines[0].get("adopted")),
        lines=len(lines),
        size=size,
        check=lines[-1]["check"],
        cut_off=bool(rest),
        announced=announced,
    )


def _whole_lines(content: bytes) -> Iterator[dict[str, Any]]:
    check = _START
    for line in content.splitlines(keepends=True):
        own = hashlib.blake2b(check.encode() + line[_PREFIX:-1], digest_size=8).hexdigest()
        if not line.endswith(b"\n") or line[:_PREFIX] != f'{{"check": "{own}", '.encode():
            return
        found = json.loads(line)
        check = own
        yield found | {"length": len(line)}


def _changes(line: Mapping[str, Any], source: str) -> dict[str, FileState | None]:
    try:
        return {
            str(name): None if each is None else FileState(int(each[0]), str(each[1]))
            for name, each in line["files"].items()
        }
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _damaged(source) from error


def _damaged(source: str) -> InvalidValue:
    return InvalidValue(
        f"{source} is damaged: it cannot be told whether the files beside it are as they were written; put "
        "back a copy of it, or take the digests of the files as they are now: fedward verify --renew"
    )
