"""The server's file: who is declared, where the run is kept, and how long anybody waits for anybody."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fedward.base.limited_files import read_text
from fedward.base.validate import InvalidType, InvalidValue, positive, whole
from fedward.deploy.server.population import Population, read_population
from fedward.deploy.toml_tables import read_toml, require_known

_LONGEST_KEY = 1 << 12
"""Bytes of a public key in a file."""


@dataclass(frozen=True, kw_only=True)
class FederationFile:
    """What the server of a deployment knows and nobody else has to.

    Args:
      out: the run directory.
      population: the table ``[nodes]``.
      input_shape: of one example, without the number of examples; empty for text.
      num_classes: how many classes the model tells apart.
      deadline: seconds that nodes have for a round. Declared, so that it follows nobody's data; who answers
        later has dropped out.
      least_nodes: a round is not begun, and nothing is spent on it, before so many declared nodes are there.
      wait: seconds to wait for them; then the run stops, and goes on where it was when it is started again.
      tokens: whether examples are text: whole numbers that stand for words.
    """

    out: Path
    population: Population
    input_shape: tuple[int, ...]
    num_classes: int
    deadline: float = 600.0
    least_nodes: int = 1
    wait: float = 3600.0
    tokens: bool = False

    def __post_init__(self) -> None:
        positive("deadline", self.deadline)
        positive("wait", self.wait)
        whole("classes", self.num_classes, at_least=2)
        for size in self.input_shape:
            whole("input shape", size)
        if whole("least_nodes", self.least_nodes) > len(self.population.nodes):
            raise InvalidValue(
                f"least_nodes must be at most the number of declared nodes, {len(self.population.nodes)}, "
                f"got {self.least_nodes}"
            )


def read_federation(path: Path) -> FederationFile:
    """The server's file; paths in it are seen from where it lies."""
    content: dict[str, Any] = read_toml(path)
    names = [field.name for field in fields(FederationFile) if field.name != "population"]
    require_known(content, [*names, "nodes"], str(path))
    try:
        for name in ("out", "nodes", "input_shape", "num_classes"):
            if name not in content:
                raise InvalidValue(f"{name} must be given")
        if not isinstance(content["out"], str) or not content["out"]:
            raise InvalidType(f"out must be a path in quotes, got {content['out']!r}")
        if not isinstance(content["input_shape"], list):
            raise InvalidType(f"input_shape must be a list, got {content['input_shape']!r}")
        content["out"] = path.parent / content["out"]
        content["nodes"] = _with_keys(content["nodes"], path.parent)
        content["input_shape"] = tuple(content["input_shape"])
        return FederationFile(population=read_population(content.pop("nodes")), **content)
    except InvalidValue as error:
        raise InvalidValue(f"{path}: {error}") from error


def _with_keys(nodes: Any, folder: Path) -> Any:
    """The table of nodes with the public key itself wherever it names a file of one."""
    if not isinstance(nodes, dict):
        return nodes
    found = {}
    for name, node in nodes.items():
        key = node.get("key") if isinstance(node, dict) else None
        if isinstance(key, str) and key and " " not in key.strip():
            file = folder / key
            try:
                node = node | {"key": read_text(file, _LONGEST_KEY).strip()}
            except (OSError, UnicodeDecodeError) as error:
                raise InvalidValue(
                    f"public key of node {name} cannot be read from {file}: {error}"
                ) from error
        found[name] = node
    return found
