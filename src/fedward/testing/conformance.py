"""Promises that parts of a kind make, the run through all of them, and its report or error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

Part = TypeVar("Part")
Trial = TypeVar("Trial")


class ConformanceError(AssertionError):
    """A part broke a promise of its kind: the message says which, by which value, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Promise(Generic[Part]):
    """One thing that every part of a kind promises.

    Args:
      says: the promise as a sentence without its subject.
      check: returns if the part keeps it, and calls ``broken`` or ``not_applicable`` otherwise.
    """

    says: str
    check: Callable[[Part], None]


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A promise that could not be put to the test, and why."""

    promise: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """The report on a part that keeps its promises.

    >>> print(Conformance(kind="sampler", part="Mine()", passed=("draws users in order",)))
    Mine() keeps the promises of a sampler
      passed: draws users in order
    """

    kind: str
    part: str
    passed: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.part} keeps the promises of {_article(self.kind)}"]
        lines += [f"  passed: {promise}" for promise in self.passed]
        lines += [f"  not applicable: {each.promise} ({each.reason})" for each in self.skipped]
        return "\n".join(lines)


class _Broken(Exception):
    """What is wrong with a part, and what to do about it."""


class _NotApplicable(Exception):
    """Why a promise says nothing about a part."""


def broken(what: str, remedy: str) -> NoReturn:
    """Ends the check of a promise that is not kept: which value shows it, and what to do."""
    raise _Broken(f"{what}. {remedy}.")


def not_applicable(reason: str) -> NoReturn:
    """Ends the check of a promise that a part need not keep."""
    raise _NotApplicable(reason)


def promises_of(
    part: Callable[[Trial], Part], promises: Iterable[Promise[Part]]
) -> tuple[Promise[Trial], ...]:
    """The same promises about a trial: ``part`` says which part of it makes them."""

    def lifted(check: Callable[[Part], None]) -> Callable[[Trial], None]:
        return lambda trial: check(part(trial))

    return tuple(Promise(says=each.says, check=lifted(each.check)) for each in promises)


def check_promises(
    kind: str, part: Part, promises: Iterable[Promise[Part]], *, name: str | None = None
) -> Conformance:
    """The report on a part that keeps all of these promises; the first that it breaks is an error.

    Args:
      kind: what the part is, for people.
      name: what the part is called in the report and in errors; ``repr`` of it if not given.
    """
    called = _name_of(part) if name is None else name
    passed: list[str] = []
    skipped: list[Skipped] = []
    for promise in promises:
        says = f'{called} breaks a promise of {_article(kind)}, "{promise.says}"'
        try:
            promise.check(part)
        except _NotApplicable as reason:
            skipped.append(Skipped(promise=promise.says, reason=str(reason)))
        except _Broken as what:
            raise ConformanceError(f"{says}: {what}") from None
        except ConformanceError as inner:  # of a part that this one is made of
            raise ConformanceError(f"{says}: {inner}") from None
        except Exception as error:
            raise ConformanceError(
                f"{says}: it raised {type(error).__name__}: {error}. "
                "Let it do this without an error; the one above shows where it was raised."
            ) from error
        else:
            passed.append(promise.says)
    return Conformance(kind=kind, part=called, passed=tuple(passed), skipped=tuple(skipped))


def function_name(function: Callable[..., object], otherwise: str) -> str:
    """What a function is called in reports; one without a name of its own is called ``otherwise``."""
    name = getattr(function, "__name__", "<lambda>")
    return otherwise if name == "<lambda>" else name


def _name_of(part: object) -> str:
    try:
        return repr(part)
    except Exception:
        return f"a {type(part).__name__} that cannot be printed"


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
