from __future__ import annotations

import torch

from attacks.model_poisoning.seen_rows import seen
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.core.types import Sight


def test_it_is_computed_once_for_a_part_and_a_sight() -> None:
    calls: list[str] = []

    def compute(name: str) -> str:
        calls.append(name)
        return name

    one, other = seen(), seen()
    for sight in (one, one, other):
        assert agreed("part", sight, lambda: compute("first")) == "first"
    assert agreed("another part", one, lambda: compute("second")) == "second"
    assert calls == ["first", "first", "second"]


def test_where_no_attacker_has_a_row_nothing_is_shared() -> None:
    sight = Sight(round=0, parameters=torch.zeros(1), bounds=(), own={})
    assert agreed("part", sight, lambda: 1) == 1
    assert agreed("part", sight, lambda: 2) == 2


def test_what_was_agreed_goes_with_the_sight_of_the_round() -> None:
    one, other = seen(), seen()
    assert agreed("part", one, lambda: 1) == 1
    assert one.agreed == {"part": 1}
    assert other.agreed == {}


def test_what_is_sent_is_a_copy() -> None:
    row = torch.ones(3, dtype=torch.float64)
    as_sent(row, torch.zeros(3, dtype=torch.float64)).zero_()
    assert torch.equal(row, torch.ones(3, dtype=torch.float64))
    assert as_sent(row, torch.zeros(3)).dtype == torch.float32
