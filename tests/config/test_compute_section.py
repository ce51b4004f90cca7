from __future__ import annotations

from typing import Any

import pytest

from fedward.backends.compute import Compute
from fedward.base.validate import InvalidValue
from fedward.config.compute_section import compute_of
from fedward.config.experiment import from_content, parse
from fedward.config.sweep_section import read_sweep
from fedward.config.vary import Axis
from tiny_experiment import CONTENT, TEXT


def with_table(**table: Any) -> dict[str, Any]:
    return {**CONTENT, "compute": table}


def test_a_file_says_where_and_how_it_is_computed() -> None:
    assert compute_of(with_table(workers=2, engine="generic")) == Compute(workers=2, engine="generic")
    assert compute_of(CONTENT) == Compute()


@pytest.mark.parametrize(
    ("told", "given", "found"),
    [
        ({"workers": 4}, {"workers": 0}, {"workers": 0}),
        ({"workers": 4, "engine": "generic"}, {"cluster": "auto"}, {"cluster": "auto", "engine": "generic"}),
        ({"cluster": "auto", "device": "cuda", "gpus": 0.5}, {"device": "cpu"}, {"cluster": "auto"}),
        ({"cluster": "auto"}, {"workers": 2}, {"workers": 2}),
        ({"backend": "processes"}, {"workers": 2}, {"backend": "processes", "workers": 2}),
        ({"backend": "threads"}, {"workers": 0}, {"workers": 0}),
        ({"workers": 4}, {"device": "cuda"}, {"device": "cuda"}),
        ({"instructions": "avx2"}, {"instructions": None}, {"instructions": "avx2"}),
    ],
)
def test_what_a_command_says_counts_and_rules_out_what_does_not_go_with_it(
    told: dict[str, Any], given: dict[str, Any], found: dict[str, Any]
) -> None:
    assert compute_of(with_table(**told), **given) == Compute(**found)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"worker": 2}, "unknown key 'worker'; did you mean 'workers'"),
        ({"workers": "two"}, "compute.workers must be a whole number"),
        ({"cluster": "nowhere"}, "cluster must be HOST:PORT of its head, auto, or local:N"),
        ({"cluster": "auto", "workers": 2}, "with a cluster its nodes say how many jobs run at once"),
    ],
)
def test_what_is_wrong_with_it_is_said_with_all_else_that_is_wrong(
    table: dict[str, Any], problem: str
) -> None:
    wrong = with_table(**table) | {"rounds": 0}
    assert compute_of(wrong) == Compute()
    with pytest.raises(InvalidValue) as refused:
        from_content(wrong)
    assert problem in str(refused.value)
    assert "rounds" in str(refused.value)


def test_it_cannot_vary() -> None:
    for make in (
        lambda: read_sweep({**CONTENT, "sweep": {"compute.workers": [1, 2]}}),
        lambda: Axis.parse("compute.workers=1,2"),
    ):
        with pytest.raises(InvalidValue, match=r"compute cannot vary, .* got compute\.workers"):
            make()


def test_a_file_has_it_as_a_table() -> None:
    assert parse(f"{TEXT}\n[compute]\nworkers = 3\n").compute.workers == 3
