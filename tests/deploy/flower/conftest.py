from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _task_identity() -> Iterator[None]:
    """Flower's messages want to know which task they are made in."""
    identity = pytest.importorskip("flwr.supercore.task_identity").TaskIdentity
    kept = {name: value for name, value in vars(identity).items() if name.startswith("_") and name[1] != "_"}
    identity.run_id, identity.task_id, identity.node_id = 1, 1, 1
    yield
    for name, value in kept.items():
        setattr(identity, name, value)
