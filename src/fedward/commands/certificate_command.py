"""``fedward certificate k``, ``fedward certificate attack-cost`` and ``fedward certificate attackers``."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from fedward.base.validate import InvalidValue, whole
from fedward.certificates.attack_cost import attackers_needed, corollary_1, cost_bounds, theorem_3
from fedward.certificates.checks import check_unit
from fedward.certificates.paper import equation_6, largest_k
from fedward.certificates.prediction import MOST, certified_k
from fedward.commands.certificate_options import ADJACENCY, Cost, Described, Training
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.privacy.group import group_curve
from fedward.privacy.guarantee import ACCOUNTANT_LABELS
from fedward.privacy.rounding import epsilon_text

_UNPROVEN = "paper mode: C̄ must bound every cost; set from observed costs, as published, it proves nothing"
_EXPECTED = "tight: about the expected confidence, over sampling and noise; see docs/certificates.md"
_FIXED = "for the cost clipped at C̄, with C̄ fixed beforehand"


@grouped
def k(
    described: Described,
    top: Annotated[float, typer.Option("--top", help="F_A: expected confidence of the top class.")],
    runner_up: Annotated[
        float | None, typer.Option("--runner-up", help="F_B: the next one; 1 - F_A if not given.")
    ] = None,
    replicas: Annotated[int | None, typer.Option("--replicas", help="M, for --psi.")] = None,
    psi: Annotated[
        float | None, typer.Option("--psi", help="ψ of Hoeffding's correction, paper mode.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How many attackers a prediction provably survives."""
    first = check_unit("top confidence", top)
    second = 1.0 - first if runner_up is None else check_unit("runner-up confidence", runner_up)
    if first + second > 1.0 + 1e-9:
        raise InvalidValue(f"top and runner-up confidence must add up to at most 1, got {first} and {second}")
    training = described.training()
    content = training.content | {"top": first, "runner_up": second}
    if training.tight:
        if replicas is not None or psi is not None:
            raise InvalidValue("--replicas and --psi belong to paper mode, got mode 'tight'")
        found = int(certified_k([first], [second], training.spending, training.threat)[0])
        content |= {"k": found, "at_least": found == MOST}
        answer(as_json, content, f"{_describe(found, training, at_least=found == MOST)}\n{_EXPECTED}")
        return
    if (replicas is None) != (psi is None):
        raise InvalidValue("give both --replicas and --psi, or neither")
    confidence = "none"
    if replicas is not None and psi is not None:
        first, second = equation_6(first, second, replicas, psi)
        confidence = "paper, 2ψ"
        content |= {"replicas": replicas, "psi": psi}
    epsilon, delta = training.promise
    paper = largest_k(first, second, epsilon, delta)
    found_k = paper.compromise if training.threat == "compromise" else paper.k
    content |= paper.to_json() | {"k": found_k, "confidence": confidence}
    about = f"{described.unit} level, {ADJACENCY}, {ACCOUNTANT_LABELS[content['accountant']]}"
    text = f"{_describe(found_k, training)}\npaper: K = {paper.K:.4f} from ε = {epsilon_text(epsilon)} at "
    text += f"δ = {delta:g} ({about})"
    answer(as_json, content, text + (" (confidence: paper, 2ψ)" if psi is not None else ""))


@grouped
def attack_cost(
    cost: Cost,
    attackers: Annotated[int, typer.Option("--attackers", help="k.")],
    described: Described,
    as_json: AsJson = False,
) -> None:
    """How far k attackers can push the expected cost of their attack."""
    whole("attackers", attackers, at_least=0)
    training = described.training()
    if training.tight:
        curve = group_curve(training.spending, attackers)
        low, high = cost_bounds(cost.cost, cost.cost_bound, curve, training.threat, negative=cost.negative)
    else:
        low, high = theorem_3(
            cost.cost,
            cost.cost_bound,
            *training.promise,
            attackers * training.group,
            negative=cost.negative,
        )
    content = _about_cost(training, cost) | {"attackers": attackers, "lower": low, "upper": high}
    text = f"expected cost from {low:.6g} to {high:.6g} with {attackers} attackers ({training.threat})"
    answer(as_json, content, f"{text}\n{content['note']}")


@grouped
def attackers(
    cost: Cost,
    tau: Annotated[float, typer.Option("--tau", help="τ: what the attack divides its cost by.")],
    described: Described,
    as_json: AsJson = False,
) -> None:
    """How many attackers it takes at least to divide the expected cost by τ (corollary 1)."""
    training = described.training()
    content = _about_cost(training, cost) | {"tau": tau}
    needed: int | None
    if training.tight:
        needed = attackers_needed(
            cost.cost, cost.cost_bound, tau, training.spending, training.threat, negative=cost.negative
        )
    else:
        bound = corollary_1(cost.cost, cost.cost_bound, tau, *training.promise, negative=cost.negative)
        needed = None if bound == math.inf else math.ceil(bound / training.group)
        content["bound"] = None if bound == math.inf else bound
    # The tight search ends at MOST: nothing was found, which is not to say that nothing is there.
    more = needed is None and training.tight
    content |= {
        "attackers": MOST + 1 if more else needed,
        "at_least": more,
        "unbounded": needed is None and not training.tight,
    }
    most = f"more than {MOST}" if training.tight else "infinitely many"
    text = f"at least {most if needed is None else needed} attackers ({training.threat})"
    answer(as_json, content, f"{text}\n{content['note']}")


def _about_cost(training: Training, cost: Cost) -> dict[str, Any]:
    return training.content | {
        "cost": cost.cost,
        "cost_bound": cost.cost_bound,
        "proven": training.tight,
        "note": _FIXED if training.tight else _UNPROVEN,
    }


def _describe(found: int | None, training: Training, *, at_least: bool = False) -> str:
    # An example can only be poisoned; a user that skips its local DP voids what is said about examples.
    users = training.content["unit"] == "user"
    kind, only = (
        ("user", "") if users else ("example", " (poisoned data only: every user keeps to its local DP)")
    )
    units = f"{kind}{'' if found == 1 else 's'}{only}"
    done = {"inject": "injected", "present": "present", "compromise": "compromised"}[training.threat]
    if found is None:
        return f"k is unbounded: certified against any number of {done} {units}"
    if found < 0:
        return "k = -1: not certified, not even without attackers"
    if at_least:
        return f"k is at least {found}, where the search ends: certified against {found} {done} {units}"
    return f"k = {found}: certified against {found} {done} {units}"
