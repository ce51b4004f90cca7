from __future__ import annotations

import importlib
import linecache
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from fedward.base.validate import InvalidValue
from fedward.config.code_digest import code_digest, is_own
from fedward.sampling import PoissonSampler


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    sys.path.insert(0, str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in set(sys.modules) - before:
        del sys.modules[name]


def load(place: Path, files: dict[str, str], name: str) -> Any:
    """A class of these files, imported anew."""
    for file, text in files.items():
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).write_text(text)
        sys.modules.pop(file.removesuffix(".py").replace("/", "."), None)
    for cached in place.rglob("__pycache__"):
        for each in cached.iterdir():
            each.unlink()
    importlib.invalidate_caches()
    linecache.clearcache()
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def test_a_class_of_ours_or_of_a_library_is_not_own(place: Path) -> None:
    assert not any(map(is_own, (PoissonSampler, nn.Linear, dict, Path)))
    assert is_own(load(place, {"digest_a.py": "class A: ..."}, "digest_a:A"))


def test_the_digest_changes_with_the_file_and_with_what_it_imports_beside_it(place: Path) -> None:
    files = {"digest_b.py": "from digest_c import C\nclass B(C): ...", "digest_c.py": "class C:\n    x = 1"}
    first = code_digest(load(place, files, "digest_b:B"))
    assert code_digest(load(place, files, "digest_b:B")) == first
    assert code_digest(load(place, files | {"digest_c.py": "class C:\n    x = 2"}, "digest_b:B")) != first
    assert code_digest(load(place, files | {"digest_b.py": files["digest_b.py"] + "\ny = 1"}, "digest_b:B"))
    other = {**files, "digest_unused.py": "z = 1"}
    assert code_digest(load(place, other, "digest_b:B")) == first


def test_modules_of_the_same_package_count(place: Path) -> None:
    files = {
        "digest_p/__init__.py": "",
        "digest_p/models.py": "from digest_p import layers\nclass Net:\n    layer = layers.L",
        "digest_p/layers.py": "class L: ...",
    }
    first = code_digest(load(place, files, "digest_p.models:Net"))
    changed = files | {"digest_p/layers.py": "class L:\n    wide = True"}
    assert code_digest(load(place, changed, "digest_p.models:Net")) != first


MAIN = """
from fedward.config.code_digest import code_digest
RATE = {rate}
def half(x):
    return x / {half}
class Net:
    def forward(self, x):
        return RATE * half(x)
class Other:
    text = "{other}"
digest = code_digest(Net)
"""


@pytest.mark.parametrize(
    ("changes", "same"),
    [({}, True), ({"other": "new"}, True), ({"rate": 3}, False), ({"half": 4}, False)],
)
def test_a_program_may_change_where_its_parts_do_not_look(
    changes: dict[str, Any], same: bool, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"rate": 2, "half": 2, "other": "old"}
    found = []
    for each in (values, values | changes):
        (tmp_path / "program.py").write_text(MAIN.format(**each))
        linecache.clearcache()
        found.append(runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")["digest"])
    assert (found[0] == found[1]) is same


def test_code_without_a_source_is_refused() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("class Net:\n    pass", space)
    with pytest.raises(InvalidValue, match="the source of Net cannot be read"):
        code_digest(space["Net"])
