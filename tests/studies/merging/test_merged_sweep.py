from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.base.validate import InvalidValue
from tiny_experiment import CONTENT


def sweep(out: Path, **more: Any) -> None:
    fedward.sweep(
        CONTENT,
        vary={"algorithm.noise_multiplier": [1.0, 2.0, 4.0, 8.0]},
        seeds=3,
        out=out,
        compute=fedward.Compute(workers=0),
        quiet=True,
        **more,
    )


@pytest.mark.parametrize("name", ["part.json", "swept.json", "*/model.pt"])
def test_a_part_that_is_damaged_is_refused(tmp_path: Path, name: str) -> None:
    for start in (0, 6):
        sweep(tmp_path / f"part-{start}", range=f"{start}:{start + 6}")
    (file,) = list((tmp_path / "part-0").glob(name))[:1]
    file.write_bytes(file.read_bytes() + b" ")
    told = rf"{file.name} is damaged \(not as it was written\)"
    with pytest.raises(InvalidValue, match=told):
        fedward.merge([tmp_path / "part-0", tmp_path / "part-6"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    if name != "*/model.pt":
        with pytest.raises(InvalidValue, match=told):
            sweep(tmp_path / "part-0", range="0:6")


def test_twelve_experiments_in_four_parts_have_the_same_bytes(tmp_path: Path) -> None:
    sweep(tmp_path / "whole")
    parts = []
    for start in range(0, 12, 3):
        parts.append(tmp_path / f"part-{start}")
        sweep(parts[-1], range=f"{start}:{start + 3}")
    with pytest.raises(InvalidValue, match="got a gap of 3:6 before"):
        fedward.merge([parts[0], *parts[2:]], tmp_path / "merged")
    fedward.merge(parts[::-1], tmp_path / "merged")
    fedward.merge(parts, tmp_path / "merged")  # killed or not, it goes on
    sweep(tmp_path / "merged")
    files = [each for each in (tmp_path / "whole").rglob("*") if each.is_file() and each.suffix]
    assert len(files) > 12 * 5
    for each in files:
        other = tmp_path / "merged" / each.relative_to(tmp_path / "whole")
        if each.name not in ("run.json", "digests.jsonl", "sweep.png"):  # which say when, and where
            assert each.read_bytes() == other.read_bytes(), each.name
    assert (tmp_path / "merged" / "sweep.csv").read_bytes() == (tmp_path / "whole" / "sweep.csv").read_bytes()
