"""The cost of the server's looks at norms, in runs where users protect themselves."""

from __future__ import annotations

import math
from dataclasses import replace

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


def looks_left_out(central: Guarantee) -> str:
    """The same of a run whose guarantee of users has them not in it."""
    return f"{_LEFT_OUT}: {central}"


def add_looks(guarantee: Guarantee, users: UserLedgers, central: Ledger | None) -> Guarantee:
    """The guarantee of users' ledgers; none if the server looked and the ledgers do not know about it.

    Args:
      guarantee: of a user, or of all.
      users: the ledgers it is from.
      central: the server's ledger, which holds its looks.
    """
    looked = central is not None and bool(mechanisms(central.spending))
    return _none(guarantee) if looked and not users.looked else guarantee


def lacks_looks(looks: str) -> bool:
    """Whether a result that says this of looks is of an earlier version, whose ε had none in it."""
    return looks.startswith(_LEFT_OUT)


def _none(guarantee: Guarantee) -> Guarantee:
    return replace(guarantee, epsilon=math.inf, reason=guarantee.reason or _REASON)
