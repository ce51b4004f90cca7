"""The table ``[attack]`` of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import field_validator, model_validator

from fedward.attacks import MODEL_POISONINGS, POISONINGS, WHO, Attack, Staged
from fedward.base.validate import InvalidValue, positive
from fedward.config.sections import OneOf, PartSection, Section
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.types import Knowledge

_WHO = OneOf(registry=WHO, trial={})
_POISONING = OneOf(registry=POISONINGS, trial={})
_MODEL_POISONING = OneOf(registry=MODEL_POISONINGS, trial={})


class AttackSection(Section):
    """Who attacks, with what, when, and knowing what; and how the attack's cost is measured.

    ``cost_bound`` is C̄, fixed before anything is measured; ``target_model`` a file with the ``state_dict``
    of the model θ* that attackers want to see (example 3 of Xie et al.).
    """

    who: Annotated[PartSection, _WHO]
    data: tuple[Annotated[PartSection, _POISONING], ...] = ()
    model: tuple[Annotated[PartSection, _MODEL_POISONING], ...] = ()
    knowledge: Knowledge = "own"
    rounds: tuple[int, ...] | None = None
    test_share: float = 0.2
    cost_bound: float | None = None
    target_model: Path | None = None

    @field_validator("target_model", mode="before")
    @classmethod
    def _read_path(cls, value: object) -> object:
        if value is not None and not isinstance(value, str | Path):
            raise InvalidValue(f"must be a path in quotes, got {value!r}")
        return Path(value) if isinstance(value, str) else value

    @field_validator("cost_bound")
    @classmethod
    def _check_cost_bound(cls, value: float | None) -> float | None:
        return value if value is None else positive("bound of the attack cost", value)

    @model_validator(mode="after")
    def _attack_accepts_its_parts(self) -> AttackSection:
        self.build()
        return self

    def stage(self, algorithm: Algorithm, federation: Federation, seed: int) -> Staged:
        """The attack on this training; refused if what the file wants to know of it cannot be measured."""
        staged = self.build().stage(algorithm, federation, seed)
        for key in ("cost_bound", "target_model"):
            if staged.goal is None and getattr(self, key) is not None:
                raise InvalidValue(
                    f"{key} needs test examples: attacks are measured on them, and there are none"
                )
        return staged

    def stage_users(self, federation: Federation, seed: int) -> frozenset[int]:
        """The users that attack."""
        return self.build().users(federation, seed)

    def build(self) -> Attack:
        """The attack, checked in itself; ``stage`` checks it against the data."""
        return Attack(
            who=self.who.build(),
            data=tuple(part.build() for part in self.data),
            model=tuple(part.build() for part in self.model),
            knowledge=self.knowledge,
            rounds=self.rounds,
            test_share=self.test_share,
        )
