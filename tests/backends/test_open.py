from __future__ import annotations

import pytest
from torch import nn

from fedward.backends import InProcess, Threads, Workers
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.engines.native import available
from fedward.backends.open import engine_in_words, open_backend
from fedward.base.validate import InvalidValue
from support import tiny_federation, tiny_model


def covered() -> nn.Module:
    """A model that the native engine trains."""
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def test_no_workers_means_this_process() -> None:
    for compute in (IN_PROCESS, Compute(backend="in-process")):
        with open_backend(tiny_model(), tiny_federation(), compute) as backend:
            assert isinstance(backend, InProcess)


def test_a_number_of_workers_is_taken_and_they_end_with_it() -> None:
    with open_backend(tiny_model(), tiny_federation(), Compute(workers=3)) as backend:
        assert isinstance(backend, Workers)
        assert backend.workers == 3
    with pytest.raises(InvalidValue, match="closed"):
        backend.train([])


@pytest.mark.skipif(not available(), reason="the native engine was not compiled")
def test_threads_are_taken_where_the_native_engine_covers_the_model_unless_processes_are_asked_for() -> None:
    with open_backend(covered(), tiny_federation(), Compute(workers=2)) as backend:
        assert isinstance(backend, Threads)
    with open_backend(covered(), tiny_federation(), Compute(workers=2, backend="processes")) as backend:
        assert isinstance(backend, Workers)


def test_threads_are_refused_where_the_native_engine_does_not_train_the_model() -> None:
    compute = Compute(workers=2, backend="threads", engine="generic")
    with (
        pytest.raises(InvalidValue, match="threads are of the native engine"),
        open_backend(covered(), tiny_federation(), compute),
    ):
        pass


def test_the_engine_is_said_in_words() -> None:
    words = engine_in_words(tiny_model(), tiny_federation(), Compute(engine="generic"))
    assert words == "generic engine: as asked for"
