"""The variants of an experiment under more and more attackers, counted as the guarantee counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.vary import Axis, variants
from fedward.core.federation import Federation
from fedward.privacy.guarantee import Unit
from fedward.studies.training.setup import prepare


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """Every variant with each number of attackers.

    A guarantee that hides users is about attacking *users*: their number is ``attack.who.count``. One that
    hides examples is about poisoned *examples*, all of them one user's, as in Xie et al.: their number is a
    fraction of those that this user can poison.

    Args:
      unit: what is counted.
      contents: the content of an experiment file for each variant.
      names: of a variant and a number of attackers, the name in ``contents``.
    """

    unit: Unit
    contents: Mapping[str, dict[str, Any]]
    names: Mapping[tuple[str, int], str]


def attacked_variants(
    content: dict[str, Any], axes: Sequence[Axis], numbers: Sequence[int], source: str, data: Path | None
) -> Attacked:
    """Varies the number of attackers beside what varies anyway.

    Args:
      content: of the experiment file, with an ``[attack]`` table.
      axes: what else varies.
      numbers: of attackers.
      source: the name of the file, for errors.
      data: the data directory.
    """
    setup = prepare(config.from_content(content, source), data)
    unit = setup.algorithm.unit
    if unit == "user":
        key = "attack.who.count"
        by_number: dict[int, float] = {number: number for number in numbers}
    else:
        key = "attack.data.0.fraction"
        most = _eligible(content, setup.federation, source, setup.experiment.seed)
        if max(numbers) > most:
            raise InvalidValue(
                f"poisoned examples must be at most the {most} of one user, got {max(numbers)}"
            )
        by_number = {number: number / most for number in numbers}
    if any(axis.key == key for axis in axes):
        raise InvalidValue(f"the number of attackers varies by --attackers, got {key} among --vary too")
    contents, names = {}, {}
    for variant, changed in variants(content, axes).items():
        for number, value in by_number.items():
            ((_, attacked),) = variants(changed, [Axis(key=key, values=(value,))]).items()
            what = f"{number} {'attackers' if unit == 'user' else 'poisoned examples'}"
            name = what if variant == "all" else f"{variant}, {what}"
            contents[name], names[variant, number] = attacked, name
    return Attacked(unit=unit, contents=contents, names=names)


def _eligible(content: Mapping[str, Any], federation: Federation, source: str, seed: int) -> int:
    """How many examples the one attacker can poison."""
    section = config.from_content(dict(content), source).attack
    assert section is not None  # the command asked
    attack = section.build()
    staged = section.stage_users(federation, seed)
    if len(staged) != 1 or len(attack.data) != 1 or attack.model:
        raise InvalidValue(
            "examples are hidden, so attackers are counted in poisoned examples of one user: [attack] must "
            f"have one user, one poisoning of data and none of updates, got {len(staged)} users, "
            f"{len(attack.data)} and {len(attack.model)}"
        )
    (user,) = staged
    return int(attack.data[0].eligible(federation.user(user)).sum())
