from __future__ import annotations

from typing import Any

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.features.preparation import Preparation


def vectors(count: int = 200, width: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(count, width, generator=generator) * torch.tensor([9.0, 4.0, 1.0, 1.0, 0.1][:width]) + 3.0
    )


def test_whitening_takes_the_mean_off_and_makes_all_directions_alike() -> None:
    public = vectors(2000)
    fitted = Preparation(public_users=1, whiten=0.0).fit(public)
    assert fitted.directions is not None
    white = (public - fitted.mean) @ fitted.directions
    assert torch.allclose(white.mean(dim=0), torch.zeros(5), atol=1e-4)
    assert torch.allclose(white.T @ white / len(white), torch.eye(5), atol=1e-3)


def test_all_features_have_unit_length_and_depend_on_their_own_example_alone() -> None:
    public, mine = vectors(), vectors(60) + 1.0
    options: list[dict[str, Any]] = [{}, {"whiten": 0.1}, {"rank": 3}, {"neighbours": 8, "dimensions": 4}]
    for each in options:
        fitted = Preparation(public_users=2, **each).fit(public)
        found = fitted.apply(mine)
        assert torch.allclose(found.norm(dim=1), torch.ones(60), atol=1e-5)
        assert torch.allclose(fitted.apply(mine[7:8])[0], found[7], atol=1e-5)


def test_a_rank_keeps_the_directions_of_largest_public_variance() -> None:
    fitted = Preparation(public_users=1, rank=1).fit(vectors(2000))
    assert fitted.directions is not None
    assert abs(float(fitted.directions[0, 0])) > 0.99


def test_few_of_many_directions_are_those_that_all_of_them_begin_with() -> None:
    generator = torch.Generator().manual_seed(0)
    public = torch.randn(300, 40, generator=generator) @ torch.randn(40, 40, generator=generator)
    few, more = (Preparation(public_users=1, whiten=0.1, rank=rank).fit(public) for rank in (5, 6))
    assert few.directions is not None
    assert more.directions is not None
    assert torch.allclose(few.directions, more.directions[:, :5], atol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"whiten": 0.1}, "public_users must be at least 1"),
        ({"public_users": 1, "neighbours": 3}, "belong together"),
        ({"public_users": 1, "whiten": -1.0}, "whiten must"),
        ({"public_users": 1, "rank": 0}, "rank must"),
        ({"public_users": ("ann", "ann")}, "must be different users"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        Preparation(**wrong)


def test_more_directions_than_there_are_and_too_few_examples_for_a_graph_are_refused() -> None:
    with pytest.raises(InvalidValue, match="rank must be at most 5"):
        Preparation(public_users=1, rank=6).fit(vectors())
    with pytest.raises(InvalidValue, match="below the number of public examples, 9"):
        Preparation(public_users=1, neighbours=9, dimensions=2).fit(vectors(9))
