from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedward.api.records import Weights
from fedward.base.validate import InvalidValue
from fedward.models.weights_file import About

ABOUT = About(
    model={"name": "mlp"},
    data={"name": "digits", "digest": "f00d"},
    training={"learning_rate": 0.1},
    start="c0ffee",
    seed=1,
    epochs=2,
    wanted=2,
    accuracy=(0.5, 0.75),
    versions={"fedward": "1"},
)


def test_weights_are_saved_and_drawn(tmp_path: Path) -> None:
    weights = Weights(path=Path("w.pt"), about=ABOUT)
    weights.save(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(encoding="utf8") == "epoch,accuracy\n1,0.5\n2,0.75\n"
    weights.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf8"))["accuracy"] == [0.5, 0.75]
    assert [(point.x, point.y) for point in weights.plot("paper").data] == [(1, 0.5), (2, 0.75)]
    assert repr(weights).startswith("Weights('w.pt': ")
    with pytest.raises(InvalidValue, match=r"ends in \.json, \.csv"):
        weights.save(tmp_path / "x.html")
