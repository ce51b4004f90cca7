from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.config.experiment import read
from fedward.config.overrides import apply_changes, value_of
from fedward.config.vary import Axis, variants
from tiny_experiment import TWENTY

CONTENT: dict[str, Any] = {
    "rounds": 3,
    "data": {"name": "digits"},
    "attack": {"data": [{"name": "single_pixel", "fraction": 1.0}, {"name": "label_flip"}]},
}
FILE = TWENTY.replace("rounds = 2", "rounds = 3")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.toml"
    path.write_text(FILE, encoding="utf8")
    return path


def test_values_are_put_where_their_keys_say() -> None:
    changes = ["rounds=5", "attack.data.0.fraction = 0.5", 'data.split="iid"', "privacy.delta=1e-3"]
    found = apply_changes(CONTENT, changes)
    assert found["rounds"] == 5
    assert found["data"] == {"name": "digits", "split": "iid"}
    assert found["attack"]["data"] == [{"name": "single_pixel", "fraction": 0.5}, {"name": "label_flip"}]
    assert found["privacy"] == {"delta": 1e-3}
    assert CONTENT["rounds"] == 3
    assert CONTENT["attack"]["data"][0]["fraction"] == 1.0


def test_later_changes_win_and_whole_tables_may_be_set() -> None:
    changes = ["data={name='synthetic'}", "data.users=4", "data.users=5"]
    assert apply_changes(CONTENT, changes)["data"] == {"name": "synthetic", "users": 5}


def test_a_key_without_a_value_is_taken_out() -> None:
    found = apply_changes(CONTENT, ["rounds=", "attack.data.0=", "data.name = "])
    assert found == {"data": {}, "attack": {"data": [{"name": "label_flip"}]}}
    with pytest.raises(
        InvalidValue, match="rund cannot be taken out: the file has no rund; did you mean 'rou"
    ):
        apply_changes(CONTENT, ["rund="])


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("krum", "krum"),
        ("'krum'", "krum"),
        ("weights/a-b.pt", "weights/a-b.pt"),
        ("[1, [2, 3]]", [1, [2, 3]]),
        ("{ name = 'x', y = [1] }", {"name": "x", "y": [1]}),
    ],
)
def test_values_are_toml_and_plain_words_need_no_quotes(written: str, value: Any) -> None:
    assert value_of(written) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("rounds", "--set must be written KEY=VALUE, with dots in the key, got 'rounds'"),
        ("=3", "must be written KEY=VALUE"),
        ("data..users=3", "must be written KEY=VALUE"),
        ("rounds=3 4", "a value must be written as in a file, got 'rounds=3 4'"),
        ("rounds=3\nseed=4", "a value must be one value"),
        ("rounds=" + "9" * 5000, "a value must be written as in a file"),
        ("rounds=" + "[" * 5000, "a value must be written as in a file"),
        (
            "attack.data.2.fraction=1",
            "attack.data.2.fraction cannot be set: 2 must be a place in a list of 2",
        ),
        ("attack.data.²=1", "must be a place in a list of 2"),
        ("rounds.x=1", "rounds.x cannot be set: x is not in a table of the file"),
    ],
)
def test_what_cannot_be_set_is_said(change: str, message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        apply_changes(CONTENT, [change])
    assert message in str(error.value)


def test_the_whole_file_is_checked_with_the_changes_in_it(file: Path) -> None:
    experiment = read(file, ["algorithm.sampler.rate=0.25", "rounds=7"])
    assert experiment.rounds == 7
    assert experiment.algorithm.sampler.rate == 0.25  # type: ignore[attr-defined]
    with pytest.raises(InvalidValue) as error:
        read(file, ["round=7", "algorithm.sampler.rat=0.5", "data.user=3"])
    text = str(error.value)
    assert f"{file} --set round=7 --set algorithm.sampler.rat=0.5 --set data.user=3 is not a valid" in text
    assert "did you mean 'rounds'" in text
    # One table that is not a table of experiments hides what is wrong inside of the others.
    with pytest.raises(InvalidValue) as error:
        read(file, ["algorithm.sampler.rat=0.5", "data.user=3"])
    assert "did you mean 'rate'" in str(error.value)
    assert "did you mean 'users'" in str(error.value)


def test_a_file_with_a_sweep_is_sent_to_its_command(file: Path) -> None:
    file.write_text(FILE + "[sweep]\nrounds = [1, 2]\n", encoding="utf8")
    with pytest.raises(InvalidValue, match=r"has a \[sweep\] table .* run it with fedward sweep"):
        read(file)
    assert read(file, ["sweep="]).rounds == 3


def test_words_may_vary_without_quotes() -> None:
    assert Axis.parse("algorithm.preset=krum, median").values == ("krum", "median")
    with pytest.raises(InvalidValue, match="KEY=VALUE,VALUE"):
        Axis.parse("algorithm.preset=krum, 3x")


def test_variants_do_not_share_what_they_change() -> None:
    axes = [
        Axis(key="algorithm", values=({"preset": "a", "z": 0},)),
        Axis(key="algorithm.z", values=(1, 2)),
    ]
    found = list(variants({}, axes).values())
    assert [each["algorithm"]["z"] for each in found] == [1, 2]
    assert axes[0].values[0]["z"] == 0


@given(st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_a_change_or_a_clear_error(changes: list[str]) -> None:
    try:
        found = apply_changes(CONTENT, changes)
    except InvalidValue:
        return
    assert isinstance(found, dict)


@given(
    st.sampled_from(["rounds", "data.name", "attack.data.1.name", "x.y.z"]),
    st.recursive(
        st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=3),
    ),
)
def test_what_is_set_is_there(key: str, value: Any) -> None:
    written = repr(value).replace("True", "true").replace("False", "false")
    found: Any = apply_changes(CONTENT, [f"{key}={written}"])
    for name in key.split("."):
        found = found[int(name)] if name.isdecimal() else found[name]
    assert found == value
