"""The variants of an experiment under more and more attackers, counted as the guarantee counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.vary import Axis, variants
from fedward.studies.training.setup import Setup, prepare


def attacked_variants(
    content: dict[str, Any], axes: Sequence[Axis], numbers: Sequence[int], source: str, data: Path | None
) -> dict[tuple[str, int], tuple[str, dict[str, Any]]]:
    """Of each variant and number of attackers: the name of both together, and the experiment file's content.

    A guarantee that hides users is about attacking *users*: their number is ``attack.who.count``. One that
    hides examples is about poisoned *examples*, all of them one user's, as in Xie et al.: their number is a
    fraction of those that this user can poison.

    Args:
      content: of the experiment file, with an ``[attack]`` table.
      axes: what else varies.
      numbers: of attackers.
      source: the name of the file, for errors.
      data: the data directory.
    """
    setup = prepare(config.from_content(content, source), data)
    if setup.algorithm.unit == "user":
        key, what = "attack.who.count", "attackers"
        by_number: dict[int, float] = {number: number for number in numbers}
    else:
        key, what = "attack.data.0.fraction", "poisoned examples"
        most = _eligible(setup)
        if max(numbers) > most:
            raise InvalidValue(
                f"poisoned examples must be at most the {most} of one user, got {max(numbers)}"
            )
        by_number = {number: number / most for number in numbers}
    if any(axis.key == key for axis in axes):
        raise InvalidValue(f"the number of attackers varies by --attackers, got {key} among --vary too")
    found = {}
    for variant, changed in variants(content, axes).items():
        for number, value in by_number.items():
            ((_, attacked),) = variants(changed, [Axis(key=key, values=(value,))]).items()
            name = f"{number} {what}" if variant == "all" else f"{variant}, {number} {what}"
            found[variant, number] = name, attacked
    return found


def _eligible(setup: Setup) -> int:
    """How many examples the one attacker can poison."""
    section, federation = setup.experiment.attack, setup.federation
    assert section is not None  # the command asked
    attack = section.build()
    staged = section.stage_users(federation, setup.experiment.seed)
    if len(staged) != 1 or len(attack.data) != 1 or attack.model:
        raise InvalidValue(
            "examples are hidden, so attackers are counted in poisoned examples of one user: [attack] must "
            f"have one user, one poisoning of data and none of updates, got {len(staged)} users, "
            f"{len(attack.data)} and {len(attack.model)}"
        )
    (user,) = staged
    return int(attack.data[0].eligible(federation.user(user)).sum())
