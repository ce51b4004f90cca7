"""More rounds, or a larger budget, for a run: the one change of its experiment that a run can go on with."""

from __future__ import annotations

from typing import Any

from fedward.rundir.manifest import Manifest


def with_more_rounds(stored: Manifest, wanted: Manifest) -> Manifest | None:
    """The stored manifest with the rounds and the budget that are asked for; None unless that is more.

    What was spent stays in the ledger, and ε is that of all rounds: nothing is spent twice or forgotten.
    """
    if stored.variants is not None or stored.inference is not None:
        return None
    there, here = (_limits(manifest.experiment) for manifest in (stored, wanted))
    if there == here or here is None or there is None or here[0] < there[0] or here[1] < there[1]:
        return None
    privacy = {**(stored.experiment.get("privacy") or {})}
    privacy["budget"] = (wanted.experiment.get("privacy") or {}).get("budget")
    experiment = {**stored.experiment, "rounds": here[0], "privacy": privacy}
    return stored.model_copy(
        update={
            "experiment": experiment,
            "accountant": wanted.accountant,
            "extended": [*stored.extended, there[0]],
        }
    )


def _limits(experiment: dict[str, Any]) -> tuple[int, float] | None:
    """The number of rounds and the budget of an experiment; no budget is an infinite one."""
    rounds, privacy = experiment.get("rounds"), experiment.get("privacy") or {}
    budget = privacy.get("budget")
    return None if not isinstance(rounds, int) else (rounds, float("inf") if budget is None else budget)
