from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.server import ServerProjection

RNG = np.random.default_rng(0)


def saved(folder: Path, rows: Any, name: str = "directions.npy") -> str:
    np.save(folder / name, rows)
    return str(folder / name)


def moved(server: ServerProjection, mean: torch.Tensor) -> torch.Tensor:
    parameters = torch.zeros_like(mean)
    return server.step(parameters, mean, server.init(parameters))[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_what_lies_in_the_subspace_stays_and_the_rest_goes(rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((rank, 6)) * rng.uniform(0.1, 10, (rank, 1))
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProjection(directions=saved(Path(folder), rows))
        inside = torch.from_numpy(rng.standard_normal(rank) @ rows)
        torch.testing.assert_close(moved(server, inside), inside)
        any_mean = torch.from_numpy(rng.standard_normal(6))
        rest = any_mean - moved(server, any_mean)
        torch.testing.assert_close(torch.from_numpy(rows) @ rest, torch.zeros(rank, dtype=torch.float64))


def test_every_stretch_of_a_longer_model_is_projected_alike(tmp_path: Path) -> None:
    server = ServerProjection(directions=saved(tmp_path, [[1.0, 0.0], [2.0, 0.0]]), learning_rate=2.0)
    assert moved(server, torch.tensor([1.0, 5.0, -3.0, 7.0])).tolist() == [2.0, 0.0, -6.0, 0.0]


def test_only_a_share_of_the_noise_stays(tmp_path: Path) -> None:
    server = ServerProjection(directions=saved(tmp_path, RNG.standard_normal((5, 500))))
    noise = torch.randn(500, generator=torch.manual_seed(0), dtype=torch.float64)
    assert float(moved(server, noise).norm() ** 2) < 15  # 5 expected, of 500


def test_the_file_stands_in_the_declaration(tmp_path: Path) -> None:
    file = saved(tmp_path, np.eye(2))
    server = ServerProjection(directions=file, source="digits of 2010", source_labels=True)
    assert server.public_source.startswith("digits of 2010 (directions.npy, ")
    assert server.public_labels
    before = server.public_digest
    saved(tmp_path, np.eye(3))
    assert server.public_digest != before


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((2, 2)), "not all 0"),
        (np.full((1, 2), np.nan), "finite"),
        (np.ones(4), "one table of floating point numbers"),
        (np.ones((2, 2), dtype=np.int64), "one table of floating point numbers"),
        (np.ones((1, 3)), "must be as long as the model of 4 parameters, or divide it evenly, got 3"),
    ],
)
def test_directions_that_fit_no_model_are_refused(tmp_path: Path, rows: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        ServerProjection(directions=saved(tmp_path, rows)).init(torch.zeros(4))


def test_files_that_are_no_directions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"cannot be read: No such file"):
        ServerProjection(directions=str(tmp_path / "none.npy")).init(torch.zeros(4))
    (tmp_path / "text.npy").write_text("no numbers")
    with pytest.raises(InvalidValue, match=r"must be a \.npy file"):
        ServerProjection(directions=str(tmp_path / "text.npy")).init(torch.zeros(4))
    with pytest.raises(InvalidType, match="one line of text"):
        ServerProjection(directions="a", source="two\nlines")
