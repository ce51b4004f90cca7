from __future__ import annotations

from typing import Any

import pytest

from config.tiny_arena import arena_content, arena_of
from fedward.base.validate import InvalidValue
from fedward.config.arena_cells import Cell
from fedward.config.arena_section import read_arena
from fedward.config.experiment import from_content


def test_nobody_attacking_and_plain_averaging_are_always_there() -> None:
    arena = arena_of()
    assert arena.attacks == ("no attack", "flip", "loud")
    assert arena.defences == ("no defence", "krum", "bulyan", "noise")
    assert arena.data == ("",)
    assert len(arena.sweep.points) == 2 * 4 * 3
    first = arena.sweep.points[0]
    assert first.directory == "defence=no_defence,attack=no_attack,seed=4"
    assert first.experiment.attack is None
    assert first.experiment.algorithm.part == "fedavg"


def test_a_table_is_merged_into_the_files_own_and_no_attack_takes_it_out() -> None:
    points = {point.combination: point for point in arena_of().sweep.points}
    attacked = points["defence=krum, attack=flip"].experiment
    assert attacked.attack is not None
    assert attacked.attack.who.part == "random"
    assert points["defence=krum, attack=no attack"].experiment.attack is None


def test_a_name_of_ones_own_can_take_the_place_of_plain_averaging() -> None:
    own = {"preset": "norm_bounding", "clip_bound": 9.0}
    arena = arena_of(defences={"krum": {"preset": "krum", "malicious": 2}, "no defence": own})
    assert arena.defences == ("no defence", "krum")
    assert arena.sweep.points[0].experiment.algorithm.part == "norm_bounding"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"attacks": {"x": {"model": [{"name": "min_maks"}]}}}, "did you mean 'min_max'"),
        ({"defences": {"x": {"preset": "krum"}}}, "malicious"),
        ({"defences": {"x": {"preset": "krum", "malicious": -1}}}, "malicious"),
        ({"defence": {}}, "unknown key defence; did you mean 'defences'"),
        ({"attacks": {"x": 3}}, "attacks.x must be a table, got 3"),
        ({"attacks": {"no attack": {}}}, "attacks must not have the name 'no attack'"),
        ({"attacks": {"a=b": {}}}, "attacks must not have the name 'a=b'"),
        ({"must_be_private": ["nois"]}, "no defence; did you mean 'noise'"),
        ({"seeds": 0}, "seeds must be"),
        ({"attacks": {}, "defences": {}}, "at least one attack or defence"),
        ({"attacks": [1]}, r"attacks must be tables with names"),
    ],
)
def test_what_is_wrong_by_itself_is_an_error(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        arena_of(**table)


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong = {"one": {"model": [{"name": "min_maks"}]}, "two": {"data": [{"name": "label_flap"}]}}
    with pytest.raises(InvalidValue) as error:
        arena_of(attacks=wrong)
    assert "min_maks" in str(error.value)
    assert "label_flap" in str(error.value)
    assert "(with attack one)" in str(error.value)


def test_kinds_of_data_are_a_side_and_sides_that_clash_are_one_refused_cell() -> None:
    content = arena_content(data={"few": {"users": 12}, "many": {"users": 20}})
    arena = read_arena(content)
    assert arena.data == ("few", "many")
    assert not arena.refused
    assert Cell(data="many", defence="krum", attack="flip") in arena.cells
    assert {point.combination for point in arena.sweep.points} >= {
        "data=few, defence=krum, attack=flip",
        "data=many, defence=krum, attack=flip",
    }


def test_other_readers_send_an_arena_to_its_command() -> None:
    with pytest.raises(InvalidValue, match="run it with fedward arena"):
        from_content(arena_content())
    content = arena_content()
    content["sweep"] = {"seeds": 2}
    with pytest.raises(InvalidValue, match=r"a \[sweep\] or an \[arena\], got both"):
        read_arena(content)
    del content["sweep"], content["arena"]
    with pytest.raises(InvalidValue, match=r"must have a table \[arena\].* got none; add it"):
        read_arena(content)
    content["arna"] = {}
    with pytest.raises(InvalidValue, match="got none, but 'arna'; did you mean 'arena'"):
        read_arena(content)
