from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from deploy.loopback_nodes import CENTRAL, HALF, INSDP, experiment, with_source
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.node.node_rules import read_rules
from fedward.deploy.scaffold.app_files import app_files
from fedward.deploy.server.federation_file import read_federation

LOCAL_DP = {"preset": "local_dp", "sampler": HALF, "local": INSDP["local"]}


def written(folder: Path, data: Federation, algorithm: dict[str, Any], nodes: int = 3) -> dict[str, str]:
    texts = app_files(experiment(algorithm), "the text", data, folder, nodes)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf8")
    return dict(texts)


@pytest.mark.parametrize("algorithm", [CENTRAL, INSDP, LOCAL_DP], ids=lambda each: each["preset"])
def test_every_file_is_one_that_its_reader_takes(
    algorithm: dict[str, Any], tmp_path: Path, digits_of_12: Federation
) -> None:
    texts = written(tmp_path, digits_of_12, algorithm)
    assert texts["app/federated_app/experiment.toml"] == "the text"
    file = read_federation(tmp_path / "server" / "federation.toml")
    assert file.population.num_users == 12
    assert file.population.declares_examples == (algorithm is LOCAL_DP)
    config = tomllib.loads(texts["app/pyproject.toml"])["tool"]["flwr"]["app"]["config"]
    assert Path(config["federation"]) == (tmp_path / "server" / "federation.toml").resolve()
    for path in ("nodes/node-0/rules.toml", "app/federated_app/rules.toml"):
        assert read_rules(tmp_path / path).trust_server == (algorithm is CENTRAL)
    for path, text in texts.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


def test_nothing_of_the_server_or_of_a_node_is_in_the_app(tmp_path: Path, digits_of_12: Federation) -> None:
    texts = written(tmp_path, digits_of_12, CENTRAL)
    for path, text in texts.items():
        if path.startswith("app/"):
            assert "[nodes]" not in text
            assert ".pub" not in text


def test_the_budget_of_a_node_is_that_of_a_user_in_every_round(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    written(tmp_path, digits_of_12, with_source(INSDP))
    rules = read_rules(tmp_path / "nodes" / "node-0" / "rules.toml")
    planned = experiment(with_source(INSDP)).make_algorithm(
        digits_of_12, experiment().model.build(input_shape=(1, 8, 8), num_classes=10)
    )
    exact = planned.guarantee(12, 3, 1e-3, "pld").epsilon
    assert rules.epsilon is not None
    assert exact <= rules.epsilon <= exact + 0.003
    assert not rules.seeded_noise


def test_more_nodes_than_users_are_refused(tmp_path: Path, digits_of_12: Federation) -> None:
    with pytest.raises(InvalidValue, match="at most the number of users, 12, got 13"):
        app_files(experiment(), "", digits_of_12, tmp_path, 13)


def test_users_are_dealt_out_as_the_written_app_does(tmp_path: Path, digits_of_12: Federation) -> None:
    texts = written(tmp_path, digits_of_12, CENTRAL, nodes=5)
    file = read_federation(tmp_path / "server" / "federation.toml")
    code = texts["app/federated_app/client_app.py"].split("def load_users")[1].split("app = ")[0]
    names: dict[str, Any] = {"Mapping": dict, "Any": Any, "EXPERIMENT": None}

    class Source:
        def load_data(self) -> Federation:
            return digits_of_12

    names["read_experiment"] = lambda path: Source()
    exec("def load_users" + code, names)
    for place, node in enumerate(file.population.nodes):
        users = names["load_users"]({"partition-id": place, "num-partitions": 5})
        assert len(users) == len(node.users)
