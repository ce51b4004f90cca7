"""The record of a verification: what was computed again, what is damaged, what rests on trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

from fedward.base.arrays_file import check_arrays
from fedward.base.validate import InvalidValue
from fedward.rundir.damage import NO_DIGESTS, Damage, Digests
from fedward.rundir.run_file_names import kind_of_file
from fedward.rundir.signature import CheckedSignature

What = Literal[
    "readable",
    "digests",
    "seal",
    "epsilon",
    "claims",
    "spending",
    "rounds",
    "telemetry",
    "checkpoint",
    "model",
    "data",
    "measured",
    "scores",
    "summary",
    "certificate",
    "certificate_scores",
    "certified",
    "curves",
    "attacks",
    "table",
    "members",
    "trainings",
    "author",
]
Kind = Literal["run", "replicas", "membership", "property", "audit", "sweep", "weights", "runs", "unknown"]


ROUNDING = 1e-9
FROM_TRAININGS = "that the scores come from these trainings: nothing was trained again"


@dataclass(frozen=True, kw_only=True)
class Matched:
    """Something that was computed again, and is as it is stated."""

    what: What
    says: str


@dataclass(frozen=True, kw_only=True)
class Trusted:
    """Something that was not computed again: it rests on whoever wrote it, and why."""

    what: What
    says: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What came of verifying a run, a sweep, a file of weights, or all runs of a directory.

    Args:
      path: what was verified.
      kind: what it is.
      digests: whether its files were compared with digests, or there are none.
      damage: what is wrong, each with its file and what that means; nothing if all is well.
      matched: what was computed again and is as it is stated.
      trusted: what rests on trust, and why.
      signatures: by whom it is signed, and whether it is as it was then.
      members: of a sweep, or a directory of runs.
      notes: what else a reader should know.
      wanted_key: the fingerprint of the key that it should be signed by; empty if none was given.
    """

    path: Path
    kind: Kind
    digests: Digests = NO_DIGESTS
    damage: tuple[Damage, ...] = ()
    matched: tuple[Matched, ...] = ()
    trusted: tuple[Trusted, ...] = ()
    signatures: tuple[CheckedSignature, ...] = ()
    members: tuple[Verification, ...] = ()
    notes: tuple[str, ...] = ()
    wanted_key: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong, and it is signed by the key that was asked for, if one was."""
        return self.intact and self.authentic

    @property
    def authentic(self) -> bool:
        """Whether it is as it was signed by the key that was asked for; true if none was.

        A directory of runs is if all of them are. The signature of a sweep covers its trainings.
        """
        if not self.wanted_key:
            return True
        if self.kind == "runs":
            return all(each.authentic for each in self.members)
        return any(each.expected and each.state == "valid" for each in self.signatures)

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong, in its members too."""
        return not self.damage and all(each.intact for each in self.members)

    @property
    def all_damage(self) -> tuple[Damage, ...]:
        """What is wrong, in its members too."""
        return (*self.damage, *(damage for each in self.members for damage in each.all_damage))

    def to_json(self) -> dict[str, Any]:
        """Plain values, as ``fedward verify --json`` has them."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "holds": self.holds,
            "intact": self.intact,
            "authentic": self.authentic if self.wanted_key else None,
            "digests": {"there": self.digests.there, **asdict(self.digests), "says": str(self.digests)},
            "damage": [each.to_json() for each in self.damage],
            "matched": [asdict(each) for each in self.matched],
            "rests_on_trust": [asdict(each) for each in self.trusted],
            "signatures": [each.to_json() for each in self.signatures],
            "members": [each.to_json() for each in self.members],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        count = len(self.all_damage)
        found = "intact" if self.intact else f"{count} thing{'s' * (count > 1)} wrong"
        return f"Verification({str(self.path)!r}: {found})"


class Contradiction(InvalidValue):
    """Two files that do not say the same."""


@dataclass
class Findings:
    """Collects what a verification comes to, step by step: one that fails does not hide the others."""

    path: Path
    damage: list[Damage] = field(default_factory=list)
    matched: list[Matched] = field(default_factory=list)
    trusted: list[Trusted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, what: What, name: str, says: str) -> Iterator[None]:
        """Something that is computed again: it matches, or its file is named with what is wrong."""
        try:
            yield
        except Nothing:
            pass
        except Unverifiable as why:
            self.trust(what, f"{says}: {why}")
        except (InvalidValue, OSError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            self.add_error(name, error)
        except (AttributeError, RuntimeError, AssertionError, BadZipFile) as error:
            self.add_error(name, error)
        else:
            self.matched.append(Matched(what=what, says=says))

    def check_scores(self, files: Sequence[Path]) -> None:
        """Reads through files of scores, by their checksums; each that is damaged is named."""
        wrong = len(self.damage)
        for file in files:
            try:
                check_arrays(file)
            except InvalidValue as error:
                self.add_error(file.name, error)
        if files and len(self.damage) == wrong:
            many = f"{len(files):,} files of scores by their checksums"
            self.matched.append(Matched(what="scores", says=many))

    def trust(self, what: What, says: str) -> None:
        """Something that is not computed again."""
        self.trusted.append(Trusted(what=what, says=says))

    def add_error(self, name: str, error: Exception) -> None:
        """Names a file with what is wrong with it, and with what that means."""
        told = str(error) if isinstance(error, InvalidValue) else f"{type(error).__name__}: {error}"
        told = (
            " ".join(told.split()).removeprefix(f"{self.path / name} ").removeprefix(f"{self.path / name}: ")
        )
        kind = kind_of_file(name)
        means = kind.lost if kind is not None else "what it says cannot be believed"
        self.damage.append(
            Damage(
                file=self.path / name,
                kind="contradicts",
                means=means,
                remedy="" if kind is None else kind.remedy,
                found=told,
            )
        )

    def verification(self, kind: Kind, digests: Digests, **more: Any) -> Verification:
        """All of it as a record."""
        found = Verification(
            path=self.path,
            kind=kind,
            digests=digests,
            damage=tuple(dict.fromkeys(self.damage)),
            matched=tuple(self.matched),
            trusted=tuple(self.trusted),
            notes=tuple(self.notes),
        )
        return replace(found, **more)


class Nothing(Exception):
    """There is nothing of the kind."""


class Unverifiable(Exception):
    """Why something cannot be computed again here: it is no damage."""


def require_same(name: str, stated: Any, found: Any) -> None:
    """Raises where something that is stated is not what was found.

    >>> require_same("accuracy", 0.5, 0.25)
    Traceback (most recent call last):
    fedward.studies.verification.verification.Contradiction: says accuracy 0.5, and 0.25 comes out
    """
    if stated != found:
        one, other = _where_they_differ(str(stated), str(found))
        raise Contradiction(f"says {name} {one}, and {other} comes out")


def _where_they_differ(one: str, other: str, most: int = 80) -> tuple[str, str]:
    """Two texts, each cut to what a line has room for: the first difference is in it."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = 0 if same < most // 2 else same - most // 4
    cut = [f"{'...' * (start > 0)}{text[start : start + most]}" for text in (one, other)]
    return cut[0], cut[1]


def require_near(name: str, stated: Any, found: Any) -> None:
    """Like ``require_same``; the last digits of numbers may be those of another machine or version."""
    if isinstance(stated, dict) and isinstance(found, dict):
        require_same(f"{name} for", sorted(stated), sorted(found))
        for key in found:
            require_near(f"{name}.{key}", stated[key], found[key])
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for place, (one, other) in enumerate(zip(stated, found, strict=True)):
            require_near(f"{name}.{place}", one, other)
    elif isinstance(stated, float) and isinstance(found, float):
        if abs(stated - found) > ROUNDING * max(1.0, abs(stated)):
            require_same(name, stated, found)
    else:
        require_same(name, stated, found)
