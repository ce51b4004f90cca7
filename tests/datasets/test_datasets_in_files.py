"""The ``[data]`` table of an experiment file reaches every data set, and the page on data names each."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.config.docstrings import arguments
from fedward.config.experiment import Experiment, from_content
from fedward.config.part_source import read_parts
from fedward.datasets import DATASETS, PROPERTIES

PAGE = Path(__file__).parents[2] / "docs" / "data.md"

OPTIONS: dict[str, dict[str, Any]] = {
    "cifar10": {"classes": [0, 2], "users": 10, "standardise": True},
    "cifar100": {"split": "dirichlet", "alpha": 0.5},
    "digits": {"users": 10},
    "emnist": {"classes": [1, 7]},
    "fashion_mnist": {"users": 3},
    "image_folder": {"folder": "pets", "size": [32, 32], "colour": "grey", "split": "iid"},
    "lfw": {"split": "iid", "users": 2, "source": "images"},
    "mnist": {"split": "natural"},
    "next_word": {"file": "shakespeare/roles.jsonl", "words": 500, "vocabulary": "training"},
    "sentiment140": {"at_least": 10, "test": "tweets", "test_share": 0.1, "longest": 25},
    "synthetic": {"users": 5},
    "table": {"file": "some.csv", "features": ["age", "height"]},
}


def experiment(data: dict[str, Any]) -> Experiment:
    local = {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1}
    algorithm = {"preset": "fedavg", "sampler": {"name": "everyone"}, "local": local}
    return from_content(
        {
            "seed": 1,
            "rounds": 1,
            "data": data,
            "model": {"name": "logistic_regression"},
            "algorithm": algorithm,
        }
    )


@pytest.mark.parametrize("name", DATASETS)
def test_an_experiment_file_can_name_it_with_its_options(name: str) -> None:
    section = experiment({"name": name, **OPTIONS[name]}).data
    for option, value in OPTIONS[name].items():
        found = getattr(section, option)
        assert (list(found) if isinstance(found, tuple) else found) == value
    with pytest.raises(InvalidValue, match="unknown key 'usres'"):
        experiment({"name": name, **OPTIONS[name], "usres": 3})


@pytest.mark.parametrize("name", DATASETS)
def test_every_option_is_documented_and_only_the_seed_comes_from_elsewhere(name: str) -> None:
    said = arguments(read_parts("fedward.datasets", "DATASETS")[name].docstrings)
    for option, parameter in inspect.signature(DATASETS[name]).parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert said[option].endswith("."), option


@pytest.mark.parametrize("name", sorted(set(DATASETS) - {"digits", "synthetic"}))
@pytest.mark.usefixtures("no_internet")
def test_what_is_not_there_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as caught:
        experiment({"name": name, **OPTIONS[name]}).load_data(tmp_path)
    assert isinstance(caught.value, FileNotFoundError)
    assert str(tmp_path) in str(caught.value)


def test_the_data_directory_of_the_command_is_used(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("user,label,age,height\n" + "a,0,1,2\nb,1,3,4\nc,1,5,6\n")
    federation = experiment({"name": "table", **OPTIONS["table"]}).load_data(tmp_path)
    assert federation.num_users == 2


def test_properties_take_the_arguments_of_their_loader() -> None:
    for name, properties in PROPERTIES.items():
        wanted = inspect.signature(DATASETS[name]).parameters.keys()
        assert wanted <= inspect.signature(properties).parameters.keys()


def test_the_page_names_every_data_set_and_its_tables_are_valid() -> None:
    text = PAGE.read_text(encoding="utf8")
    for name in DATASETS:
        assert re.search(rf"^\| `{name}` \|", text, flags=re.MULTILINE), name
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        experiment(tomllib.loads(block)["data"])


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    i = np.arange(30)
    x = np.zeros((30, 48, 48, 3), dtype=np.uint8)
    known = {"users": i // 3, "race_id": i % 2, "y": i % 2, "x": x}
    arrays: dict[str, Any] = {
        f"{key}_{part}": value for key, value in known.items() for part in ("train", "test")
    }
    (tmp_path / "lfw").mkdir()
    np.savez(tmp_path / "lfw" / "lfw48.npz", races=np.array(["white", "black"]), **arrays)
    monkeypatch.setenv("FEDWARD_DATA", str(tmp_path))
    names: dict[str, Any] = {}
    for block in re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf8"), flags=re.DOTALL | re.M
    ):
        exec(compile(block, PAGE.name, "exec"), names)
    assert len(names["black"]) == len(names["federation"].examples)
