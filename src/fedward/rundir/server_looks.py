"""The cost of the server's looks at norms, in runs where users protect themselves."""

from __future__ import annotations

import math
from dataclasses import replace

from fedward.privacy import Guarantee, Ledger
from fedward.privacy.spending import mechanisms
from fedward.privacy.user_ledgers import UserLedgers

_ALONE = "the server's looks at norms, included above; alone, by central accounting"
# How runs began the same line when each user's ε was that of its own noise only.
LOOKS_LEFT_OUT = "the server's looks at norms, from a central budget"
_REASON = (
    "the run is of an earlier version, which left the server's looks at norms out of its ε; run it again in "
    "another directory"
)


def looks_alone(central: Guarantee) -> str:
    """What the looks would cost if users' own noise cost nothing; the guarantee of users has them in it."""
    return f"{_ALONE}: {central}"


def add_looks(guarantee: Guarantee, users: UserLedgers, central: Ledger | None) -> Guarantee:
    """The guarantee of users' ledgers; none if the server looked and the ledgers do not know about it.

    Args:
      guarantee: of a user, or of all.
      users: the ledgers it is from.
      central: the server's ledger, which holds its looks.
    """
    if central is None or not mechanisms(central.spending) or users.looked:
        return guarantee
    return replace(guarantee, epsilon=math.inf, reason=guarantee.reason or _REASON)
