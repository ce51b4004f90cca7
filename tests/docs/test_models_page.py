"""What the page on models says is counted again."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import torch

from fedward.backends.engines.gram import is_linear
from fedward.backends.engines.native import available, why_not
from fedward.config import experiment as config
from fedward.config import pretraining_file
from fedward.core.parameters import ParameterSpec
from fedward.core.vocabulary import Vocabulary
from fedward.models import MODELS, TEXT_MODELS, build

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf8")
ROWS = {
    cells[0].strip("`"): cells[1:]
    for cells in (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line[:3] == "| `"
    )
}
TABLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def words(examples: str) -> Vocabulary:
    if found := re.search(r"vectors of (\d+) numbers", examples):
        return Vocabulary(("a", "b"), torch.zeros(2, int(found[1])))
    count = re.search(r"of ([\d,]+) words", examples)
    assert count is not None
    return Vocabulary(tuple(f"word{i}" for i in range(int(count[1].replace(",", "")))))


def test_every_model_has_a_row() -> None:
    assert ROWS.keys() == MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_row_has_the_models_numbers(name: str) -> None:
    examples, _, two, ten, engine, _ = ROWS[name]
    text = name in TEXT_MODELS
    found = re.search(r"(\d+) x (\d+) x (\d+)", examples)
    shape = () if text or found is None else tuple(map(int, found.groups()))
    for count, classes in ((two, 2), (ten, 10)):
        model = build(
            name,
            input_shape=shape,
            num_classes=classes,
            seed=0,
            vocabulary=words(examples) if text else None,
        )
        assert f"{ParameterSpec.of(model).size:,}" == count
    if available():
        native = "Gram form" if is_linear(model) else "generic" if why_not(model, shape) else "native"
        assert engine == native


def test_the_tables_on_the_page_are_valid() -> None:
    experiment = {
        "seed": 1,
        "rounds": 1,
        "data": {"name": "digits"},
        "algorithm": {
            "preset": "fedavg",
            "sampler": {"name": "everyone"},
            "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1},
        },
    }
    pretrainings = 0
    for table in map(tomllib.loads, TABLES):
        if "training" in table:
            pretraining_file.from_content(table)
            pretrainings += 1
        else:
            config.from_content(experiment | table)
    assert (len(TABLES), pretrainings) == (3, 1)
