"""Damage to one file of a run directory, by a seed: what a disk, a copy or somebody's hand may do to it."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedward.base.strict_json import digest

SKIPPED = (".lock", ".fedward-lock")
"""Files without content."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What was done to which file of which run."""

    seed: int
    run: str
    file: str
    kind: str


def damage(folder: Path, others: Path, seed: int) -> Damage:
    """Damages one file of one of the runs in a folder.

    Args:
      folder: runs, each in a directory.
      others: the same runs made with another seed, whose files may take the place of these.
      seed: decides on everything.
    """
    choice = random.Random(f"damage {seed}")
    names = sorted(each.name for each in folder.iterdir() if each.is_dir())
    run = names[seed % len(names)]
    files = sorted(file for file in (folder / run).rglob("*") if file.is_file() and file.name not in SKIPPED)
    # Each name as often as any other: a sweep has the same files many times.
    wanted = choice.choice(sorted({file.name for file in files}))
    file = choice.choice([each for each in files if each.name == wanted])
    before = file.read_bytes()
    kinds = list(_kinds(file))
    while True:
        kind, change = choice.choice(kinds)
        change(file, others / file.relative_to(folder), choice)
        if not file.exists() or file.read_bytes() != before:
            return Damage(seed=seed, run=run, file=str(file.relative_to(folder / run)), kind=kind)


Change = Callable[[Path, Path, random.Random], None]


def _kinds(file: Path) -> Iterator[tuple[str, Change]]:
    yield from _BYTES.items()
    if file.suffix == ".json":
        # Most edits that anybody would make are of a number.
        yield from [*_JSON.items()] * 3
    elif file.suffix == ".jsonl":
        yield from [*_LINES.items()] * 3
    elif file.suffix == ".npz":
        yield from [*_ARRAYS.items()] * 4
    elif file.suffix == ".csv":
        yield from [("digit", _change_digit)] * 3


def _flip(file: Path, other: Path, choice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[choice.randrange(len(content))] ^= 1 << choice.randrange(8)
    file.write_bytes(content)


def _overwrite(file: Path, other: Path, choice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    start = choice.randrange(len(content))
    length = min(choice.choice((1, 16, 512)), len(content) - start)
    content[start : start + length] = bytes(length) if choice.random() < 0.5 else choice.randbytes(length)
    file.write_bytes(content)


def _truncate(file: Path, other: Path, choice: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: choice.randrange(len(content))])


def _extend(file: Path, other: Path, choice: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content + choice.choice((b"\n", b"\0" * 100, content, choice.randbytes(20))))


def _swap(file: Path, other: Path, choice: random.Random) -> None:
    if other.is_file():
        shutil.copyfile(other, file)


def _delete(file: Path, other: Path, choice: random.Random) -> None:
    file.unlink()


_BYTES: dict[str, Change] = {
    "a bit flipped": _flip,
    "bytes overwritten": _overwrite,
    "truncated": _truncate,
    "extended": _extend,
    "taken from another run": _swap,
    "deleted": _delete,
}


def _leaves(content: Any) -> Iterator[tuple[Any, Any, Any]]:
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in pairs:
        if isinstance(value, dict | list):
            yield from _leaves(value)
        else:
            yield content, key, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _another(value: float, choice: random.Random) -> float:
    if isinstance(value, int):
        return value + choice.choice((1, -1, 7, 1000))
    return choice.choice((value * 0.9, value / 2, value * 1.001, value + 0.01, -value, 0.0, 1.0))


def _edit(content: Any, choice: random.Random) -> bool:
    numbers = [each for each in _leaves(content) if _is_number(each[2])]
    if not numbers:
        return False
    place, key, value = choice.choice(numbers)
    place[key] = _another(value, choice)
    return True


def _edit_number(file: Path, other: Path, choice: random.Random) -> None:
    content = json.loads(file.read_text(encoding="utf8"))
    if _edit(content, choice):
        _write(file, content)


def _edit_with_digest(file: Path, other: Path, choice: random.Random) -> None:
    """The same by somebody who knows how digests are made."""
    content = json.loads(file.read_text(encoding="utf8"))
    if isinstance(content, dict) and "digest" in content and _edit(content, choice):
        del content["digest"]
        content["digest"] = digest(content)
        _write(file, content)


def _edit_text(file: Path, other: Path, choice: random.Random) -> None:
    content = json.loads(file.read_text(encoding="utf8"))
    texts = [each for each in _leaves(content) if isinstance(each[2], str) and each[2]]
    if texts:
        place, key, value = choice.choice(texts)
        at = choice.randrange(len(value))
        place[key] = value[:at] + choice.choice("0123456789ab") + value[at + 1 :]
        _write(file, content)


def _drop_key(file: Path, other: Path, choice: random.Random) -> None:
    content = json.loads(file.read_text(encoding="utf8"))
    place, key, _ = choice.choice(list(_leaves(content)))
    del place[key]
    _write(file, content)


def _write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf8")


_JSON: dict[str, Change] = {
    "a number edited": _edit_number,
    "a number edited, with its digest": _edit_with_digest,
    "a text edited": _edit_text,
    "a key removed": _drop_key,
}


def _edit_line(file: Path, other: Path, choice: random.Random) -> None:
    lines = file.read_text(encoding="utf8").splitlines()
    place = choice.randrange(len(lines))
    content = json.loads(lines[place])
    if _edit(content, choice):
        lines[place] = json.dumps(content)
        file.write_text("\n".join(lines) + "\n", encoding="utf8")


def _drop_line(file: Path, other: Path, choice: random.Random) -> None:
    lines = file.read_text(encoding="utf8").splitlines()
    del lines[choice.randrange(len(lines))]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")


def _repeat_line(file: Path, other: Path, choice: random.Random) -> None:
    lines = file.read_text(encoding="utf8").splitlines()
    lines.insert(choice.randrange(len(lines)), choice.choice(lines))
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")


def _change_digit(file: Path, other: Path, choice: random.Random) -> None:
    text = file.read_text(encoding="utf8")
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    place = choice.choice(places)
    file.write_text(text[:place] + choice.choice("0123456789") + text[place + 1 :], encoding="utf8")


_LINES: dict[str, Change] = {
    "a number edited": _edit_line,
    "a line removed": _drop_line,
    "a line repeated": _repeat_line,
}


def _edit_array(file: Path, other: Path, choice: random.Random) -> None:
    with np.load(io.BytesIO(file.read_bytes())) as found:
        arrays = {name: found[name] for name in found.files}
    names = [name for name, each in arrays.items() if each.dtype.kind in "iuf" and each.size]
    if not names:
        return
    name = choice.choice(names)
    changed = arrays[name].copy().reshape(-1)
    place = choice.randrange(changed.size)
    changed[place] = changed[place] / 2 if changed.dtype.kind == "f" else changed[place] + 1
    arrays[name] = changed.reshape(arrays[name].shape)
    with file.open("wb") as opened:
        np.savez(opened, **arrays)


_ARRAYS: dict[str, Change] = {"a value edited": _edit_array}
