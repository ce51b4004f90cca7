"""What a run says about the server's looks at norms, where users protect themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from fedward.privacy import Guarantee, Ledger
from fedward.privacy.spending import mechanisms
from fedward.privacy.user_ledgers import UserLedgers

_ALONE = "the server's looks at norms, included above; alone, by central accounting"
# How runs began the same line when each user's ε was that of its own noise only.
_LEFT_OUT = "the server's looks at norms, from a central budget"
_REASON = (
    "the run is of an earlier version, which left the server's looks at norms out of its ε; run it again in "
    "another directory"
)


def looks_alone(central: Guarantee) -> str:
    """What the looks would cost if users' own noise cost nothing; the guarantee of users has them in it."""
    return f"{_ALONE}: {central}"


def with_looks(guarantee: Guarantee, users: UserLedgers, central: Ledger | None) -> Guarantee:
    """The guarantee of users' ledgers; none if the server looked and the ledgers do not know about it.

    Args:
      guarantee: of a user, or of all.
      users: the ledgers it is from.
      central: the server's ledger, which holds its looks.
    """
    looked = central is not None and bool(mechanisms(central.spending))
    return _none(guarantee) if looked and not users.looked else guarantee


def result_with_looks(result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run, without the number that an earlier version gave it while it left looks out."""
    if not str(result.get("looks", "")).startswith(_LEFT_OUT):
        return result
    found = _none(Guarantee.from_json(result["guarantee"]))
    return result | {"guarantee": found.to_json(), "statement": str(found)}


def _none(guarantee: Guarantee) -> Guarantee:
    return replace(guarantee, epsilon=math.inf, reason=guarantee.reason or _REASON)
