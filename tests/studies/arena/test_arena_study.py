from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from config.tiny_arena import arena_content, arena_of
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.config.arena_section import read_arena
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.arena_table import arena_table
from fedward.studies.arena.arena_study import ArenaStudy, plan_arena
from fedward.studies.study import carry_out
from fedward.studies.training.training_study import TrainingStudy, prepare
from studies.killing import Killed, kill_at


def carried_out(study: ArenaStudy, path: Path) -> ArenaRecord:
    return carry_out(study, path, IN_PROCESS, list)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ArenaRecord:
    return carried_out(plan_arena(arena_of()), tmp_path_factory.mktemp("arena") / "tiny")


def test_a_rule_that_needs_more_users_is_refused_and_nothing_else(tiny: ArenaRecord) -> None:
    assert {each.defence for each in tiny.about.refused} == {"bulyan"}
    assert all("needs cohorts of at least 15 users" in each.why for each in tiny.about.refused)
    assert len(tiny.about.refused) == 3
    assert len(tiny.runs) == 2 * 3 * 3
    assert not list(tiny.path.glob("*bulyan*"))
    standing = next(each for each in tiny.standings if each.defence == "bulyan")
    assert (standing.tried, standing.worst_accuracy, standing.epsilon) == (0, None, None)


def test_every_cell_is_what_its_training_would_be_by_itself(tiny: ArenaRecord, tmp_path: Path) -> None:
    point = next(each for each in arena_of().sweep.points if each.combination == "defence=krum, attack=loud")
    study = TrainingStudy(setup=prepare(point.experiment))
    carry_out(study, tmp_path / "alone", IN_PROCESS, list)
    models = [torch.load(path / "model.pt") for path in (tmp_path / "alone", tiny.path / point.directory)]
    assert all(models[0][name].equal(models[1][name]) for name in models[0])


def test_what_an_attack_copies_is_in_memory_once() -> None:
    held_out = {"name": "edge_case", "source": 1, "target": 0, "share": 0.5}
    attacks = {
        name: {"who": {"name": "named", "users": [0]}, "data": [data]}
        for name, data in (("flip", {"name": "label_flip", "target": 0}), ("edge", held_out))
    }
    pictures = {"name": "digits", "users": 12}
    content = arena_content(attacks=attacks) | {"data": pictures, "rounds": 1}
    setups = plan_arena(read_arena(content, "file.toml")).first_seed().setups
    staged = [setup.attack for setup in setups if setup.attack is not None]
    assert len(staged) == 2 * 3
    assert len({id(each.goal) for each in staged}) == 2
    # Nobody's examples are taken by the one, and the other's are taken once: with the clean data, two copies.
    assert len({id(setup.federation) for setup in setups}) == 2


def test_privacy_is_that_of_the_ledger_and_what_takes_it_away_is_said(tiny: ArenaRecord) -> None:
    private = {each.defence: each for each in tiny.standings}
    assert private["krum"].epsilon is None
    found = json.loads((tiny.path / "defence=noise,attack=no_attack,seed=4" / "result.json").read_text())
    assert private["noise"].epsilon == found["guarantee"]["epsilon"]
    assert private["noise"].void_under == ["loud"]


def test_attackers_that_know_the_defence_are_named(tiny: ArenaRecord) -> None:
    assert not any(each.adapts for each in tiny.about.attacks)
    assert not any(each.adaptively for each in tiny.standings)
    known = {each.name: each.adaptive_attack for each in tiny.about.defences}
    assert known["krum"] == "adaptive_backdoor"


def test_rounds_are_timed_apart_from_local_trainings(tiny: ArenaRecord) -> None:
    assert {each.rounds for each in tiny.seconds.values()} == {4}
    assert all(each.seconds > 0 for each in tiny.seconds.values())
    assert len(tiny.seconds) == 9


def test_progress_counts_all_trainings_and_knows_how_long_the_rest_takes(tmp_path: Path) -> None:
    arena = arena_of(attacks={}, seeds=2)
    study = plan_arena(arena)
    steps: list[Any] = []
    carry_out(study, tmp_path / "arena", IN_PROCESS, steps.extend)
    assert sorted({step.done for step in steps}) == list(range(1, 13))
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert {step.total for step in steps} == {12}
    # Of the second seed nothing is measured yet, but the pace of the first is known.
    assert steps[2].seconds_left > 0


def stored(path: Path) -> dict[str, bytes]:
    """Every file but those that say when, and how long."""
    skip = ("run.json", "digests.jsonl", "seconds.json", ".lock")
    found = sorted(each for each in path.rglob("*") if each.is_file() and each.name not in skip)
    return {str(each.relative_to(path)): each.read_bytes() for each in found}


@pytest.mark.parametrize("operation", [0, 7, 60, 333])
def test_killed_anywhere_it_goes_on_to_the_same_bytes(
    operation: int, tiny: ArenaRecord, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, operation)
        with pytest.raises(Killed):
            carried_out(plan_arena(arena_of()), tmp_path / "tiny")
    again = carried_out(plan_arena(arena_of()), tmp_path / "tiny")
    assert again.cells == tiny.cells
    assert stored(again.path) == stored(tiny.path)


def test_some_cells_are_trained_now_and_the_rest_later(tiny: ArenaRecord, tmp_path: Path) -> None:
    some = carried_out(plan_arena(arena_of(), only=["attack=flip", "defence=krum"]), tmp_path / "tiny")
    assert [path.name for path in some.runs] == [
        "defence=krum,attack=flip,seed=4",
        "defence=krum,attack=flip,seed=5",
    ]
    cell = next(each for each in some.cells if each.runs)
    assert cell.accuracy is not None
    assert cell.lost is None  # nobody has trained what it would be compared with
    every = carried_out(plan_arena(arena_of()), tmp_path / "tiny")
    assert every.cells == tiny.cells
    with pytest.raises(InvalidValue, match="attack must be one of no attack, flip, loud, got 'flap'"):
        plan_arena(arena_of(), only=["attack=flap"])


def test_a_defence_that_must_be_private_and_is_not_is_an_error_before_any_work() -> None:
    plan_arena(arena_of(must_be_private=["noise"]))
    with pytest.raises(
        InvalidValue, match=r"defence krum must be private \(must_be_private\), got no guarantee"
    ):
        plan_arena(arena_of(must_be_private=["noise", "krum"]))


def test_what_fits_nowhere_is_an_error() -> None:
    content = arena_content()
    content["model"] = {"name": "mnist_cnn"}
    with pytest.raises(InvalidValue, match="the arena does not fit together"):
        plan_arena(read_arena(content))


def test_kinds_of_data_are_an_axis(tmp_path: Path) -> None:
    content = arena_content(
        seeds=1,
        attacks={},
        defences={},
        data={"few": {"users": 12}, "many": {"users": 16}, "digits": {"name": "digits", "users": 12}},
    )
    content["arena"]["data"]["skewed"] = {
        **content["arena"]["data"]["digits"],
        "split": "label_skew",
        "classes_per_user": 2,
    }
    content["arena"]["defences"] = {"krum": {"preset": "krum", "malicious": 2}}
    record = carried_out(plan_arena(read_arena(content)), tmp_path / "arena")
    assert record.about.data == ["few", "many", "digits", "skewed"]
    assert len(record.runs) == 4 * 2
    assert [(each.data, each.defence) for each in record.standings][2:4] == [
        ("many", "no defence"),
        ("many", "krum"),
    ]


def test_another_arena_in_its_place_is_refused(tiny: ArenaRecord) -> None:
    content = arena_content()
    content["model"]["name"] = "mlp"
    with pytest.raises(InvalidValue, match=r"must be empty or of this sweep.*experiment\.model"):
        carried_out(plan_arena(read_arena(content)), tiny.path)


def test_a_table_without_results_has_every_cell(tiny: ArenaRecord) -> None:
    assert len(arena_table(tiny.about, {}).cells) == 12


def test_more_seeds_go_on_with_what_is_there(tiny: ArenaRecord, tmp_path: Path) -> None:
    record = carried_out(plan_arena(arena_of(attacks={}, seeds=1)), tmp_path / "arena")
    before = {path.name: (path / "run.json").stat().st_mtime_ns for path in record.runs}
    more = carried_out(plan_arena(arena_of(attacks={}, seeds=2)), tmp_path / "arena")
    assert len(more.runs) == 2 * len(before)
    assert {path.name: (path / "run.json").stat().st_mtime_ns for path in more.runs}.items() >= before.items()
