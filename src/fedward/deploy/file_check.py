"""A check of a deployment's files before anything is started: what they say, and who may read the keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fedward.base.durable_files import require_writable
from fedward.deploy.node.node_ledger import FILE, NodeLedger
from fedward.deploy.node.node_rules import Rules, read_rules
from fedward.deploy.server.federation_file import FederationFile, read_federation
from fedward.deploy.toml_tables import read_toml, require_private


def check_file(path: Path) -> tuple[str, ...]:
    """What a server's file or a node's rules say; raises at the first thing that is wrong."""
    if "trust_server" in read_toml(path):
        return tuple(_rules(path, read_rules(path)))
    return tuple(_federation(path, read_federation(path)))


def _federation(path: Path, file: FederationFile) -> Iterator[str]:
    population = file.population
    yield f"{path}: {population.num_users} users at {len(population.nodes)} nodes, run in {file.out}"
    for node in population.nodes:
        known = "known by its key" if node.key else "no key: for a simulation only"
        yield f"  {node.name}: {len(node.users)} users, {known}"
    for key in _private_keys(path.parent):
        require_private(key, "private key")
        yield f"  {key.name}: for its owner alone"


def _rules(path: Path, rules: Rules) -> Iterator[str]:
    own = [] if rules.private_key is None else [rules.private_key]
    for key in dict.fromkeys([*own, *_private_keys(path.parent)]):
        require_private(key, "private key")
        yield f"  {key.name}: for its owner alone"
    if rules.trust_server:
        yield f"{path}: updates leave as they were trained; the server is trusted with them"
        return
    assert rules.ledger is not None  # rules are checked when they are made
    require_writable(rules.ledger / FILE)
    found = NodeLedger(rules.ledger, rules.budget).read()
    users = "nobody has spent anything yet" if found is None else f"{len(found.names)} users in the ledger"
    yield f"{path}: users protect themselves, ε = {rules.epsilon:g} each; {users}"
    if rules.seeded_noise:
        yield "  seeded_noise: the server can take the noise off again; for research only"
    if rules.show_norms:
        yield "  show_norms: the server is told the norms of updates before their noise"


def _private_keys(folder: Path) -> list[Path]:
    """The private keys that lie in a directory: by their name, or by the public half beside them."""
    halves = (public.with_suffix("") for public in folder.glob("*.pub"))
    return sorted({file for file in (*folder.glob("*.key"), *halves) if file.is_file()})
