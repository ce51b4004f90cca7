from __future__ import annotations

import gzip
import itertools
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pooch
import pytest
from filelock import FileLock

from fedward.rundir import damage

# Starting worker processes takes seconds: tests of them ask for them.
os.environ["FEDWARD_WORKERS"] = "0"

# No test may fail because the machine was slow, and none by chance from one run to the next.
hypothesis.settings.register_profile(
    "fedward",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fedward")

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, url: str, *args: Any, **kwargs: Any) -> None:
        # Not an OSError: the code under test would take that for a failed download.
        raise AssertionError(f"a test tried to download {url}")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", refuse)


@pytest.fixture(scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New directories. ``mktemp`` would look through all that it has made, before each test."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_cache(_caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the cache of whoever runs it."""
    cache = next(_caches)
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


@pytest.fixture
def edited_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests are not compared: a test of what readers themselves find in files that it has edited.

    An editor could renew the digests; that edits are noticed without that is tested with the digests.
    """
    monkeypatch.setattr(damage, "find_damage", lambda *_, **__: (damage.NO_DIGESTS, []))


@pytest.fixture(scope="session")
def real_mnist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the whole of MNIST, shared by all workers of pytest-xdist."""
    script = SHARED_DATA / "export.py"
    if not script.is_file():
        pytest.skip("the shared data with the real MNIST is not beside this repository")
    common = tmp_path_factory.getbasetemp()
    if common.name.startswith("popen-"):
        common = common.parent
    folder, done = common / "real-mnist", common / "real-mnist-done"
    with FileLock(common / "real-mnist.lock"):
        if not done.exists():
            subprocess.run(
                [sys.executable, "-B", str(script), str(folder), "mnist"], check=True, capture_output=True
            )
            done.touch()
    return folder


def idx_bytes(array: np.ndarray[Any, Any]) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def write_idx() -> Callable[..., Path]:
    """Writes an array as an IDX file; packed if the name says so."""

    def write(path: Path, array: np.ndarray[Any, Any]) -> Path:
        data = idx_bytes(array)
        path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)
        return path

    return write


@pytest.fixture
def small_mnist(tmp_path: Path, write_idx: Callable[..., Path]) -> Path:
    """A data directory in MNIST's form: 60 training and 20 test digits by 6 writers."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, size in (("train", 60), ("t10k", 20)):
        write_idx(raw / f"{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (size, 28, 28)))
        write_idx(raw / f"{part}-labels-idx1-ubyte.gz", np.arange(size) % 10)
    np.save(raw / "train-writers.npy", 100 + np.arange(60, dtype=np.int16) // 10)
    return tmp_path


@pytest.fixture(scope="session")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of ``fedward infer membership``; not to be changed."""
    from studies.inferred import membership

    return membership(tmp_path_factory.mktemp("members"))


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of ``fedward infer property``; not to be changed."""
    from studies.inferred import property_of

    return property_of(tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="session")
def cluster_address() -> Iterator[str]:
    """The address of two nodes that all tests share; tests of it belong to one group (``needs_ray``)."""
    from raylets import two_nodes

    with two_nodes() as address:
        yield address
