from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pooch
import pytest
from filelock import FileLock

SHARED_DATA = Path(__file__).parents[2].parent / "shared" / "data"

Serve = Callable[[dict[str, bytes]], list[str]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Lets pooch take files from memory, with its own checks; gives the list of addresses it asked for."""

    def start(files: dict[str, bytes]) -> list[str]:
        asked: list[str] = []

        def answer(self: Any, url: str, output_file: str, *args: Any, **kwargs: Any) -> None:
            asked.append(url)
            Path(output_file).write_bytes(files[url.rpartition("/")[2]])

        monkeypatch.setattr(pooch.HTTPDownloader, "__call__", answer)
        return asked

    return start


@pytest.fixture
def no_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)


@pytest.fixture(scope="session")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A data directory with a real data set, written once for all workers of pytest-xdist."""
    common = tmp_path_factory.getbasetemp()
    if common.name.startswith("popen-"):
        common = common.parent

    def export(name: str) -> Path:
        script = SHARED_DATA / "export.py"
        if not script.is_file():
            pytest.skip(f"the shared data with the real {name} is not beside this repository")
        folder, done = common / "real-data", common / f"real-{name}-done"
        with FileLock(common / f"real-{name}.lock"):
            if not done.exists():
                subprocess.run(
                    [sys.executable, "-B", str(script), str(folder), name], check=True, capture_output=True
                )
                done.touch()
        return folder

    return export
