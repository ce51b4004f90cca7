from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.processes.worker_jobs import FEDERATIONS, MODELS, PICTURES, jobs_of
from fedward.backends import InProcess
from fedward.backends.processes.workers import Workers
from fedward.core.types import Row


@pytest.fixture(scope="session")
def expected() -> dict[str, list[Row]]:
    return {name: list(InProcess(MODELS[name], FEDERATIONS[name]).train(jobs_of(name))) for name in MODELS}


@pytest.fixture(scope="module")
def backend() -> Iterator[Workers]:
    with Workers(MODELS["pictures"], PICTURES, workers=2) as made:
        yield made
