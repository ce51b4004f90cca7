from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedward
from fedward.base.validate import InvalidValue
from fedward.rundir.blocks_ahead import write_ahead
from fedward.rundir.part_record import PartRecord
from fedward.rundir.run_files import RunFiles
from fedward.studies.merging import merged_replicas
from fedward.studies.replicas.replica_results import load_replicas
from tiny_experiment import CONTENT

IN_PROCESS = fedward.Compute(workers=0)
M = 8


def certify(out: Path, part: str | None = None, save_space: bool = False) -> None:
    fedward.certify(
        CONTENT, replicas=M, range=part, out=out, save_space=save_space, compute=IN_PROCESS, quiet=True,
        score="vote" if save_space else "confidence",
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certification in one go, and in four parts; not to be changed."""
    folder = tmp_path_factory.mktemp("parts")
    certify(folder / "whole")
    for start in range(0, M, 2):
        certify(folder / f"part-{start}", f"{start}:{start + 2}")
    return folder


def four(folder: Path) -> list[Path]:
    return [folder / f"part-{start}" for start in (4, 0, 6, 2)]


def test_a_certification_in_four_parts_has_the_same_bytes(parts: Path, tmp_path: Path) -> None:
    fedward.merge(four(parts), tmp_path / "merged")
    certify(tmp_path / "merged")
    for name in (
        "certificate.json",
        "certificate-scores.npz",
        "certified.json",
        "claims.json",
        "ledgers.json",
    ):
        assert (tmp_path / "merged" / name).read_bytes() == (parts / "whole" / name).read_bytes(), name
    told = [json.loads((path / "result.json").read_text()) for path in (parts / "whole", tmp_path / "merged")]
    # Every part trains the first round for itself.
    assert told[0].pop("jobs_run") < told[1].pop("jobs_run")
    assert told[0] == told[1]


def test_running_sums_in_parts_are_those_of_one_go(tmp_path: Path) -> None:
    certify(tmp_path / "whole", save_space=True)
    for start in (0, 5):
        certify(tmp_path / f"part-{start}", f"{start}:{5 if start == 0 else M}", save_space=True)
    fedward.merge([tmp_path / "part-0", tmp_path / "part-5"], tmp_path / "merged")
    found = [dict(np.load(tmp_path / name / "sums.npz")) for name in ("whole", "merged")]
    for key, array in found[0].items():
        assert key == "run" or np.array_equal(array, found[1][key]), key


def test_a_merge_that_was_killed_goes_on(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, done = tmp_path / "merged", 0

    def killed(*given: Any) -> None:
        nonlocal done
        done += 1
        if done == 3:
            raise KeyboardInterrupt
        write_ahead(*given)

    monkeypatch.setattr(merged_replicas, "write_ahead", killed)
    with pytest.raises(KeyboardInterrupt):
        fedward.merge(four(parts), out)
    fedward.merge(four(parts), out)
    assert np.array_equal(load_replicas(out, "all").scores, load_replicas(parts / "whole", "all").scores)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ([4, 0, 2], "must be all there are, got a gap of 6:8 at the end"),
        ([0, 6, 2], "got a gap of 4:6 before .*part-6"),
        ([2, 4, 6], "got a gap of 0:2 before .*part-2"),
        ([0, 0, 2, 4, 6], "one directory twice"),
    ],
)
def test_gaps_are_refused(parts: Path, tmp_path: Path, chosen: list[int], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        fedward.merge([parts / f"part-{start}" for start in chosen], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_overlaps_are_refused(parts: Path, tmp_path: Path) -> None:
    certify(tmp_path / "part-1", "1:3")
    with pytest.raises(InvalidValue, match=r"got an overlap of 1:2 before .*part-1"):
        fedward.merge([*four(parts), tmp_path / "part-1"], tmp_path / "merged")


def changed(parts: Path, tmp_path: Path, **keys: object) -> list[Path]:
    """The parts, one of which has another manifest."""
    copy = tmp_path / "part-2"
    shutil.copytree(parts / "part-2", copy)
    content = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(content | keys))
    RunFiles(copy).renew()
    return [*(parts / f"part-{start}" for start in (0, 4, 6)), copy]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"engine": "native engine, avx2"}, "parts must have the same bits, got .* and native engine, avx2"),
        ({"versions": {"torch": "1.0"}}, "parts must have the same bits, got .* torch .* and 1.0"),
        ({"went_on": [{"engine": "other", "versions": {}}]}, "part-2, which went on with others"),
    ],
)
def test_other_bits_are_refused(parts: Path, tmp_path: Path, keys: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        fedward.merge(changed(parts, tmp_path, **keys), tmp_path / "merged")


@pytest.mark.parametrize("name", ["part.json", "ahead-000002-000004.npz", "claims.json"])
def test_a_part_that_is_damaged_is_refused(parts: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "part-2"
    shutil.copytree(parts / "part-2", copy)
    content = bytearray((copy / name).read_bytes())
    content[content.index(b"2")] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(InvalidValue, match=rf"part-2/{name} is damaged \(not as it was written\)"):
        fedward.merge([*(parts / f"part-{start}" for start in (0, 4, 6)), copy], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_another_experiment_is_refused(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "part-2"
    content = {**CONTENT, "seed": 2}
    fedward.certify(content, replicas=M, range="2:4", out=out, compute=IN_PROCESS, quiet=True)
    with pytest.raises(InvalidValue, match=r"holds another run: .*seed"):
        fedward.merge([*(parts / f"part-{start}" for start in (0, 4, 6)), out], tmp_path / "merged")


def test_other_claims_are_refused(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "part-2"
    fedward.certify(CONTENT, replicas=M, error=0.05, range="2:4", out=out, compute=IN_PROCESS, quiet=True)
    with pytest.raises(InvalidValue, match=r"parts must be of one draw"):
        fedward.merge([*(parts / f"part-{start}" for start in (0, 4, 6)), out], tmp_path / "merged")


def test_a_part_that_is_not_finished_is_refused(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts / "part-2", tmp_path / "part-2")
    next((tmp_path / "part-2").glob("ahead-*")).unlink()
    RunFiles(tmp_path / "part-2").renew()
    folders = [*(parts / f"part-{start}" for start in (0, 4, 6)), tmp_path / "part-2"]
    with pytest.raises(InvalidValue, match=r"must be finished, got no replicas 2:4: give its command again"):
        fedward.merge(folders, tmp_path / "merged")


def test_what_is_no_part_is_refused(parts: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"got one without part\.json"):
        fedward.merge([parts / "part-0", parts / "whole"], tmp_path / "merged")
    with pytest.raises(InvalidValue, match=r"out must be a directory of its own"):
        fedward.merge(four(parts), parts / "part-0")


def test_a_part_does_not_go_on_as_another_or_as_a_whole(parts: Path) -> None:
    for part, told in (("0:3", "--range 0:3 of 8"), (None, "all of it")):
        with pytest.raises(InvalidValue, match=f"must be of {told}, got the directory of part 0:2 of 8"):
            certify(parts / "part-0", part)
    with pytest.raises(InvalidValue, match=r"must be of --range 0:2 of 8, got the directory of a whole"):
        certify(parts / "whole", "0:2")


@pytest.mark.parametrize("text", ["", "3", "2:2", "3:2", "0:9", "-1:2", "a:b", "0:4:8"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"range must be A:B with A below B and B at most 8, got"):
        PartRecord.parse(text, 8)
