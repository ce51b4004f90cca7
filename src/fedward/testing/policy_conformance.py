"""The promises of a clip policy: a bound for every round, and looks at norms that are paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedward.core.types import Bounds, ClipPolicy, PolicyState
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, not_applicable
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import require_repeatable

_ROUNDS = 1000


def check_clip_policy(policy: ClipPolicy) -> Conformance:
    """Runs every promise of ``fedward.core.types.ClipPolicy``."""
    return check_promises("clip policy", policy, (*VALUE_PROMISES, *_PROMISES))


def _cohorts() -> dict[str, list[Bounds]]:
    """The norms of rows that a round may bring, in lists of their own each time."""
    return {
        "no rows": [],
        "one row": [(0.3,)],
        "rows of zero": [(0.0,)] * 10,
        "one huge row": [*[(0.1,)] * 9, (1e30,)],
        "rows beyond any number": [(math.inf,)] * 3,
        "usual rows": [(0.05 * i,) for i in range(1, 21)],
    }


def _bound(policy: ClipPolicy, state: PolicyState, round: int, norms: list[Bounds]) -> Bounds:
    return policy.bound(state, round, norms if policy.reads_norms else None)


def _shown(policy: ClipPolicy, round: int, norms: list[Bounds]) -> list[Bounds]:
    """The norms that a policy is shown: none in a round without looks, unless nothing is proven anyway."""
    return norms if policy.unproven or policy.looks(round) else []


def _declares_itself(policy: ClipPolicy) -> None:
    for name, value in (("reads_norms", policy.reads_norms), ("per_group", policy.per_group)):
        if not isinstance(value, bool):
            broken(f"{name} is {value!r}", "Say True or False")
    if not isinstance(policy.unproven, str):
        broken(f"unproven is {policy.unproven!r}", "Return why no ε covers it, or an empty text")
    if policy.reads_norms and not policy.unproven:
        broken(
            "it reads the norms of the same round and unproven is empty",
            "Say in unproven why no ε covers it: the bound depends on private norms",
        )
    for t in range(_ROUNDS):
        looks = policy.looks(t)
        if not isinstance(looks, tuple) or not all(isinstance(z, float) and 0 < z < math.inf for z in looks):
            broken(
                f"looks({t}) is {looks!r}", "Return a tuple of positive noise multipliers, () without a look"
            )
        if looks != policy.looks(t):
            broken(
                f"looks({t}) changes from call to call", "Say the same each time: it is charged beforehand"
            )
        if looks and not 0 < policy.replaced_moves <= 2:
            broken(f"replaced_moves is {policy.replaced_moves!r}", "Return what is proven, at most 2.0")


def _keeps_a_bound(policy: ClipPolicy) -> None:
    for name, norms in _cohorts().items():
        state, rng = policy.init(), np.random.default_rng(0)
        for t in range(_ROUNDS):
            bounds = _bound(policy, state, t, norms)
            for bound in bounds:
                if not bound > 0 or not (math.isfinite(bound) or _unbounded(policy)):
                    broken(
                        f"its bound in round {t} is {bound} with {name}",
                        "Keep the bound positive and finite: give it a floor and a ceiling",
                    )
            state = policy.move(state, t, bounds, _shown(policy, t, norms), rng)
            if not isinstance(state, tuple) or not all(isinstance(each, float) for each in state):
                broken(
                    f"its state after round {t} is {state!r}", "Return a tuple of floats: checkpoints hold it"
                )


def _unbounded(policy: ClipPolicy) -> bool:
    """Whether it may have no bound: it says that nothing is proven, or says so from the first round on."""
    if policy.unproven:
        return True
    return not policy.reads_norms and math.isinf(max(policy.bound(policy.init(), 0, None)))


def _repeats_itself(policy: ClipPolicy) -> None:
    norms = _cohorts()["usual rows"]
    require_repeatable(policy.init, "init")
    bounds = require_repeatable(lambda: _bound(policy, policy.init(), 0, norms), "bound", norms)
    require_repeatable(
        lambda: policy.move(policy.init(), 0, bounds, norms, np.random.default_rng(0)), "move", norms
    )


def _moves_only_by_looks(policy: ClipPolicy) -> None:
    if policy.unproven:
        not_applicable(f"no ε covers it: {policy.unproven}")
    quiet = [t for t in range(_ROUNDS) if not policy.looks(t)]
    if not quiet:
        not_applicable("it looks in every round")
    state = policy.init()
    bounds = _bound(policy, state, quiet[0], [])
    ends: set[Any] = {
        policy.move(state, quiet[0], bounds, norms, np.random.default_rng(0)) for norms in _cohorts().values()
    }
    if len(ends) > 1:
        broken(
            f"in round {quiet[0]}, for which it declares no look, its state follows the norms: "
            f"{sorted(ends)[:2]}",
            "Declare the look in looks(round), with the noise that it adds",
        )


def _adds_noise_to_looks(policy: ClipPolicy) -> None:
    looking = [t for t in range(_ROUNDS) if policy.looks(t)]
    if not looking:
        not_applicable("it takes no looks")
    state, t = policy.init(), looking[0]
    bounds = _bound(policy, state, t, [])
    for norms in _cohorts().values():
        ends = {policy.move(state, t, bounds, norms, np.random.default_rng(seed)) for seed in range(64)}
        if len(ends) > 1:
            return
    broken(
        f"looks({t}) declares noise, but its state after that round is the same for 64 streams, "
        "whatever the norms",
        "Add noise from the rng that is given to what it reads of the norms",
    )


def _takes_groups(policy: ClipPolicy) -> None:
    if not policy.per_group:
        not_applicable("it says that it has one bound only")
    norms: list[Bounds] = [(0.1 * i, 0.2 * i, 5.0) for i in range(1, 9)]
    bounds = _bound(policy, policy.init(), 0, norms)
    if len(bounds) not in (1, 3):
        broken(
            f"it has {len(bounds)} bounds for 3 groups", "Return one for each group, or one for all of them"
        )
    bounds = bounds * 3 if len(bounds) == 1 else bounds
    policy.move(policy.init(), 0, bounds, _shown(policy, 0, norms), np.random.default_rng(0))


_PROMISES: tuple[Promise[ClipPolicy], ...] = (
    Promise(says="declares its looks at norms", check=_declares_itself),
    Promise(says="has a positive bound in every round", check=_keeps_a_bound),
    Promise(says="gives the same bits again and writes to no norms", check=_repeats_itself),
    Promise(says="follows norms only in rounds with a look", check=_moves_only_by_looks),
    Promise(says="adds noise to its looks", check=_adds_noise_to_looks),
    Promise(says="has bounds for several groups where it says so", check=_takes_groups),
)
