from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.loopback_nodes import CENTRAL, HALF, INSDP, SGD, experiment, federation_file, population, prepare
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.server.federated_setup import prepare_federation
from fedward.deploy.server.population import DeclaredNode, Population

UNSIZED = Population(nodes=(DeclaredNode(name="one", users=tuple(map(str, range(12)))),))
ATTACK = {
    "who": {"name": "random", "count": 1},
    "data": [{"name": "label_flip", "source": 3, "target": 8}],
}
LOCAL_DP = {"preset": "local_dp", "sampler": HALF, "local": INSDP["local"]}


def test_secure_aggregation_is_refused_with_the_reason(tmp_path: Path, digits_of_12: Federation) -> None:
    file = federation_file(tmp_path, digits_of_12)
    with pytest.raises(InvalidValue, match="32-bit seeds of a Mersenne Twister"):
        prepare_federation(experiment(), file, secagg=True)


@pytest.mark.parametrize(
    ("algorithm", "tables", "says"),
    [
        (CENTRAL, {"attack": ATTACK}, "stage attacks at nodes"),
        ({"preset": "fedavg", "sampler": HALF, "local": SGD}, {}, "declare examples for every node"),
        (LOCAL_DP, {}, "declare examples for every node"),
        (INSDP, {"privacy": {"users": 12}}, "privacy.delta must be given"),
        (CENTRAL, {"privacy": {"users": 12, "budget": 1e-6}}, "at least what one round costs"),
    ],
    ids=["attack", "fedavg", "local_dp", "no delta", "a budget for no round"],
)
def test_what_cannot_be_deployed_is_refused_before_anybody_is_asked(
    algorithm: dict[str, Any], tables: dict[str, Any], says: str, tmp_path: Path, digits_of_12: Federation
) -> None:
    file = federation_file(tmp_path, digits_of_12, population=UNSIZED)
    with pytest.raises(InvalidValue, match=says):
        prepare_federation(experiment(algorithm, **tables), file)


def test_weights_are_the_declared_ones(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path, digits_of_12, LOCAL_DP)
    assert setup.people.sizes.tolist() == digits_of_12.sizes.tolist()


def test_the_manifest_says_who_was_declared_and_not_what_a_simulation_would_load(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    manifest = prepare(tmp_path, digits_of_12).manifest
    assert manifest.experiment["data"]["nodes"] == {f"node-{place}": 4 for place in range(3)}
    assert manifest.data.digest == population(digits_of_12).digest
    assert "digits" not in str(manifest.experiment["data"])
