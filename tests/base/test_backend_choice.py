from __future__ import annotations

import pytest

from fedward.backends import InProcess, Workers
from fedward.backends.open import VARIABLE, check_workers, open_backend
from fedward.base.validate import InvalidValue
from support import tiny_federation, tiny_model


def test_no_workers_means_this_process() -> None:
    with open_backend(tiny_model(), tiny_federation(), workers=0) as backend:
        assert isinstance(backend, InProcess)


def test_a_number_of_workers_is_taken_and_they_end_with_it() -> None:
    with open_backend(tiny_model(), tiny_federation(), workers=3) as backend:
        assert isinstance(backend, Workers)
        assert backend.workers == 3
    with pytest.raises(InvalidValue, match="closed"):
        backend.train([])


def test_the_environment_is_asked_where_nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    assert check_workers(None, "cpu") == 2
    assert check_workers(1, "cpu") == 1
    monkeypatch.delenv(VARIABLE)
    assert check_workers(None, "cpu") is None
    monkeypatch.setenv(VARIABLE, "two")
    with pytest.raises(InvalidValue, match=f"{VARIABLE} must be a whole number, got 'two'"):
        check_workers(None, "cpu")


@pytest.mark.parametrize("workers", [-1, True])
def test_a_number_of_workers_that_is_none_is_refused(workers: int) -> None:
    with pytest.raises(InvalidValue, match="workers must be"):
        check_workers(workers, "cpu")


def test_a_device_that_is_not_there_is_refused() -> None:
    for device in ("abacus", "cuda:77"):
        with pytest.raises(InvalidValue, match="device"):
            check_workers(None, device)


def test_workers_are_for_the_cpu() -> None:
    with pytest.raises(InvalidValue, match="workers train on the CPU"):
        check_workers(2, "cuda")
