"""``fedward certificate k``, ``fedward certificate attack-cost`` and ``fedward certificate attackers``."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from fedward.base.validate import InvalidValue, whole
from fedward.certificates.attack_cost import attackers_needed, corollary_1, cost_bounds, theorem_3
from fedward.certificates.checks import in_unit
from fedward.certificates.paper import equation_6, largest_k
from fedward.certificates.prediction import MOST, certified_k
from fedward.commands.certificate_options import (
    ADJACENCY,
    Against,
    Attends,
    By,
    Cost,
    CostBound,
    Delta,
    Mode,
    Negative,
    Noise,
    Of,
    Rate,
    Rounds,
    Training,
    described,
)
from fedward.commands.output import AsJson, answer, given
from fedward.privacy.group import group_curve
from fedward.privacy.guarantee import ACCOUNTANT_LABELS
from fedward.privacy.rounding import epsilon_text

_UNPROVEN = "paper mode: C̄ must bound every cost; set from observed costs, as published, it proves nothing"
_EXPECTED = "tight: about the expected confidence, over sampling and noise; see docs/certificates.md"
_FIXED = "for the cost clipped at C̄, with C̄ fixed beforehand"


def k(
    top: Annotated[float, typer.Option("--top", help="F_A: expected confidence of the top class.")],
    noise_multiplier: Noise,
    sampling_rate: Rate,
    rounds: Rounds,
    runner_up: Annotated[
        float | None, typer.Option("--runner-up", help="F_B: the next one; 1 - F_A if not given.")
    ] = None,
    delta: Delta = None,
    mode: Mode = "tight",
    threat: Against = "inject",
    unit: Of = "user",
    attendance: Attends = "drawn",
    accountant: By = None,
    replicas: Annotated[int | None, typer.Option("--replicas", help="M, for --psi.")] = None,
    psi: Annotated[
        float | None, typer.Option("--psi", help="ψ of Hoeffding's correction, paper mode.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How many attackers a prediction provably survives."""
    first = in_unit("top confidence", top)
    second = 1.0 - first if runner_up is None else in_unit("runner-up confidence", runner_up)
    if first + second > 1.0 + 1e-9:
        raise InvalidValue(f"top and runner-up confidence must add up to at most 1, got {first} and {second}")
    training = described(
        noise_multiplier, sampling_rate, rounds, delta, mode, threat, unit, attendance, accountant
    )
    content = training.content | {"top": first, "runner_up": second}
    if training.mode == "tight":
        if replicas is not None or psi is not None:
            raise InvalidValue("--replicas and --psi belong to paper mode, got mode 'tight'")
        found = int(certified_k([first], [second], training.spending, training.threat)[0])
        content |= {"k": found, "at_least": found == MOST}
        answer(as_json, content, f"{_in_words(found, training, at_least=found == MOST)}\n{_EXPECTED}")
        return
    if (replicas is None) != (psi is None):
        raise InvalidValue("give both --replicas and --psi, or neither")
    confidence = "none"
    if replicas is not None and psi is not None:
        first, second = equation_6(first, second, replicas, psi)
        confidence = "paper, 2ψ"
        content |= {"replicas": replicas, "psi": psi}
    epsilon = training.content["epsilon"]
    paper = largest_k(first, second, epsilon, given("--delta", delta))
    found_k = paper.compromise if training.threat == "compromise" else paper.k
    content |= paper.to_json() | {"k": found_k, "confidence": confidence}
    about = f"{unit} level, {ADJACENCY}, {ACCOUNTANT_LABELS[content['accountant']]}"
    text = f"{_in_words(found_k, training)}\npaper: K = {paper.K:.4f} from ε = {epsilon_text(epsilon)} at "
    text += f"δ = {delta:g} ({about})"
    answer(as_json, content, text + (" (confidence: paper, 2ψ)" if psi is not None else ""))


def attack_cost(
    cost: Cost,
    cost_bound: CostBound,
    attackers: Annotated[int, typer.Option("--attackers", help="k.")],
    noise_multiplier: Noise,
    sampling_rate: Rate,
    rounds: Rounds,
    negative: Negative = False,
    delta: Delta = None,
    mode: Mode = "tight",
    threat: Against = "inject",
    unit: Of = "user",
    attendance: Attends = "drawn",
    accountant: By = None,
    as_json: AsJson = False,
) -> None:
    """How far k attackers can push the expected cost of their attack."""
    whole("attackers", attackers, at_least=0)
    training = described(
        noise_multiplier, sampling_rate, rounds, delta, mode, threat, unit, attendance, accountant
    )
    if training.mode == "tight":
        curve = group_curve(training.spending, attackers)
        low, high = cost_bounds(cost, cost_bound, curve, training.threat, negative=negative)
    else:
        low, high = theorem_3(
            cost,
            cost_bound,
            training.content["epsilon"],
            given("--delta", delta),
            attackers * training.group,
            negative=negative,
        )
    note = _FIXED if training.mode == "tight" else _UNPROVEN
    content = training.content | {
        "cost": cost,
        "cost_bound": cost_bound,
        "attackers": attackers,
        "lower": low,
        "upper": high,
        "proven": training.mode == "tight",
        "note": note,
    }
    text = f"expected cost from {low:.6g} to {high:.6g} with {attackers} attackers ({training.threat})"
    answer(as_json, content, f"{text}\n{note}")


def attackers(
    cost: Cost,
    cost_bound: CostBound,
    tau: Annotated[float, typer.Option("--tau", help="τ: what the attack divides its cost by.")],
    noise_multiplier: Noise,
    sampling_rate: Rate,
    rounds: Rounds,
    negative: Negative = False,
    delta: Delta = None,
    mode: Mode = "tight",
    threat: Against = "inject",
    unit: Of = "user",
    attendance: Attends = "drawn",
    accountant: By = None,
    as_json: AsJson = False,
) -> None:
    """How many attackers it takes at least to divide the expected cost by τ (corollary 1)."""
    training = described(
        noise_multiplier, sampling_rate, rounds, delta, mode, threat, unit, attendance, accountant
    )
    content = training.content | {"cost": cost, "cost_bound": cost_bound, "tau": tau}
    if training.mode == "tight":
        needed = attackers_needed(
            cost, cost_bound, tau, training.spending, training.threat, negative=negative
        )
    else:
        epsilon = training.content["epsilon"]
        bound = corollary_1(cost, cost_bound, tau, epsilon, given("--delta", delta), negative=negative)
        needed = None if bound == math.inf else math.ceil(bound / training.group)
        content["bound"] = None if bound == math.inf else bound
    note = _FIXED if training.mode == "tight" else _UNPROVEN
    # The tight search ends at MOST: nothing was found, which is not to say that nothing is there.
    unbounded, more = (needed is None and training.mode == mode for mode in ("paper", "tight"))
    content |= {
        "attackers": MOST + 1 if more else needed,
        "at_least": more,
        "unbounded": unbounded,
        "proven": training.mode == "tight",
    }
    most = f"more than {MOST}" if training.mode == "tight" else "infinitely many"
    text = f"at least {most if needed is None else needed} attackers ({training.threat})\n{note}"
    answer(as_json, content | {"note": note}, text)


def _in_words(found: int | None, training: Training, *, at_least: bool = False) -> str:
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
