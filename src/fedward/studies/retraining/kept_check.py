"""A check under way, kept so that it can be gone on with: in this user's cache, not with whom it is about.

Whoever is checked must not learn which replicas were chosen. What is kept belongs to one certificate with its
scores, one experiment and one engine: where any of them is another, a check begins anew, with another choice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from fedward.base.own_cache import read_cache, remove_cache, write_cache
from fedward.base.sealed import seal, unseal
from fedward.certificates.score_comparison import Comparison
from fedward.core.types import ServerState
from fedward.rundir import checkpoint

SAVE_EVERY = 5.0
"""Seconds after which the states of the replicas under way are kept again."""

_FORMAT = "fedward retraining 1"
_SOURCE = "the check that was kept"


@dataclass(kw_only=True)
class KeptCheck:
    """A check of some replicas, as far as it has come.

    Args:
      about: what is checked, and how.
      chosen: the numbers of the replicas to train again.
      comparison: of those that are done.
      states: of those under way, which follow them, after their last round that was kept.
      earlier: how many replicas were compared when it was gone on with; 0 for a new check.
    """

    about: bytes
    chosen: tuple[int, ...]
    comparison: Comparison
    states: tuple[ServerState, ...] = ()
    earlier: int = 0
    _saved: float = field(default=0.0, init=False)

    @property
    def left(self) -> tuple[int, ...]:
        """The replicas that are still to be compared."""
        return self.chosen[len(self.comparison.compared) :]

    def save(self, states: Sequence[ServerState] = ()) -> None:
        """Keeps it as it is; what is too large for that, or cannot be written, is trained once more."""
        self.states = tuple(states)
        content = {"chosen": list(self.chosen), "comparison": _tensors(self.comparison.to_content())}
        under_way = [checkpoint.to_content(state) for state in states]
        if not write_cache(self.about, seal(_FORMAT, content | {"states": under_way})) and under_way:
            write_cache(self.about, seal(_FORMAT, content | {"states": []}))
        self._saved = time.monotonic()

    def save_now_and_then(self, states: Sequence[ServerState]) -> None:
        """Keeps it, if that was not done in the last seconds."""
        if time.monotonic() - self._saved >= SAVE_EVERY:
            self.save(states)

    def forget(self) -> None:
        """It has come to its end: the next check takes other replicas."""
        remove_cache(self.about)


def open_check(identity: dict[str, Any], chosen: tuple[int, ...], comparison: Comparison) -> KeptCheck:
    """Goes on with the check that this user has begun about the same; else begins one.

    Args:
      identity: all that decides what comes out, as plain values.
      chosen: the replicas of a new check.
      comparison: nothing is compared in it yet.
    """
    about = f"{_FORMAT} {json.dumps(identity, sort_keys=True)}".encode()
    kept = KeptCheck(about=about, chosen=chosen, comparison=comparison)
    stored = read_cache(about)
    if stored is None:
        kept.save()
        return kept
    content = unseal(_FORMAT, stored, _SOURCE, "it is made again")
    comparison.restore(_arrays(content["comparison"]))
    kept.chosen, kept.earlier = tuple(content["chosen"]), len(comparison.compared)
    kept.states = tuple(checkpoint.from_content(each, _SOURCE) for each in content["states"])
    return kept


def _tensors(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"counts": [torch.from_numpy(each) for each in content["counts"]]}


def _arrays(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"counts": [each.numpy() for each in content["counts"]]}
