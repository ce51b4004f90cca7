"""Damage of a run directory: files that are not what its digests say, by name and with what that means."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from fedward.base.limited_files import LONGEST_TEXT, read_limited
from fedward.base.validate import InvalidValue
from fedward.rundir.digest_log import NAME, DigestLog, FileState, parse_log
from fedward.rundir.run_file_names import (
    is_counted,
    is_own,
    is_shown,
    kind_of_file,
)
from fedward.rundir.run_files import is_cut_off, state_of

# A run that is under way writes between two looks; nobody meets it so often.
_LOOKS = 200
_PAUSE = 0.005

Kind = Literal["changed", "missing", "unexpected", "contradicts"]
_WORDS: dict[Kind, str] = {
    "changed": "is damaged (not as it was written)",
    "missing": "is missing",
    "unexpected": "was not written by this run",
    "contradicts": "does not fit the files beside it",
}


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A file that is not what it should be.

    Args:
      file: its path.
      kind: what is wrong with it.
      means: what follows from that.
      remedy: what to do.
      found: what is wrong with it in words, where more is known than its kind.
    """

    file: Path
    kind: Kind
    means: str
    remedy: str = ""
    found: str = ""

    def __str__(self) -> str:
        return f"{self.file} {self.found or _WORDS[self.kind]}: {self.means}"

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return {**asdict(self), "file": str(self.file), "says": str(self)}


@dataclass(frozen=True, kw_only=True)
class Digests:
    """Whether damage of a run would be noticed.

    Args:
      checked: how many files were compared with their digests; None where there are none to compare with.
      adopted: whether they were taken of files that were there already: nothing is known of damage before.
      cut_off: whether their log ends in what is no line, as a kill leaves it: nothing follows from that.
    """

    checked: int | None
    adopted: bool = False
    cut_off: bool = False

    @property
    def there(self) -> bool:
        return self.checked is not None

    def __str__(self) -> str:
        if self.checked is None:
            return "no digests: the run is of an earlier version, and damage of its files cannot be noticed"
        since = ", taken after its files were written: of damage before that nothing is known"
        end = f" ({NAME} ends in what is no line, as a kill leaves it)" * self.cut_off
        return f"{self.checked} files compared with their digests{since * self.adopted}{end}"


NO_DIGESTS = Digests(checked=None)


def read_log(folder: Path) -> DigestLog | None:
    """The digests of a directory; None where there are none. Raises where they are damaged."""
    file = folder / NAME
    try:
        return parse_log(read_limited(file), str(file))
    except FileNotFoundError:
        return None


def find_damage(
    folder: Path, *, has_digests: bool, wanted: Callable[[str], bool] = is_own
) -> tuple[Digests, list[Damage]]:
    """Compares files with their digests: whether they are there, how large they are, and what is in them.

    Args:
      folder: the directory of a run or sweep.
      has_digests: whether what describes it says that there are some.
      wanted: which files are read; of the others only the size is compared.
    """
    log = read_log(folder)
    if log is None:
        if has_digests:
            raise InvalidValue(
                f"{folder / NAME} is missing: it cannot be told whether the files beside it are as they were "
                "written; put back a copy of it, or take the digests of the files as they are now: fedward "
                "verify --renew"
            )
        return NO_DIGESTS, []
    known = set(log.files) | set(log.before)
    found = [*(_compare(folder, name, log, wanted(name)) for name in sorted(known))]
    found += list(_unexpected(folder, known))
    digests = Digests(checked=sum(map(wanted, known)), adopted=log.adopted, cut_off=log.cut_off)
    return digests, [each for each in found if each]


def require_undamaged(
    folder: Path,
    *,
    has_digests: bool,
    needed: Callable[[str], bool] = is_shown,
    may_be_missing: Callable[[str], bool] = lambda name: False,
) -> Digests:
    """Raises if a file that is needed is damaged, with its name and what that means.

    Args:
      folder: the directory of a run or sweep.
      has_digests: whether what describes it says that there are some.
      needed: which files are.
      may_be_missing: files whose loss is no damage here, or is said otherwise.
    """
    digests, found = find_damage(folder, has_digests=has_digests, wanted=needed)
    for each in found:
        lost = each.kind == "missing" and may_be_missing(each.file.name)
        # Of files that are only counted it is known whether they are there, and how large they are.
        if (needed(each.file.name) or is_counted(each.file.name)) and not lost:
            raise InvalidValue(f"{each}; {each.remedy}")
    return digests


def _compare(folder: Path, name: str, log: DigestLog, read: bool) -> Damage | None:
    """A file beside its digest. One that changes while it is looked at is looked at again."""
    for look in range(_LOOKS):
        state, right = _state(folder / name, log, name, read)
        if right:
            return None
        now = read_log(folder)
        if now is None or (now.size, now.check) == (log.size, log.check):
            break
        # Between the two looks the run went on: whatever was announced since is right too.
        if state in now.announced.get(name, []) or (state is None and name not in now.files):
            return None
        log = now
        time.sleep(_PAUSE * (look > 2))
    return _damage(folder / name, name, "missing" if state is None else "changed")


def _state(file: Path, log: DigestLog, name: str, read: bool) -> tuple[FileState | None, bool]:
    """What is in a file, if it is read, and whether that is right."""
    right = log.right(name)
    if not read:
        try:
            size = file.stat().st_size
        except OSError:
            return None, None in right or _is_packed(file, right[0])
        cut_off = name in log.before and is_cut_off(file, log.before[name], log.files.get(name))
        return FileState(size, ""), cut_off or any(each is not None and each.size == size for each in right)
    if (large := _too_large(file, right)) is not None:
        return large, False
    state = state_of(file)
    if state in right:
        return state, True
    if state is None:
        return None, _is_packed(file, right[0])
    return state, name in log.before and is_cut_off(file, log.before[name], log.files.get(name))


def _too_large(file: Path, right: Iterable[FileState | None]) -> FileState | None:
    """Its size, where that is wrong and more than anybody should wait for to be read through."""
    try:
        size = file.stat().st_size
    except OSError:
        return None
    wrong = size > LONGEST_TEXT and all(each is None or each.size != size for each in right)
    return FileState(size, "") if wrong else None


def _is_packed(file: Path, right: FileState | None) -> bool:
    """Whether a file lies there packed: a certificate may, by whoever passes it on."""
    packed = file.with_name(f"{file.name}.gz")
    if right is None or not packed.is_file():
        return False
    try:
        with gzip.open(packed) as opened:
            return FileState.of(opened.read(right.size + 1)) == right
    except (OSError, EOFError, zlib.error):
        return False


def _unexpected(folder: Path, known: set[str]) -> Iterator[Damage]:
    for file in sorted(folder.iterdir()):
        packed = file.name.removesuffix(".gz") in known
        if file.name not in known and not packed and is_own(file.name) and file.is_file():
            yield _damage(file, file.name, "unexpected")


def _damage(file: Path, name: str, kind: Kind) -> Damage:
    about = kind_of_file(name)
    assert about is not None  # nothing else has a digest
    remedy = "remove it" if kind == "unexpected" else about.remedy
    if kind == "missing" and about.remedy.startswith("remove it, and"):
        remedy = about.remedy.removeprefix("remove it, and ")
    return Damage(file=file, kind=kind, means=about.lost, remedy=remedy)
