from __future__ import annotations

from typing import Any

import pytest

from fedward.backends.compute import VARIABLE, Compute
from fedward.base.validate import InvalidValue


def test_the_environment_is_asked_where_nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    assert Compute().processes == 2
    assert Compute(workers=1).processes == 1
    monkeypatch.delenv(VARIABLE)
    assert Compute().processes is None
    for told in ("two", "1.5", ""):
        monkeypatch.setenv(VARIABLE, told)
        if not told:
            assert Compute().check().processes is None
            continue
        with pytest.raises(InvalidValue, match=f"{VARIABLE} must be a whole number, got '{told}'"):
            Compute().check()
    monkeypatch.setenv(VARIABLE, "-1")
    with pytest.raises(InvalidValue, match="workers must be at least 0, got -1"):
        Compute().check()


def test_the_environment_does_not_move_work_to_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    assert Compute(device="meta").processes == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"workers": -1}, "workers must be"),
        ({"workers": True}, "workers must be"),
        ({"workers": 2, "device": "cuda"}, "workers train on the CPU"),
        ({"engine": "steam"}, "engine must be one of auto, native, generic, got steam"),
        ({"backend": "abacus"}, "backend must be one of"),
        ({"backend": "in-process", "workers": 2}, "backend in-process has no workers"),
        ({"backend": "threads", "workers": 0}, "backend threads needs workers on the CPU, got 0"),
        ({"backend": "processes", "device": "cuda"}, "needs workers on the CPU, got device cuda"),
        ({"cluster": "10.0.0.1"}, "cluster must be HOST:PORT of its head, auto, or local:N"),
        ({"cluster": "auto", "workers": 2}, "with a cluster its nodes say .* leave out workers 2"),
        ({"cluster": "auto", "backend": "threads"}, "leave out backend threads"),
        ({"instructions": "mmx"}, "instructions must be one of avx512, avx2, portable, got 'mmx'"),
        ({"gpus": 0.5}, "gpus is about tasks on a cluster with device cuda, got gpus 0.5"),
        ({"cluster": "auto", "device": "cuda", "gpus": 0.0}, "gpus must be"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_said(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        Compute(**given)


def test_a_device_that_is_not_there_is_refused() -> None:
    for device in ("abacus", "cuda:77"):
        with pytest.raises(InvalidValue, match="device"):
            Compute(device=device).check()


def test_it_is_a_value() -> None:
    assert Compute(workers=2) == Compute(workers=2)
    assert len({Compute(workers=2), Compute(workers=2), Compute()}) == 2
