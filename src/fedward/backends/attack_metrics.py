"""Measures of a model under attack: accuracy on the main task, success and cost of the attack."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from torch import Tensor

from fedward.attacks.attack_goal import Goal
from fedward.backends.engines.evaluation import Metrics
from fedward.base.validate import InvalidValue, positive
from fedward.core.examples import Examples


@dataclass(frozen=True, kw_only=True)
class AttackSuccess:
    """What one poisoning achieved: how many triggered test examples went to the target, at which cost J."""

    success: float
    cost: float
    examples: int


@dataclass(frozen=True, kw_only=True)
class AttackMetrics:
    """The main task on clean test examples, and the attack on triggered ones.

    Args:
      main: accuracy and loss on the clean examples.
      attacks: for each poisoning its success rate and its cost, by name.
      cost: C(θ) of this model; None if nothing is poisoned that a test could show.
      capped_cost: min(C(θ), C̄) for a C̄ that was fixed beforehand; this is what a certificate bounds.
      parameter_cost: ½‖θ - θ*‖² for a target model θ*.
    """

    main: Metrics
    attacks: dict[str, AttackSuccess]
    cost: float | None = None
    capped_cost: float | None = None
    parameter_cost: float | None = None

    @property
    def success(self) -> float | None:
        """The share of all triggered test examples that went to their target."""
        counted = sum(attack.examples for attack in self.attacks.values())
        hits = sum(attack.success * attack.examples for attack in self.attacks.values())
        return hits / counted if counted else None

    def to_record(self) -> dict[str, Any]:
        """As it stands in a run's files."""
        record: dict[str, Any] = {"accuracy": self.main.accuracy, "loss": self.main.loss}
        if self.attacks:
            record["attack_success"] = self.success
            record["attack_cost"] = self.cost
            record["attacks"] = {name: asdict(attack) for name, attack in self.attacks.items()}
        if self.capped_cost is not None:
            record["capped_attack_cost"] = self.capped_cost
        if self.parameter_cost is not None:
            record["parameter_cost"] = self.parameter_cost
        return record


class Evaluator(Protocol):
    """What measures a model, for instance a backend."""

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics: ...


def measure(
    evaluator: Evaluator,
    parameters: Tensor,
    goal: Goal,
    *,
    cost_bound: float | None = None,
    target: Tensor | None = None,
) -> AttackMetrics:
    """Measures a model on the main task and for the attackers.

        C(θ) = (1/n) Σ_i l(θ, (x_i + δ_x, y*)),    or ½‖θ - θ*‖² for a target model

    J is the expectation of C over trainings: average it over replicas.

    Args:
      evaluator: usually the backend that trains.
      goal: test examples, dealt out by ``Attack.stage``. A trigger that follows the model is fitted to this
        one first.
      cost_bound: C̄, fixed before anything is measured.
      target: the parameters θ* that the attackers want to see.

    Xie et al. 2022, examples 1-3; success as in Miao et al., section 3.1.
    """
    if cost_bound is not None:
        positive("bound of the attack cost", cost_bound)
    attacks = {}
    for name, examples in goal.at_model(parameters).triggered:
        found = evaluator.evaluate(parameters, examples)
        # The largest of scores that are not numbers would be class 0: a broken model is nobody's success.
        success = 0.0 if math.isnan(found.loss) else found.accuracy
        attacks[name] = AttackSuccess(success=success, cost=found.loss, examples=found.examples)
    cost, distance = None, None
    if attacks:
        counted = sum(attack.examples for attack in attacks.values())
        cost = sum(attack.cost * attack.examples for attack in attacks.values()) / counted
    if target is not None:
        distance = parameter_cost(parameters, target)
    capped = cost if cost is not None else distance
    return AttackMetrics(
        main=evaluator.evaluate(parameters, goal.clean),
        attacks=attacks,
        cost=cost,
        capped_cost=None if cost_bound is None or capped is None else _cap(capped, cost_bound),
        parameter_cost=distance,
    )


def _cap(cost: float, bound: float) -> float:
    # `min` lets NaN pass; a cost that is no number is no small one.
    return bound if math.isnan(cost) else min(cost, bound)


def parameter_cost(parameters: Tensor, target: Tensor) -> float:
    """C(θ) = ½‖θ - θ*‖², the cost of an attack that wants a certain model.

    >>> import torch
    >>> parameter_cost(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    2.5

    Xie et al. 2022, example 3; Ma et al. 2019.
    """
    if parameters.shape != target.shape:
        raise InvalidValue(
            f"target model must have {parameters.numel()} parameters like the trained one, "
            f"got {target.numel()}"
        )
    return float(0.5 * (parameters.double() - target.double()).pow(2).sum())
