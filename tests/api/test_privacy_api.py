"""``fedward.epsilon`` and ``fedward.calibrate``: by numbers, of an algorithm, of a file and of its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import fedward
from api.five_rounds import TABLES
from fedward.api.privacy_records import EpsilonRecord
from fedward.base.validate import InvalidValue
from fedward.presets import user_dp_fedavg

FILE = """
seed = 1
rounds = 5
data = { name = "synthetic", users = 100, examples = 5, features = 4, classes = 3, test_examples = 20 }
model = { name = "logistic_regression" }
privacy = { users = 100, delta = 1e-3 }

[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
sampler = { name = "poisson", rate = 0.1 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 5, epochs = 1 }
"""


def algorithm() -> fedward.Algorithm:
    return user_dp_fedavg(
        num_users=100,
        sampler=fedward.PoissonSampler(rate=0.1),
        local=fedward.SGD(learning_rate=0.1, batch_size=5, epochs=1),
        clip_bound=1.0,
        noise_multiplier=2.0,
    )


def by_all_ways(tmp_path: Path) -> list[EpsilonRecord]:
    file = tmp_path / "five.toml"
    file.write_text(FILE, encoding="utf8")
    return [
        fedward.epsilon(noise_multiplier=2.0, sampling_rate=0.1, rounds=5, delta=1e-3),
        fedward.epsilon(algorithm(), users=100, rounds=5, delta=1e-3),
        fedward.epsilon(TABLES),
        fedward.epsilon(file),
    ]


def test_every_way_to_say_it_spends_the_same(tmp_path: Path) -> None:
    found = by_all_ways(tmp_path)
    assert {each.epsilon for each in found} == {found[0].epsilon}
    assert {each.delta for each in found} == {1e-3}
    assert found[0].guarantee.noise_source is None
    assert found[3].guarantee.noise_source == "seeded"
    assert repr(found[0]).startswith("EpsilonRecord((ε = 0.")


def test_every_way_to_calibrate_finds_the_same_noise(tmp_path: Path) -> None:
    file = tmp_path / "five.toml"
    file.write_text(FILE, encoding="utf8")
    found = [
        fedward.calibrate(epsilon=0.5, sampling_rate=0.1, rounds=5, delta=1e-3),
        fedward.calibrate(algorithm(), epsilon=0.5, users=100, rounds=5, delta=1e-3),
        fedward.calibrate(TABLES, epsilon=0.5),
        fedward.calibrate(file, epsilon=0.5),
    ]
    assert len({each.noise_multiplier for each in found}) == 1
    for each in found:
        assert each.epsilon <= 0.5
        assert each.searched == "noise_multiplier"
    # And with this noise in the file it spends that.
    again = fedward.epsilon(file, changes={"algorithm.noise_multiplier": found[0].noise_multiplier})
    assert again.epsilon == found[0].epsilon


def test_rounds_are_found_for_a_noise() -> None:
    found = fedward.calibrate(epsilon=1.0, noise_multiplier=2.0, sampling_rate=0.1, delta=1e-3)
    assert found.searched == "rounds"
    assert found.epsilon <= 1.0
    more = fedward.epsilon(noise_multiplier=2.0, sampling_rate=0.1, rounds=found.rounds + 1, delta=1e-3)
    assert more.epsilon > 1.0
    assert found.words[0] == f"{found.rounds} rounds with noise multiplier 2"


def test_a_record_is_saved_drawn_and_made_a_table(tmp_path: Path) -> None:
    found = fedward.calibrate(epsilon=0.5, sampling_rate=0.1, rounds=5, delta=1e-3)
    found.save(tmp_path / "found.json")
    stored = json.loads((tmp_path / "found.json").read_text(encoding="utf8"))
    assert stored["epsilon"] == found.epsilon
    assert stored["noise_multiplier"] == found.noise_multiplier
    found.plot().save(tmp_path / "found.png")
    assert (tmp_path / "found.png").read_bytes()[:4] == b"\x89PNG"
    rows = found.rows()
    assert [row["rounds"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[-1]["epsilon"] == found.epsilon
    spent = [row["epsilon"] for row in rows]
    assert spent == sorted(spent)
    with pytest.raises(InvalidValue, match=r"ends in \.json, \.csv .*, got 'found\.png'"):
        found.save(tmp_path / "found.png")


def test_a_table_needs_pandas_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fedward.epsilon(noise_multiplier=2.0, sampling_rate=0.1, rounds=2, delta=1e-3)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidValue, match="to_pandas needs pandas, which is not installed"):
        found.to_pandas()


def test_a_table_of_pandas_has_a_row_for_each_number_of_rounds() -> None:
    pytest.importorskip("pandas")
    found = fedward.epsilon(noise_multiplier=2.0, sampling_rate=0.1, rounds=3, delta=1e-3)
    assert found.to_pandas()["rounds"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling_rate": 0.1, "rounds": 3, "delta": 1e-3}, "noise_multiplier must be given, got none"),
        ({"noise_multiplier": 1.0, "sampling_rate": 0.1, "delta": 1e-3}, "rounds must be given, got none"),
        ({"noise_multiplier": 1.0, "sampling_rate": 0.1, "rounds": 3}, "delta must be given, got none"),
        (
            {"noise_multiplier": 1.0, "rounds": 3, "delta": 1e-3},
            "one of a sampling rate, an epoch, and a cohort size",
        ),
        ({"noise_multiplier": 1.0, "cohort_size": 3, "rounds": 3, "delta": 1e-3}, "users must be given with"),
        ({"noise_multiplier": -1.0, "sampling_rate": 0.1, "rounds": 3, "delta": 1e-3}, "must be positive"),
    ],
)
def test_numbers_that_do_not_describe_a_training_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        fedward.epsilon(**given)


def test_numbers_beside_an_experiment_are_refused() -> None:
    with pytest.raises(InvalidValue, match="which has its own, got them with a dict; use changes"):
        fedward.epsilon(TABLES, noise_multiplier=1.0)
    with pytest.raises(InvalidValue, match="users, rounds and delta must be given with an algorithm"):
        fedward.epsilon(algorithm(), rounds=5)


def test_fixed_cohorts_are_accounted_by_rdp() -> None:
    found = fedward.epsilon(
        noise_multiplier=2.0, cohort_size=10, users=100, rounds=3, delta=1e-3, accountant="rdp"
    )
    assert found.guarantee.adjacency == "replace-one"


def test_a_training_that_is_charged_at_once_is_calibrated_as_a_whole() -> None:
    banded: dict[str, Any] = {
        "preset": "dp_ftrl",
        "rounds": 5,
        "separation": 2,
        "clip_bound": 1.0,
        "noise_multiplier": 2.0,
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1},
    }
    tables = {**TABLES, "algorithm": banded, "rounds": 5}
    found = fedward.calibrate(tables, epsilon=1.5, delta=1e-5)
    banded["noise_multiplier"] = found.noise_multiplier
    spent = fedward.epsilon(tables, delta=1e-5)
    assert 1.49 < spent.epsilon <= 1.5
    assert len(spent.rows()) == 1


def test_random_allocation_is_described_by_its_epoch() -> None:
    found = fedward.epsilon(noise_multiplier=1.0, epoch=8, rounds=20, delta=1e-5)
    assert found.guarantee.rounds == 20
    assert "each user in one random round of every 8" in str(found.guarantee)
    # Three epochs are begun.
    assert found.epsilon == fedward.epsilon(noise_multiplier=1.0, epoch=8, rounds=24, delta=1e-5).epsilon
    assert [row["rounds"] for row in found.rows()] == [8, 16, 20]
    algorithm = fedward.presets.user_dp_fedavg(
        num_users=100,
        sampler=fedward.RandomAllocation(epoch=8),
        local=fedward.SGD(learning_rate=0.1, batch_size=8, epochs=1),
        noise_multiplier=1.0,
        clip_bound=1.0,
    )
    assert fedward.epsilon(algorithm, users=100, rounds=20, delta=1e-5).epsilon == found.epsilon


def test_noise_and_rounds_are_found_for_random_allocation() -> None:
    rounds = fedward.calibrate(epsilon=3.0, noise_multiplier=1.5, epoch=8, delta=1e-5)
    assert rounds.rounds % 8 == 0
    assert (
        rounds.epsilon
        <= 3.0
        < fedward.epsilon(noise_multiplier=1.5, epoch=8, rounds=rounds.rounds + 1, delta=1e-5).epsilon
    )
    noise = fedward.calibrate(epsilon=3.0, rounds=20, epoch=8, delta=1e-5)
    assert 2.9 < noise.epsilon <= 3.0
    with pytest.raises(InvalidValue, match="give one of a sampling rate, an epoch, and a cohort size"):
        fedward.epsilon(noise_multiplier=1.0, epoch=8, sampling_rate=0.1, rounds=20, delta=1e-5)
    with pytest.raises(InvalidValue, match="users belongs to a cohort size, got it with an epoch"):
        fedward.epsilon(noise_multiplier=1.0, epoch=8, users=10, rounds=20, delta=1e-5)
    with pytest.raises(InvalidValue, match="need a clip bound without looks, got 2 looks"):
        fedward.epsilon(noise_multiplier=1.0, epoch=8, rounds=20, delta=1e-5, looks=2, look_noise=3.0)
