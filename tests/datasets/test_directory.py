from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pooch
import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets import DATASETS
from fedward.datasets.directory import MissingFile, data_directory, require_data_directory


def test_the_option_wins_over_the_variable_and_the_variable_over_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDWARD_DATA", str(tmp_path / "variable"))
    assert data_directory(tmp_path / "option") == tmp_path / "option"
    assert data_directory() == tmp_path / "variable"
    monkeypatch.delenv("FEDWARD_DATA")
    assert data_directory() == Path(pooch.os_cache("fedward"))


def test_an_empty_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWARD_DATA", "")
    assert data_directory() == Path(pooch.os_cache("fedward"))


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory("~/data") == tmp_path / "data"


def test_what_is_not_a_path_is_refused() -> None:
    with pytest.raises(InvalidType, match="data directory must be a path, got 3"):
        data_directory(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="data directory must be a path, got ''"):
        data_directory("")


LOADERS = {
    "cifar10": {},
    "cifar100": {},
    "emnist": {},
    "fashion_mnist": {},
    "image_folder": {"folder": "leaves"},
    "lfw": {},
    "mnist": {},
    "next_word": {},
    "sentiment140": {},
    "table": {"file": "mine.csv"},
}


def test_every_loader_that_reads_a_directory_is_tried_here() -> None:
    assert set(LOADERS) == {
        name for name, load in DATASETS.items() if "data_dir" in inspect.signature(load).parameters
    }


@pytest.mark.parametrize("way", ["argument", "variable"])
@pytest.mark.parametrize("name", LOADERS)
def test_a_directory_that_is_not_there_is_refused_and_never_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., list[str]], name: str, way: str
) -> None:
    """A slip of the pen in --data made a directory of that name and began to download into it."""
    asked = serve({})
    wrong = tmp_path / "data" / "sets"
    options = dict(LOADERS[name], seed=0)
    if way == "variable":
        monkeypatch.setenv("FEDWARD_DATA", str(wrong))
    else:
        options["data_dir"] = wrong
    told = " (FEDWARD_DATA says so)" if way == "variable" else ""
    with pytest.raises(MissingFile) as caught:
        DATASETS[name](**options)
    assert str(caught.value) == (
        f"data directory must be there, but there is no directory {wrong}{told}; it is never made by "
        "fedward: make it and put the files there, or name another by --data or FEDWARD_DATA"
    )
    assert list(tmp_path.iterdir()) == []
    assert asked == []


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingFile, match="there is no directory"):
        require_data_directory(tmp_path / "file")


def test_the_cache_of_a_user_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDWARD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert require_data_directory() == Path(pooch.os_cache("fedward"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("no_internet")
@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_a_download_that_fails_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with pytest.raises(MissingFile, match="no route to host"):
        DATASETS[name](data_dir=tmp_path, seed=0)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv("FEDWARD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(MissingFile, match="no route to host"):
        DATASETS[name](seed=0)
    assert list(tmp_path.iterdir()) == []
