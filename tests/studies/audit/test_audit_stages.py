from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS
from fedward.config.experiment import from_content
from fedward.studies.audit.audit_stages import AuditStage, open_stages
from fedward.studies.audit.audited_claim import AuditedClaim, plan_claim
from fedward.studies.audit.self_test import SOUND, with_changes
from studies.audit.audited import DP_SGD, INSDP

EVERYONE = {"sampler": {"name": "everyone"}}
TRAININGS = 60


def seen(
    changes: dict[str, Any], stage: str, **asked: Any
) -> tuple[AuditStage, NDArray[np.float64], AuditedClaim]:
    """What the first table holds of some trainings, of which every second one has the canary."""
    claim = plan_claim(from_content(with_changes(SOUND, changes)))
    with ExitStack() as stack:
        found = open_stages(claim, AuditQuestion(**asked), IN_PROCESS, stack)[stage]
        inside = [number % 2 == 0 for number in range(TRAININGS)]
        *_, tables = found.show(inside, 0)
        assert tables is not None
        return found, tables[found.tables[0]], claim


def close(table: NDArray[np.float64], wanted: float, noise: float) -> bool:
    """Whether the mean is what it should be, but for chance, and the noise as large as it should be."""
    mean = abs(float(table.mean()) - wanted) < 4 * noise / table.size**0.5
    return mean and 0.75 < float(table.std()) / noise < 1.3


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": EVERYONE},
        {"algorithm": EVERYONE | {"preset": "central_dp"}},
        {"algorithm": EVERYONE, "privacy": {"users": None}},
        {"model": {"name": "mlp"}, "algorithm": EVERYONE | {"clip": "per-layer", "clip_bound": [2.0, 1.0]}},
        {
            "algorithm": EVERYONE
            | {
                "policy": {"name": "polynomial", "initial": 1.0, "power": 1.0, "rounds": 3},
                "clip_bound": None,
            }
        },
    ],
    ids=["flat", "central DP", "undeclared", "per layer", "a bound that falls"],
)
def test_a_canary_at_the_bound_is_one_contribution_under_the_declared_noise(changes: dict[str, Any]) -> None:
    _, table, _ = seen(changes, "quiet")
    assert close(table[::2], 1.0, 2.0)
    assert close(table[1::2], 0.0, 2.0)


def test_a_user_that_is_exchanged_sends_the_opposite() -> None:
    fixed = {"sampler": {"name": "fixed_size", "size": 8}, "noise_multiplier": 4.0}
    stage, table, _ = seen({"algorithm": fixed}, "quiet")
    assert close(table[::2], 1.0, 4.0)
    assert close(table[1::2], -1.0, 4.0)
    assert {law.outside for law in stage.laws} == {-1.0}
    assert {law.std for law in stage.laws} == {4.0}


def test_the_others_send_the_opposite_where_they_are_told_to() -> None:
    _, table, _ = seen({"algorithm": EVERYONE}, "opposing")
    assert close(table[::2], 1.0 - 7.0, 2.0)
    assert close(table[1::2], -7.0, 2.0)


def test_the_last_model_alone_shows_the_sum_of_all_rounds() -> None:
    stage, table, _ = seen({"algorithm": EVERYONE}, "quiet", see="final")
    assert table.shape == (TRAININGS, 1)
    assert close(table[::2], 3.0, 2.0 * 3**0.5)
    assert [law.times for law in stage.laws] == [3]


@pytest.mark.parametrize(
    ("changes", "inside", "outside", "noise"),
    [
        (with_changes(INSDP, {"algorithm": {"local": DP_SGD | {"probability": 1.0}}}), 1.0, 0.0, 1.0),
        (
            with_changes(
                INSDP, {"algorithm": {"preset": "local_dp", "local": DP_SGD | {"probability": 1.0}}}
            ),
            *(1.0, 0.0, 1.0),
        ),
        (
            {"algorithm": {"preset": "ldp_fedsgd", "noise_multiplier": 3.0, "local": None}},
            *(1.0, -1.0, 3.0),
        ),
        (
            {
                "algorithm": {
                    "preset": "insdp_fedsgd",
                    "clip_bound": None,
                    "noise_multiplier": None,
                    "sampler": {"name": "fixed_size", "size": 4},
                    "local": DP_SGD | {"probability": 1.0},
                }
            },
            *(1.0, 0.0, 2.0),
        ),
    ],
    ids=["insdp_fedavg", "local_dp", "ldp_fedsgd", "insdp_fedsgd"],
)
def test_a_canary_in_the_data_is_one_contribution_under_the_users_own_noise(
    changes: dict[str, Any], inside: float, outside: float, noise: float
) -> None:
    stage, table, _ = seen(changes, "users")
    assert close(table[::2], inside, noise)
    assert close(table[1::2], outside, noise)
    assert {law.std for law in stage.laws} == {noise}


def test_the_neighbour_of_a_declared_federation_has_a_user_less_and_the_same_divisor() -> None:
    *_, claim = seen({}, "quiet")
    assert claim.lacking().num_users == 7
    assert claim.make(claim.lacking(), claim.setup.model).algorithm.aggregator.divisor == 4.0


def test_the_neighbour_of_an_undeclared_federation_has_as_many_users() -> None:
    *_, claim = seen({"privacy": {"users": None}}, "quiet")
    assert claim.ledger.adjacency == "zero-out"
    assert claim.lacking().num_users == 8


def test_the_clip_bounds_of_a_policy_that_looks_speak_of_the_canary() -> None:
    policy = {"name": "quantile", "initial": 1.0, "quantile": 0.5, "bit_noise": 0.5}
    changes = {"algorithm": EVERYONE | {"policy": policy, "clip_bound": None}}
    claim = plan_claim(from_content(with_changes(SOUND, changes)))
    with ExitStack() as stack:
        stage = open_stages(claim, AuditQuestion(), IN_PROCESS, stack)["quiet"]
        *_, tables = stage.show([number % 2 == 0 for number in range(TRAININGS)], 0)
    assert tables is not None
    assert {law.look for law in stage.laws} == {1.0}
    shown = tables["look at norms"]
    # The log likelihood ratio of two normal laws that are 1 apart: 1/2 or -1/2 on average, deviation 1.
    assert close(shown[::2], 0.5, 1.0)
    assert close(shown[1::2], -0.5, 1.0)


def test_noise_that_rounds_share_is_taken_apart_before_it_is_judged() -> None:
    banded = {"preset": "dp_ftrl", "sampler": None, "rounds": 4, "separation": 2, "noise_multiplier": 1.0}
    stage, table, _ = seen({"rounds": 4, "algorithm": banded}, "quiet")
    assert stage.tables[:2] == ("direction in the canary's turns", "direction of the canary")
    assert table.shape == (TRAININGS, 2)
    # The first turn has both rounds of its noise, as the claim has it; the last one is cut short.
    assert [round(law.std, 2) for law in stage.laws] == [1.0, round(stage.laws[1].std, 2)]
    assert close(table[::2, :1], 1.0, 1.0)
    assert close(table[1::2, :1], 0.0, 1.0)
