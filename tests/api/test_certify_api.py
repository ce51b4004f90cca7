from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fedward
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidType, InvalidValue
from fedward.cli import app
from tiny_experiment import CONTENT, TEXT

ATTACK: dict[str, Any] = {
    "who": {"name": "random", "count": 1},
    "data": [{"name": "label_flip", "source": 1, "target": 0}],
    "cost_bound": 10.0,
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_predictions_are_certified_as_the_command_does() -> None:
    Path("first.toml").write_text(TEXT)
    found = fedward.certify("first.toml", replicas=4, score="vote", compute=IN_PROCESS, quiet=True)
    assert found.path == Path("runs/first-certified")
    assert found.replicas == 4
    words = ["certify", "first.toml", "-m", "4", "--score", "vote", "--out", "other", "--workers", "0"]
    assert CliRunner().invoke(app, words).exit_code == 0
    for name in ("certificate.json", "certified.json", "certificate-scores.npz", "certified_accuracy.png"):
        assert (found.path / name).read_bytes() == (Path("other") / name).read_bytes()


def test_variants_come_from_a_dictionary() -> None:
    found = fedward.certify(
        CONTENT,
        replicas=2,
        vary={"algorithm.noise_multiplier": [2, 3]},
        out="x",
        compute=IN_PROCESS,
        quiet=True,
    )
    assert list(found.certificates) == ["noise_multiplier=2", "noise_multiplier=3"]
    assert set(found.to_pandas()["variant"]) == {"noise_multiplier=2", "noise_multiplier=3"}
    assert {"k", "threat", "certified_accuracy"} <= set(found.to_pandas().columns)
    assert list(found.to_pandas("measured")["variant"]) == ["noise_multiplier=2", "noise_multiplier=3"]


def test_the_cost_of_an_attack_is_certified_where_there_is_one() -> None:
    found = fedward.certify(
        CONTENT | {"attack": ATTACK},
        replicas=2,
        attackers=[2],
        out="x",
        compute=IN_PROCESS,
        quiet=True,
    )
    assert found.certified is not None
    (costs,) = found.certified.values()
    assert [each["attackers"] for each in costs["measured"]] == [0, 2]
    assert Path("x/attack_cost.png").is_file()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"attackers": [1]}, InvalidValue, "an \\[attack\\] table and --attackers belong together"),
        ({"vary": "a=1"}, InvalidType, "vary must be a dictionary or a list"),
        ({"score": "mood"}, InvalidValue, "score must be one of"),
        ({"threats": ["bribe"]}, InvalidValue, "threat must be one of"),
        ({"save_space": True}, InvalidValue, "--save-space needs"),
        ({"changes": {"algorithm.preset": "fedavg"}}, InvalidValue, "."),
    ],
)
def test_what_cannot_be_certified_is_refused_before_anything_is_written(
    options: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        fedward.certify(CONTENT, out="x", replicas=2, quiet=True, compute=IN_PROCESS, **options)
    assert not list(tmp_path.iterdir())


def test_the_package_of_the_same_name_is_imported_as_before() -> None:
    from fedward.certificates import certified_k

    assert callable(certified_k)
    assert callable(fedward.certify)
