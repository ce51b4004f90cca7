"""The privacy that a run has spent on one person who is several of its users."""

from __future__ import annotations

import math
from dataclasses import replace

from fedward.base.validate import InvalidValue, whole
from fedward.privacy import Guarantee
from fedward.privacy.caveats import add_caveat
from fedward.rundir.manifest import Manifest
from fedward.rundir.spent import Spent, with_declared_adjacency


def guarantee_of_a_person(spent: Spent, manifest: Manifest, devices: int) -> Guarantee | None:
    """What the ledgers come to for a person with up to so many devices; None before the first round.

    Where nothing is proven for several users (those that protect themselves, cohorts of a fixed size) it is
    no guarantee, and says why.
    """
    single, (delta, _) = spent.guarantee(manifest), spent.accounting(manifest)
    if whole("devices per person", devices) == 1 or single is None:
        return single
    if not single.private:
        return replace(single, devices=devices)
    reason = "users protect themselves, and nothing is proven for several of them together"
    if spent.ledger is not None and spent.users is None:
        try:
            found = with_declared_adjacency(spent.ledger, manifest).guarantee(delta, "pld", devices)
            return add_caveat(found, manifest.all_caveats)
        except InvalidValue as error:
            reason = str(error)
    return replace(single, epsilon=math.inf, caveat="", reason=reason, devices=devices)
