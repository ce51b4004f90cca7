"""``fedward certificate k``, ``fedward certificate attack-cost`` and ``fedward certificate attackers``."""

from __future__ import annotations

import math
from typing import Annotated, Any

from typer import Option

from fedward.base.validate import InvalidValue, whole
from fedward.commands.certificate_options import ADJACENCY, Cost, Described, Training
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, take_one

_UNPROVEN = "paper mode: C̄ must bound every cost; set from observed costs, as published, it proves nothing"
_EXPECTED = "tight: about the expected confidence, over sampling and noise; see docs/certificates.md"
_FIXED = "for the cost clipped at C̄, with C̄ fixed beforehand"


@grouped
def k(
    described: Described,
    top: Annotated[float, Option(help="F_A: expected confidence of the top class.")],
    runner_up: Annotated[float | None, Option(help="F_B: the next one; 1 - F_A if not given.")] = None,
    replicas: Annotated[int | None, Option(help="M, for --error.")] = None,
    error: Annotated[float | None, Option(help="ψ of Hoeffding's correction, paper mode.")] = None,
    psi: Annotated[float | None, Option(hidden=True)] = None,  # the name that --error had
    as_json: AsJson = False,
) -> None:
    """How many attackers a prediction provably survives."""
    from fedward.certificates.checks import check_unit
    from fedward.certificates.paper import equation_6, largest_k
    from fedward.certificates.prediction import MOST, certified_k
    from fedward.privacy.guarantee import ACCOUNTANT_LABELS
    from fedward.privacy.rounding import epsilon_text

    psi = take_one("--error", error, "--psi", psi)
    first = check_unit("top confidence", top)
    second = 1.0 - first if runner_up is None else check_unit("runner-up confidence", runner_up)
    if first + second > 1.0 + 1e-9:
        raise InvalidValue(f"top and runner-up confidence must add up to at most 1, got {first} and {second}")
    training = described.training()
    content = training.content | {"top": first, "runner_up": second}
    if training.promise is None:
        if replicas is not None or psi is not None:
            raise InvalidValue("--replicas and --error belong to paper mode, got mode 'tight'")
        found = int(certified_k([first], [second], training.spending, training.threat)[0])
        content |= {"k": found, "at_least": found == MOST}
        answer(as_json, content, _describe(found, training, at_least=found == MOST), _EXPECTED)
        return
    if (replicas is None) != (psi is None):
        raise InvalidValue("give both --replicas and --error, or neither")
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
    text = f"paper: K = {paper.K:.4f} from ε = {epsilon_text(epsilon)} at δ = {delta:g} ({about})"
    corrected = "" if psi is None else f" (confidence: {confidence})"
    answer(as_json, content, _describe(found_k, training), text + corrected)


@grouped
def attack_cost(
    cost: Cost,
    attackers: Annotated[int, Option(help="k.")],
    described: Described,
    as_json: AsJson = False,
) -> None:
    """How far k attackers can push the expected cost of their attack."""
    from fedward.certificates.attack_cost import cost_bounds, theorem_3
    from fedward.privacy.group import group_curve

    whole("attackers", attackers, at_least=0)
    training, bounded = described.training(), (cost.cost, cost.cost_bound)
    if training.promise is None:
        curve = group_curve(training.spending, attackers)
        low, high = cost_bounds(*bounded, curve, training.threat, negative=cost.negative)
    else:
        group = attackers * training.group
        low, high = theorem_3(*bounded, *training.promise, group, negative=cost.negative)
    content = _about_cost(training, cost) | {"attackers": attackers, "lower": low, "upper": high}
    text = f"expected cost from {low:.6g} to {high:.6g} with {attackers} attackers ({training.threat})"
    answer(as_json, content, text, content["note"])


@grouped
def attackers(
    cost: Cost,
    tau: Annotated[float, Option(help="τ: what the attack divides its cost by.")],
    described: Described,
    as_json: AsJson = False,
) -> None:
    """How many attackers it takes at least to divide the expected cost by τ (corollary 1)."""
    from fedward.certificates.attack_cost import attackers_needed, corollary_1
    from fedward.certificates.prediction import MOST

    training, asked = described.training(), (cost.cost, cost.cost_bound, tau)
    content = _about_cost(training, cost) | {"tau": tau}
    tight = training.promise is None
    if training.promise is None:
        needed = attackers_needed(*asked, training.spending, training.threat, negative=cost.negative)
    else:
        bound = corollary_1(*asked, *training.promise, negative=cost.negative)
        content["bound"] = None if bound == math.inf else bound
        needed = None if bound == math.inf else math.ceil(bound / training.group)
    # The tight search ends at MOST: nothing was found, which is not to say that nothing is there.
    content |= {
        "attackers": MOST + 1 if needed is None and tight else needed,
        "at_least": needed is None and tight,
        "unbounded": needed is None and not tight,
    }
    most = f"more than {MOST}" if tight else "infinitely many"
    text = f"at least {most if needed is None else needed} attackers ({training.threat})"
    answer(as_json, content, text, content["note"])


def _about_cost(training: Training, cost: Cost) -> dict[str, Any]:
    tight = training.promise is None
    about = {"cost": cost.cost, "cost_bound": cost.cost_bound}
    return training.content | about | {"proven": tight, "note": _FIXED if tight else _UNPROVEN}


def _describe(found: int | None, training: Training, *, at_least: bool = False) -> str:
    # An example can only be poisoned; a user that skips its local DP voids what is said about examples.
    users = training.content["unit"] == "user"
    only = "" if users else " (poisoned data only: every user keeps to its local DP)"
    units = f"{'user' if users else 'example'}{'' if found == 1 else 's'}{only}"
    done = {"inject": "injected", "present": "present", "compromise": "compromised"}[training.threat]
    if found is None:
        return f"k is unbounded: certified against any number of {done} {units}"
    if found < 0:
        return "k = -1: not certified, not even without attackers"
    survived = f"certified against {found} {done} {units}"
    return (
        f"k is at least {found}, where the search ends: {survived}"
        if at_least
        else f"k = {found}: {survived}"
    )
