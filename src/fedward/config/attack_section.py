"""The table ``[attack]`` of an experiment file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from torch import nn

from fedward.attacks import MODEL_POISONINGS, POISONINGS, WHO, Attack, Staged
from fedward.attacks.attack_types import ModelPoisoning, Poisoning, Who
from fedward.attacks.poisoning.unprepared import Unprepared
from fedward.base.validate import InvalidValue, positive
from fedward.config.part_slot import OneOf
from fedward.config.sections import PartSection, Section, check_by
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.types import Knowledge

_WHO = OneOf(registry=WHO, makes=(Who,), group="fedward.attackers", trial={})
_POISONING = OneOf(
    registry=POISONINGS, makes=(Poisoning, Unprepared), group="fedward.data_poisonings", trial={}
)
_MODEL_POISONING = OneOf(
    registry=MODEL_POISONINGS, makes=(ModelPoisoning,), group="fedward.model_poisonings", trial={}
)


def _path(value: object) -> object:
    if value is not None and not isinstance(value, str | Path):
        raise InvalidValue(f"must be a path in quotes, got {value!r}")
    return Path(value) if isinstance(value, str) else value


class AttackSection(Section):
    """Who attacks, with what, when, and knowing what; and how the attack's cost is measured."""

    who: Annotated[PartSection, _WHO] = Field(description="which users.")
    data: tuple[Annotated[PartSection, _POISONING], ...] = Field(
        default=(), description="what they do to their examples."
    )
    model: tuple[Annotated[PartSection, _MODEL_POISONING], ...] = Field(
        default=(), description="what they send."
    )
    knowledge: Knowledge = Field(
        default="own", description="own, or cohort: they see all honest updates as well."
    )
    rounds: tuple[int, ...] | None = Field(
        default=None, description="counted from 0; all rounds if not given."
    )
    test_share: float = Field(
        default=0.2,
        description="of the test examples, to measure the attack on. The rest are for the main task.",
    )
    cost_bound: Annotated[float, check_by(positive, "bound of the attack cost")] | None = Field(
        default=None,
        description="C̄, for min(cost, C̄), fixed before anything is measured. Not measured if not given.",
    )
    target_model: Annotated[Path | None, BeforeValidator(_path)] = Field(
        default=None,
        description="θ*, a file with the state_dict of the model that attackers want to see, for the cost "
        "½‖θ - θ*‖² (example 3 of Xie et al.).",
    )

    @model_validator(mode="before")
    @classmethod
    def _takes_an_attack(cls, content: Any) -> Any:
        """In Python an attack may stand in the place of its table."""
        if not isinstance(content, Attack):
            return content
        return {field.name: getattr(content, field.name) for field in fields(content)}

    @model_validator(mode="after")
    def _attack_accepts_its_parts(self) -> AttackSection:
        self.build()
        return self

    def stage(
        self, algorithm: Algorithm, federation: Federation, seed: int, model: nn.Module | None = None
    ) -> Staged:
        """The attack on this training; refused if what the file wants to know of it cannot be measured."""
        staged = self.build().stage(algorithm, federation, seed, model)
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
