"""A federation of real parties over Flower: ``server_app`` and ``client_app``. Needs ``fedward[flower]``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fedward.base.validate import InvalidValue

if TYPE_CHECKING:
    from fedward.deploy.flower.client_app import client_app
    from fedward.deploy.flower.server_app import server_app
    from fedward.deploy.node.node_rules import Rules, read_rules
    from fedward.deploy.server.federation_file import FederationFile, read_federation

if find_spec("flwr") is None:
    raise InvalidValue('Flower is not installed: pip install "fedward[flower]"')

__all__ = ["FederationFile", "Rules", "client_app", "read_federation", "read_rules", "server_app"]

# A node starts a process for each message: it imports its own side only.
_PLACES = {
    "FederationFile": "fedward.deploy.server.federation_file",
    "Rules": "fedward.deploy.node.node_rules",
    "client_app": "fedward.deploy.flower.client_app",
    "read_federation": "fedward.deploy.server.federation_file",
    "read_rules": "fedward.deploy.node.node_rules",
    "server_app": "fedward.deploy.flower.server_app",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
