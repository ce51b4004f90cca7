"""Tests of what a run directory may hold."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.facts import read
from fedward.rundir.own_files import require_own_directory, require_own_files
from fedward.rundir.run_record import load
from fedward.rundir.store import open_run

# What a run directory may be prepared with by somebody who wants another file written over.
NAMES = (
    *(".lock", "run.json", "ledger.json", "users.json", "papers-ledger.json", "checkpoint.pt"),
    *(
        "rounds.jsonl",
        "telemetry.jsonl",
        "model.pt",
        "result.json",
        "block.pt",
        "sums.npz",
        "labels.npz",
        "ledgers.json",
    ),
)


def test_files_and_directories_of_the_owner_are_fine(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "a training").mkdir()
    require_own_files(tmp_path)
    require_own_directory(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_in_a_run_directory_is_refused_and_its_target_is_left_alone(tmp_path: Path, name: str) -> None:
    target, folder = tmp_path / "somebody's", tmp_path / "run"
    target.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(target)
    with pytest.raises(InvalidValue, match=f"got '{name}', which is a symbolic link"), open_run(folder):
        pass
    assert target.read_text() == "precious"
    assert (folder / name).is_symlink()


def test_a_link_that_leads_nowhere_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".lock").symlink_to(tmp_path / "made")
    with pytest.raises(InvalidValue, match="symbolic link"), open_run(folder):
        pass
    assert not (tmp_path / "made").exists()


def test_a_pipe_or_a_socket_is_refused_before_anybody_waits_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    os.mkfifo(folder / "ledger.json")
    with pytest.raises(InvalidValue, match="named pipe"):
        load(folder)
    assert "named pipe" in read(folder).note
    (folder / "ledger.json").unlink()
    place = os.getcwd()
    os.chdir(folder)  # the path of a socket may have a hundred characters only
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind("result.json")
            with pytest.raises(InvalidValue, match="a socket"):
                load(folder)
    finally:
        os.chdir(place)


def test_a_link_to_a_run_json_is_a_damaged_run_in_a_list(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text("{}")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").symlink_to(tmp_path / "elsewhere.json")
    found = read(folder)
    assert found.state == "damaged"
    assert "symbolic link" in found.note


def test_a_directory_that_is_reached_through_a_link_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with open_run(tmp_path / "link") as place:
        assert place.path == tmp_path / "link"


def _owned_by_another(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, 12345, 12345)


def test_a_file_of_another_owner_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    _owned_by_another(tmp_path / "run.json")
    with pytest.raises(InvalidValue, match="of another owner"):
        require_own_files(tmp_path)


def test_nothing_is_written_into_a_directory_of_another_owner(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    _owned_by_another(folder)
    with pytest.raises(InvalidValue, match="must be a directory of yours"), open_run(folder):
        pass
    assert list(folder.iterdir()) == []
    # Reading is another matter: a colleague's run may be looked at.
    require_own_files(folder)
