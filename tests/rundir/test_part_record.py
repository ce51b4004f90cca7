from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.damage import find_damage
from fedward.rundir.part_record import NAME, PartRecord, begin_part, read_part
from fedward.rundir.run_files import RunFiles

PART = PartRecord.parse("25:50", 100)


def test_what_a_part_is_of_has_a_digest(tmp_path: Path) -> None:
    begin_part(RunFiles(tmp_path), PART, begun=False)
    begin_part(RunFiles(tmp_path), PART, begun=True)
    digests, damage = find_damage(tmp_path, has_digests=True)
    assert (digests.checked, digests.adopted, damage) == (1, False, [])


def test_damage_is_named_before_any_other_difference(tmp_path: Path) -> None:
    begin_part(RunFiles(tmp_path), PART, begun=False)
    file = tmp_path / NAME
    file.write_text(file.read_text().replace("25", "26"))
    for part in (PART, read_part(tmp_path), None):
        with pytest.raises(InvalidValue, match=r"part\.json is damaged .* which replicas, or trainings"):
            begin_part(RunFiles(tmp_path), part, begun=True)


def test_a_part_that_was_lost_is_no_whole(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    begin_part(files, PART, begun=False)
    files.close()
    (tmp_path / NAME).unlink()
    with pytest.raises(InvalidValue, match=r"part\.json is missing"):
        begin_part(RunFiles(tmp_path), None, begun=True)


def test_a_directory_is_of_one_part(tmp_path: Path) -> None:
    begin_part(RunFiles(tmp_path), PART, begun=False)
    with pytest.raises(InvalidValue, match="must be of all of it, got the directory of part 25:50 of 100"):
        begin_part(RunFiles(tmp_path), None, begun=False)
    (tmp_path / "whole").mkdir()
    with pytest.raises(InvalidValue, match="must be of --range 25:50 of 100, got the directory of a whole"):
        begin_part(RunFiles(tmp_path / "whole"), PART, begun=True)


@pytest.mark.parametrize("text", ["", "5", "5:5", "7:5", "0:101", "-1:5", "a:b", "1:2:3"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="range must be A:B with A below B and B at most 100"):
        PartRecord.parse(text, 100)
