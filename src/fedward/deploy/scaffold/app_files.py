"""A Flower app, a server's file and a node's rules for an experiment, as text."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

import torch

from fedward.aggregation import WeightedMean
from fedward.base.validate import InvalidValue, whole
from fedward.config.experiment import Experiment
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.types import PrivateTrainer
from fedward.deploy.server.federated_setup import FederatedSetup, prepare_federation
from fedward.deploy.server.federation_file import FederationFile
from fedward.deploy.server.population import DeclaredNode, Population
from fedward.privacy.user_ledgers import UserLedgers

APP = "federated_app"


def app_files(
    experiment: Experiment, text: str, data: Federation, directory: Path, nodes: int
) -> Mapping[str, str]:
    """The text of every file, by its path in the directory; refuses an experiment that cannot be deployed.

    Args:
      experiment: what is trained.
      text: its file, which goes into the app as it is.
      data: of its simulation, dealt out among the nodes as the written ``load_users`` does.
      directory: where they will be; the app's configuration names the server's file there.
      nodes: how many there are.
    """
    if whole("nodes", nodes) > data.num_users:
        raise InvalidValue(f"nodes must be at most the number of users, {data.num_users}, got {nodes}")
    setup = _setup(experiment, data, nodes)
    file = setup.file
    weighted = isinstance(setup.algorithm.aggregator, WeightedMean)
    table = "\n".join(_entry(node, weighted) for node in file.population.nodes)
    words = {
        "preset": setup.algorithm.name,
        "federation": json.dumps(os.path.realpath(directory / "server" / "federation.toml")),
        "input_shape": json.dumps(list(file.input_shape)),
        "num_classes": str(file.num_classes),
        "tokens": "tokens = true\n" if file.tokens else "",
        "nodes": str(nodes),
        "last": str(nodes - 1),
        "table": table,
        **_own_budget(setup),
    }
    rules = "rules_users" if setup.algorithm.accounting != "server" else "rules_server"
    texts = {
        "app/pyproject.toml": "pyproject",
        f"app/{APP}/__init__.py": "init",
        f"app/{APP}/server_app.py": "server_app",
        f"app/{APP}/client_app.py": "client_app",
        f"app/{APP}/rules.toml": rules,
        "server/federation.toml": "federation",
        "README.md": "readme",
    }
    return {
        **{path: _fill(name, words) for path, name in texts.items()},
        **{f"nodes/{node.name}/rules.toml": _fill(rules, words) for node in file.population.nodes},
        f"app/{APP}/experiment.toml": text,
    }


def _setup(experiment: Experiment, data: Federation, nodes: int) -> FederatedSetup:
    """The experiment on the population that will be declared: whatever does not fit is an error here."""
    x = data.examples.x
    starts = [data.num_users * place // nodes for place in range(nodes + 1)]
    population = Population(
        nodes=tuple(
            DeclaredNode(
                name=f"node-{place}",
                users=tuple(map(str, range(starts[place + 1] - starts[place]))),
                examples=tuple(data.sizes[starts[place] : starts[place + 1]].tolist()),
            )
            for place in range(nodes)
        )
    )
    file = FederationFile(
        out=Path("run"),
        population=population,
        input_shape=() if isinstance(x, Ragged) else tuple(x.shape[1:]),
        num_classes=data.num_classes,
        least_nodes=nodes,
        tokens=isinstance(x, Ragged) or x.dtype == torch.int64,
    )
    return prepare_federation(experiment, file)


def _entry(node: DeclaredNode, weighted: bool) -> str:
    """A node's line in the server's file."""
    examples = f", examples = {json.dumps(node.examples)}" if weighted else ""
    return f'{node.name} = {{ users = {len(node.users)}{examples} }}  # key = "../nodes/{node.name}/key.pub"'


def _own_budget(setup: FederatedSetup) -> dict[str, str]:
    """The budget of a user that takes part in every round, rounded up; no words where the server protects."""
    trainer = setup.algorithm.local
    if setup.algorithm.accounting == "server" or not isinstance(trainer, PrivateTrainer):
        return {}
    ledgers = UserLedgers.new(1, unit=trainer.unit, adjacency=trainer.adjacency)
    ledger = ledgers.ledger(0)
    for t in range(setup.experiment.rounds):
        ledger = ledger.charged(trainer.local_event(t), 1)
    accountant = "pld"
    epsilon = ledger.guarantee(setup.delta, accountant).epsilon
    return {
        "epsilon": f"{math.ceil(epsilon * 1000 + 1) / 1000:g}",
        "delta": repr(setup.delta),
        "accountant": accountant,
        "seeded": json.dumps(trainer.noise_source == "seeded"),
    }


def _fill(name: str, words: Mapping[str, str]) -> str:
    source = files("fedward.deploy.scaffold").joinpath(f"files/{name}.txt").read_text(encoding="utf8")
    return Template(source).substitute(words)
