"""A disk whose power may fail: it knows what was synced, and what may be lost of the rest."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
OPERATIONS = {
    "rename": ("replace", "rename"),
    "unlink": ("unlink", "remove"),
    "mkdir": ("mkdir",),
    "truncate": ("truncate", "ftruncate"),
}
"""The functions of ``os`` that change names or lengths, by what they do."""

Image = dict[str, bytes | None]
"""Files and directories (None) below the root of a disk, by their relative paths, parents first."""


class SimulatedDisk:
    """Watches the file operations below a directory, and knows what a loss of power would leave of it.

    Content is durable as it was when its file was synced, names as they were when their directory was. What
    came after may be there or not, also if whoever wrote it was killed long ago. Nothing is really synced:
    that only takes time.

    Args:
      root: what lies in it now is durable.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._names: dict[int, dict[str, int]] = {}  # of directories, which may be renamed with all in them
        self._content: dict[int, bytes] = {}
        self._held: dict[int, int] = {}  # an inode that is open is not given to another file
        self._all_is_durable()

    def watch(self, patch: pytest.MonkeyPatch, before: Callable[[str], int | None]) -> None:
        """Sees all operations until the patch is undone.

        ``before`` is called with the kind of every operation before it is done; what it raises is the fault.
        It may answer with a number: so many bytes of a write are taken at most.
        """
        self._before, self._fsync, self._write = before, os.fsync, os.write
        patch.setattr(os, "open", self._opened(os.open))
        patch.setattr(os, "write", self._written)
        patch.setattr(os, "fsync", self._synced)
        for kind, names in OPERATIONS.items():
            for name in names:
                patch.setattr(os, name, self._watched(kind, getattr(os, name)))

    def restore(self, image: Image) -> None:
        """Makes the directory hold what the image says, and nothing else; all of that is durable."""
        for entry in list(self._root.iterdir()):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name, content in image.items():
            if content is None:
                (self._root / name).mkdir()
            else:
                (self._root / name).write_bytes(content)
        self.close()
        self._all_is_durable()

    def close(self) -> None:
        """Lets go of the files that it holds."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held = {}

    def after_power_loss(self, choice: random.Random) -> Image:
        """What a disk may hold that loses its power now: all that is durable, and some of the rest."""
        mode, detail = choice.choice(("lost", "kept", "each")), choice.getrandbits(32)
        now = {
            entry.inode(): Path(entry.path)
            for folder, _, _ in os.walk(self._root)
            for entry in os.scandir(folder)
        }
        image: Image = {}

        def add(directory: int, relative_to: str) -> None:
            there = now.get(directory)
            present = {} if there is None else _entries(there)
            durable = self._names.get(directory, {})
            for name in sorted(present.keys() | durable.keys()):
                relative = os.path.join(relative_to, name)
                # Each its own, so that a file with a time in it does not decide on the others.
                fate = random.Random(f"{detail} {relative}")
                keeps_name, keeps_content = (
                    mode == "kept" or (mode == "each" and fate.random() < 0.5) for _ in range(2)
                )
                inode = present.get(name) if keeps_name else durable.get(name)
                if inode is None:
                    continue
                if inode in self._names or (inode in now and now[inode].is_dir()):
                    image[relative] = None
                    add(inode, relative)
                else:
                    image[relative] = self._torn(inode, now.get(inode), fate, keeps_content)

        root = self._root.stat().st_ino
        now[root] = self._root
        add(root, "")
        return image

    def _torn(self, inode: int, place: Path | None, fate: random.Random, kept: bool) -> bytes:
        durable = self._content.get(inode, b"")
        present = durable if place is None else place.read_bytes()
        if present == durable or not kept:
            return durable
        pairs = enumerate(zip(durable, present, strict=False))
        same = next((place for place, (a, b) in pairs if a != b), min(len(durable), len(present)))
        cut = same + int(fate.random() * (len(present) - same + 1))
        lost = bytes(len(present) - cut)
        late = present[:same] + bytes(cut - same) + present[cut:]
        return fate.choice((present, present[:cut], present[:cut] + lost, late))

    def _all_is_durable(self) -> None:
        self._names, self._content = {}, {}
        for folder, _, files in os.walk(self._root):
            self._keep_names(os.open(folder, os.O_RDONLY))
            for name in files:
                self._keep(os.open(os.path.join(folder, name), os.O_RDONLY))

    def _keep(self, descriptor: int) -> None:
        self._content[os.fstat(descriptor).st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
        self._hold(descriptor)

    def _keep_names(self, descriptor: int) -> None:
        self._names[os.fstat(descriptor).st_ino] = _entries(descriptor)
        self._hold(descriptor)

    def _hold(self, descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        if inode in self._held:
            os.close(descriptor)
        else:
            self._held[inode] = descriptor

    def _is_ours(self, place: Any, folder: int | None = None) -> bool:
        if isinstance(place, int):
            text = os.readlink(f"/proc/self/fd/{place}")
        else:
            above = "" if folder is None else os.readlink(f"/proc/self/fd/{folder}")
            text = os.path.abspath(os.path.join(above, os.fspath(place)))
        return text == str(self._root) or text.startswith(f"{self._root}/")

    def _opened(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            if flags & WRITING and self._is_ours(path, options.get("dir_fd")):
                self._before("open")
            return real(path, flags, *rest, **options)

        return call

    def _written(self, descriptor: int, content: Any) -> int:
        most = self._before("write") if self._is_ours(descriptor) else None
        return self._write(descriptor, content if most is None else memoryview(content)[:most])

    def _synced(self, descriptor: int) -> None:
        if not self._is_ours(descriptor):
            self._fsync(descriptor)
            return
        place = os.readlink(f"/proc/self/fd/{descriptor}")
        if os.path.isdir(place):
            self._before("sync of a directory")
            self._keep_names(os.dup(descriptor))
        else:
            self._before("sync")
            self._keep(os.dup(descriptor))

    def _watched(self, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(place: Any, *rest: Any, **options: Any) -> Any:
            if self._is_ours(place, options.get("dir_fd", options.get("src_dir_fd"))):
                self._before(kind)
            return real(place, *rest, **options)

        return call


def _entries(folder: int | Path) -> dict[str, int]:
    with os.scandir(folder) as found:
        return {entry.name: entry.inode() for entry in found}
