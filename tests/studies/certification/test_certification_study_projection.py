"""Free post-processing in a certificate: the same ε and k, and every public subspace declared."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from fedward.base.validate import InvalidValue
from fedward.features import feature_directions

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 1,
    "data": {
        "name": "synthetic",
        "users": 30,
        "examples": 5,
        "features": 6,
        "classes": 3,
        "test_examples": 20,
    },
    "model": {"name": "linear_head"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 5.0,
        "sampler": {"name": "everyone"},
        "local": {"name": "class_means"},
    },
    "privacy": {"users": 30, "delta": 1e-4},
}


def with_server(**server: Any) -> dict[str, Any]:
    content = copy.deepcopy(CONTENT)
    content["algorithm"]["server"] = server
    return content


def certified(content: dict[str, Any], out: Path) -> dict[str, Any]:
    fedward.certify(content, replicas=20, score="vote", threats=["inject"], out=out, quiet=True)
    found: dict[str, Any] = json.loads((out / "certificate.json").read_text())
    return found


@pytest.mark.parametrize(
    "server", [{"name": "averaging"}, {"name": "shrinkage", "noise_std": 0.1, "threshold": 1.0}]
)
def test_what_costs_nothing_changes_no_guarantee(tmp_path: Path, server: dict[str, Any]) -> None:
    plain = certified(CONTENT, tmp_path / "plain")
    free = certified(with_server(**server), tmp_path / "free")
    assert free["setting"]["ledger"] == plain["setting"]["ledger"]
    assert free["releasing_all"] == plain["releasing_all"]


def test_a_public_subspace_is_declared_and_changes_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "directions.npy"
    federation = fedward.datasets.synthetic.load(users=30, examples=5, features=6, classes=3, seed=7)
    assert isinstance(federation.examples.x, torch.Tensor)
    np.save(file, feature_directions(federation.examples.x, rank=3))
    content = with_server(name="projection", directions=str(file), source="other people")
    plain = certified(CONTENT, tmp_path / "plain")
    found = certified(content, tmp_path / "projected")
    ledger, before = found["setting"]["ledger"], plain["setting"]["ledger"]
    declared = ledger["terms"].pop("public")
    before["terms"].pop("public", None)
    assert ledger["entries"] == before["entries"]
    assert ledger["terms"] == before["terms"]
    assert declared["subspace"].startswith("other people (directions.npy, ")
    text = json.dumps(found)
    assert "a public subspace fitted without labels to other people (directions.npy, " in text

    np.save(file, np.eye(6))
    with pytest.raises(InvalidValue, match="public_directions"):
        certified(content, tmp_path / "projected")


def test_directions_of_another_length_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    np.save(tmp_path / "directions.npy", np.eye(5))
    content = with_server(name="projection", directions=str(tmp_path / "directions.npy"))
    with pytest.raises(InvalidValue, match="divide it evenly, got 5"):
        certified(content, tmp_path / "out")
    assert not (tmp_path / "out").exists()
