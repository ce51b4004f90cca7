"""Exceptions in words: a parent does not unpickle what comes from a process that runs anybody's code."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.failure import TrainingFailed

_KINDS = {"invalid value": InvalidValue, "invalid type": InvalidType}


def describe_failure(error: BaseException, user: int | None) -> dict[str, Any]:
    """What a worker says of an exception at the job of this user; None where there is no user."""
    why, kind = f"{type(error).__name__}: {error}", "failed"
    if isinstance(error, InvalidValue):
        why, kind = str(error), "invalid type" if isinstance(error, InvalidType) else "invalid value"
    place: dict[str, int | None] = {"round": None, "replica": None}
    if isinstance(error, TrainingFailed):
        why, user = error.why, error.user
        place = {"round": error.round, "replica": error.replica}
    trace = "".join(traceback.format_exception(error))
    return {"kind": kind, "why": why, "user": None if user is None else int(user), **place, "trace": trace}


def rebuilt(told: Mapping[str, Any]) -> Exception:
    """The exception that the parent raises, with the worker's traceback as a note.

    >>> rebuilt(describe_failure(TrainingFailed("out of memory", user=3), None))
    TrainingFailed('out of memory')
    """
    kind = _KINDS.get(told["kind"])
    if kind is None:
        places = {name: told.get(name) for name in ("user", "round", "replica")}
        error: Exception = TrainingFailed(told["why"], **places)
    else:
        error = kind(told["why"])
    error.add_note(f"In the worker process:\n{told['trace']}")
    return error
