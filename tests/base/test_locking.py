from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.locking import hold_lock
from fedward.base.validate import InvalidValue


def test_what_one_holds_nobody_else_gets_until_it_is_let_go(tmp_path: Path) -> None:
    file = tmp_path / "run" / ".lock"
    with (
        hold_lock(file, file.parent),
        pytest.raises(InvalidValue, match="run is in use by another process"),
        hold_lock(file, file.parent),
    ):
        raise AssertionError("two hold one lock")
    with hold_lock(file, file.parent):
        pass


def test_a_lock_that_is_a_link_is_refused_and_its_target_is_left_alone(tmp_path: Path) -> None:
    target, lock = tmp_path / "somebody's", tmp_path / ".lock"
    target.write_text("precious")
    lock.symlink_to(target)
    with pytest.raises(InvalidValue, match=r"\.lock must be a plain file"), hold_lock(lock, tmp_path):
        pass
    assert target.read_text() == "precious"
