from __future__ import annotations

import numpy as np
import pytest
import torch

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import AllRows, FLTrust, Krum
from fedward.base.validate import InvalidType, InvalidValue


def test_the_result_is_that_of_the_definition() -> None:
    rows, users = normal_rows(7, 5), (2, 3, 5, 6, 8, 9, 11)
    result, memory = watch(FLTrust(root=5), rows, users=users)
    wide = torch.stack(rows).double().numpy()
    root, others = wide[2], np.delete(wide, 2, axis=0)
    trust = [max(0.0, row @ root / np.linalg.norm(row) / np.linalg.norm(root)) for row in others]
    scaled = [row * np.linalg.norm(root) / np.linalg.norm(row) for row in others]
    assert np.allclose(result, sum(t * row for t, row in zip(trust, scaled, strict=True)) / sum(trust))
    assert memory == ()


def test_no_row_counts_more_than_the_root_is_long_and_opposite_ones_not_at_all() -> None:
    root = torch.tensor([1.0, 0.0])
    result, _ = watch(FLTrust(root=0), [root, torch.tensor([3e38, 0.0]), torch.tensor([-1.0, 9.0])])
    assert torch.allclose(result, root.double())


@pytest.mark.parametrize("row", [[-1.0, 0.0], [0.0, 0.0]])
def test_a_round_without_trust_leaves_the_model(row: list[float]) -> None:
    rows = [torch.tensor([1.0, 0.0]), torch.tensor(row)]
    assert torch.equal(watch(FLTrust(root=0), rows)[0], torch.zeros(2, dtype=torch.float64))
    assert not watch(FLTrust(root=7), rows)[0].any()


def test_the_root_user_is_a_user() -> None:
    assert FLTrust(root=3).root_user == AllRows(rule=FLTrust(root=3)).root_user == 3
    assert AllRows(rule=Krum(malicious=1)).root_user is None
    with pytest.raises(InvalidValue, match="root user must be at least 0, got -1"):
        FLTrust(root=-1)
    with pytest.raises(InvalidType, match="root user must be a whole number"):
        FLTrust(root="ann")  # type: ignore[arg-type]
