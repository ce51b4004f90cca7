from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fedward as package
from command_line import answer
from config.tiny_arena import TEXT
from fedward.api.records import Arena

OWN = """
from dataclasses import dataclass

import torch
from fedward import presets
from fedward.attacks.attack_types import Conduct
from fedward.core.types import LocalTrainer, Sampler


@dataclass(frozen=True, kw_only=True)
class Silence:
    needs = "own"
    conduct = Conduct(needs_all_rows=False, discards_update=True)

    def tamper(self, update, sight, rng):
        return torch.zeros_like(update)


def my_defence(*, sampler: Sampler, local: LocalTrainer):
    return presets.median(sampler=sampler, local=local, clip_bound=0.5)
"""


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(TEXT, encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_an_arena_leaves_runs_one_table_and_one_picture(fedward: Any, tmp_path: Path) -> None:
    code, out, err = fedward("arena", "file.toml")
    assert (code, err) == (0, "")
    assert "4 defences x 3 attacks, seeds 4, 5: 18 trainings in this session" in out
    assert "refused: bulyan, flip: Bulyan(malicious=3) needs cohorts of at least 15 users" in out
    assert "* No attack that knows the defence was tried on no defence, krum, noise" in out
    assert "noise has no ε under loud" in out
    path = tmp_path / "runs" / "file-arena"
    with (path / "arena.csv").open(encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    found = json.loads((path / "arena.json").read_text(encoding="utf8"))
    assert [each["accuracy"]["mean"] for each in found["cells"] if each["runs"]] == [
        float(row["accuracy"]) for row in rows if row["accuracy"]
    ]
    assert (path / "arena.png").read_bytes().startswith(b"\x89PNG")
    table = (path / "arena.json").read_bytes()
    # Again: nothing is trained, the same is said.
    told = json.loads(fedward("arena", "file.toml", "--json")[1])
    assert told["directory"] == str(Path("runs") / "file-arena")
    assert {key: told[key] for key in found} == found
    assert (path / "arena.json").read_bytes() == table

    assert fedward("verify", path).code == 0
    loaded = package.load(path)
    assert isinstance(loaded, Arena)
    assert repr(loaded).endswith("4 defences x 2 attacks, 18 runs, 3 cells refused)")
    assert len(loaded.to_pandas()) == 12
    assert loaded.plot().data
    assert fedward("report", path, "--out", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf8")
    assert "Every cell" in page
    listed = json.loads(fedward("runs", "--in", path, "--json")[1])
    assert len(listed["runs"]) == 18
    run = "defence=krum,attack=flip,seed=4"
    assert fedward("ledger", path / run).code == 0

    result = json.loads((path / run / "result.json").read_text())
    stored = json.loads(table)
    stored["cells"][4]["accuracy"]["mean"] += 0.01
    assert stored["cells"][4]["runs"][0] == run
    (path / "arena.json").write_text(json.dumps(stored))
    found = fedward("verify", path)
    assert found.code == 1
    assert "krum under flip" in found.out
    assert result["accuracy"]


def test_a_mistake_is_said_before_anything_is_written(fedward: Any, tmp_path: Path) -> None:
    code, _, err = fedward("arena", "file.toml", "--set", "arena.attacks.flip.data=[{name='label_flap'}]")
    assert code == 2
    assert "did you mean 'label_flip'" in err
    assert fedward("arena", "file.toml", "--only", "attack=flap").code == 2
    assert fedward("arena", "file.toml", "--set", "arena.must_be_private=[krum]").code == 2
    for command in (["run"], ["sweep"], ["replicas", "-m", "2"], ["show"]):
        code, _, err = fedward(command[0], "file.toml", *command[1:])
        assert code == 2
        assert "fedward arena" in err or "[sweep]" in err
    assert not (tmp_path / "runs").exists()


def test_an_arena_is_checked_as_a_whole(fedward: Any, tmp_path: Path) -> None:
    code, out, err = fedward("check", "file.toml", "--no-calibration")
    assert (code, err) == (0, "")
    assert "file.toml is a valid arena; its first combination, defence=no defence, attack=no attack:" in out
    assert "refused: bulyan, no attack" in out
    found = json.loads(fedward("check", "file.toml", "--json", "--no-calibration")[1])
    assert found["trainings"] == 18
    assert len(found["refused"]) == 3
    assert not (tmp_path / "runs").exists()


def test_parts_of_an_arena_are_merged_to_the_same_table(fedward: Any, tmp_path: Path) -> None:
    assert fedward("arena", "file.toml", "--out", "whole").code == 0
    for part in ("0:7", "7:18"):
        assert fedward("arena", "file.toml", "--range", part, "--out", f"part-{part[0]}").code == 0
    assert fedward("merge", "part-0", "part-7", "--out", "merged").code == 0
    assert fedward("arena", "file.toml", "--out", "merged").code == 0
    tables = [(tmp_path / name / "arena.json").read_bytes() for name in ("whole", "merged")]
    assert tables[0] == tables[1]


def test_own_attacks_and_defences_enter_by_their_import_path(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "own_arena_parts.py").write_text(OWN, encoding="utf8")
    more = [
        *("--set", "arena.seeds=1"),
        *("--set", "arena.attacks={silence={model=[{name='own_arena_parts:Silence'}]}}"),
        *("--set", "arena.defences={mine={preset='own_arena_parts:my_defence'}}"),
    ]
    refused = fedward("arena", "file.toml", *more)
    assert refused.code == 2
    assert "names code of its own" in refused.err
    code, out, err = fedward("arena", "file.toml", *more, "--trust")
    assert err == ""
    assert code == 0
    assert "2 defences x 2 attacks" in out
    assert (tmp_path / "runs/file-arena/defence=mine,attack=silence,seed=4/result.json").is_file()


def test_python_takes_objects_where_files_have_tables(tmp_path: Path) -> None:
    from fedward.attacks import Attack
    from fedward.attacks.poisoning import LabelFlip
    from fedward.attacks.who import RandomUsers

    (tmp_path / "file.toml").write_text(TEXT, encoding="utf8")
    found = package.arena(
        tmp_path / "file.toml",
        attacks={"object": Attack(who=RandomUsers(count=2), data=(LabelFlip(target=1),))},
        seeds=[9],
        only=["attack=object,no attack", "defence=krum"],
        out=tmp_path / "arena",
        quiet=True,
    )
    assert found is not None
    assert [path.name for path in found.runs] == [
        "defence=krum,attack=no_attack,seed=9",
        "defence=krum,attack=object,seed=9",
    ]
