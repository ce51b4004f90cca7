"""The build of the native engine: what is installed where it cannot be compiled."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fedward.backends.engines import native

ROOT = Path(__file__).parents[4]
CPP = "src/fedward/backends/engines/native/cpp"
NO_COMPILER = {"CC": "false", "CXX": "false"}
Built = tuple[Path, str]

# Building installs nothing: what the build needs must be there.
pytestmark = [
    pytest.mark.skipif(not (ROOT / "setup.py").is_file(), reason="the sources are not here"),
    *(
        pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")
        for name in ("setuptools", "pybind11")
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the package is built from: a build writes beside its sources."""
    copy = tmp_path / "project"
    compiled = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", copy / "src", ignore=compiled)
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "tools", copy / "tools", ignore=compiled)
    return copy


@pytest.fixture
def build(project: Path, tmp_path: Path) -> Callable[..., Built]:
    """Builds what pip asks for, in pip's words, and gives the file and what was said."""

    def run(what: str, **variables: str) -> Built:
        out = tmp_path / what
        out.mkdir()
        said = _python(f"from setuptools import build_meta as b; b.{what}({str(out)!r})", project, variables)
        (file,) = out.iterdir()
        return file, said

    return run


def _python(code: str, folder: Path, variables: dict[str, str]) -> str:
    return _run([sys.executable, "-c", code], folder, variables)


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FEDWARD_")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **variables}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_without_a_compiler_the_package_is_installed_and_says_that_it_has_no_engine(
    build: Callable[..., Built], tmp_path: Path
) -> None:
    wheel, said = build("build_wheel", **NO_COMPILER)
    assert "the native engine was not compiled: " in said
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    found = _python(
        "import fedward, torch\n"
        "from fedward.backends.engines import native\n"
        "assert not native.available()\n"
        "print(fedward.__file__)\n"
        "print(native.why_not(torch.nn.Linear(2, 2), (2,)))",
        tmp_path,
        {"PYTHONPATH": str(site)},
    )
    assert str(site) in found
    assert "not compiled" in found
    assert "circular" not in found


def test_the_engine_can_be_left_out(build: Callable[..., Built]) -> None:
    wheel, said = build("build_wheel", FEDWARD_NO_NATIVE="1")
    assert "the native engine was not compiled: FEDWARD_NO_NATIVE is set." in said
    names = zipfile.ZipFile(wheel).namelist()
    assert "fedward/backends/engines/native/_engine.pyi" in names
    assert not [name for name in names if "_engine." in name and not name.endswith(".pyi")]


def test_an_engine_from_other_sources_does_not_stay_when_the_compiler_fails(project: Path) -> None:
    old = project / f"src/fedward/backends/engines/native/_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    old.write_bytes(b"an engine from before")
    _run([sys.executable, "setup.py", "build_ext", "--inplace"], project, NO_COMPILER)
    assert not old.exists()


def test_the_sources_go_out_with_the_source_distribution_and_not_with_the_wheel(
    build: Callable[..., Built],
) -> None:
    archive, _ = build("build_sdist", **NO_COMPILER)
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    sources = {f"{CPP}/{path.name}" for path in (ROOT / CPP).iterdir()}
    assert {f"{CPP}/module.cpp", f"{CPP}/kernels.inl", f"{CPP}/kernels.h"} <= sources
    assert sources <= names
    wheel, _ = build("build_wheel", **NO_COMPILER)
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "/cpp/" in name]


@pytest.mark.skipif(bool(os.environ.get("FEDWARD_NO_NATIVE")), reason="FEDWARD_NO_NATIVE is set")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")
@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="there are no headers of Python"
)
def test_where_there_is_a_compiler_the_engine_was_compiled() -> None:
    assert native.available()
