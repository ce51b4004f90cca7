"""A mutation: one small change of the source that breaks a promise, and the tests that should notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Misfit(ValueError):
    """A mutation that does not fit the source any more."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One text of one file replaced by another.

    Args:
      name: what ``--only`` takes.
      file: where, below ``src/fedward``.
      old: a text that the file holds exactly once.
      new: what stands there instead.
      breaks: the promise that does not hold any more.
      tests: files below ``tests``: those of the module, and those of the promise.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name of a mutation must be words with dashes, got {self.name!r}")
        if self.old == self.new:
            raise ValueError(f"{self.name} must change something, got the same text twice")
        if not self.tests:
            raise ValueError(f"{self.name} must name tests that should notice it, got none")

    @property
    def path(self) -> Path:
        """The file, below the folder of the source."""
        return Path("fedward") / self.file

    def apply(self, source: str) -> str:
        """The source with the mutation in it.

        >>> flip = Mutation(name="flip", file="a.py", old="a < b", new="a > b", breaks="all", tests=("t.py",))
        >>> flip.apply("if a < b:")
        'if a > b:'
        """
        count = source.count(self.old)
        if count != 1:
            raise Misfit(f"{self.name}: {self.path} must hold {self.old!r} exactly once, got {count} times")
        return source.replace(self.old, self.new)

    def write(self, source: Path) -> None:
        """Puts the mutation into a copy of the folder of the source."""
        file = source / self.path
        mutated = self.apply(file.read_text(encoding="utf8"))
        if source.resolve() == SOURCE:
            raise ValueError("a mutation must go into a copy, got the source itself")
        file.write_text(mutated, encoding="utf8")
        # Compiled code is told from its source by second and size: both may be the same.
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()
