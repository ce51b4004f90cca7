"""``fedward certificate check --retrain``: honest replicas agree, false ones do not, nothing is written."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tampering.forged_runs import NATIVE, answer, certify, check, make_certified
from tampering.forgery import KINDS, Material, forge
from tampering.prepared_runs import TEXT

M = 32


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Material]]:
    folder = tmp_path_factory.mktemp("forged")
    yield folder, make_certified(folder, TEXT, M)
    shutil.rmtree(folder)


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def test_honest_replicas_agree_and_the_odds_are_said(place: tuple[Path, Material]) -> None:
    folder, _ = place
    before = digests(folder / "honest")
    holds, printed = check(folder, "honest", "--retrain", "30")
    assert holds
    assert "30 of 32 replicas were trained again and agree" in printed
    assert "caught with probability at least 1 - (1 - p)^30: 99.9994% for p = 1/3" in printed
    assert "that the 2 replicas that were not trained again come from the same trainings" in printed
    assert digests(folder / "honest") == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_third_of_false_replicas_is_caught(place: tuple[Path, Material], kind: str, tmp_path: Path) -> None:
    folder, material = place
    forged = folder / f"forged {KINDS.index(kind)}"
    shutil.copytree(folder / "honest", forged)
    forge(forged, kind, material, seed=KINDS.index(kind))
    # Its arithmetic is right: without training nobody can tell.
    assert check(folder, forged.name)[0]
    holds, printed = check(folder, forged.name, "--retrain", "30")
    assert not holds
    assert re.search(r"- replica \d+ is not what training again comes to, on test example \d+", printed)


def test_the_answer_for_programs_has_every_number(place: tuple[Path, Material]) -> None:
    folder, _ = place
    words = [
        "certificate",
        "check",
        "honest/certificate.json",
        "--retrain",
        "4",
        "--retrain-seed",
        "5",
        "--json",
    ]
    code, printed = answer(words, folder)
    found = json.loads(printed[printed.index("{") :])["retrained"]
    assert code == 0
    assert found["agrees"]
    assert len(found["compared"]) == 4
    assert (found["replicas"], found["seed"], found["disagreements"]) == (M, 5, [])
    assert [round(each["at_least"], 4) for each in found["caught"]] == [0.8025, 0.3439]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--set", "rounds=4"), "rounds: 3 there"),
        (("--set", "seed=2"), "digest of the data"),
        (("--set", "algorithm.noise_multiplier=1.0"), "noise multiplier 2"),
        (("--set", "algorithm.noise_source='system'"), "system"),
    ],
)
def test_another_experiment_is_refused_before_anything_is_trained(
    place: tuple[Path, Material], options: tuple[str, ...], says: str
) -> None:
    code, printed = answer(
        ["certificate", "check", "honest/certificate.json", "--retrain", "3", *options], place[0]
    )
    assert code == 2
    assert says in printed


def test_options_of_retraining_need_it(place: tuple[Path, Material]) -> None:
    code, printed = answer(
        ["certificate", "check", "honest/certificate.json", "--engine", "native"], place[0]
    )
    assert (code, "--engine belongs to --retrain N" in printed) == (2, True)


def test_without_its_run_directory_the_experiment_must_be_given(place: tuple[Path, Material]) -> None:
    folder, _ = place
    (folder / "alone").mkdir()
    for name in ("certificate.json", "certificate-scores.npz"):
        shutil.copy(folder / "honest" / name, folder / "alone")
    code, printed = answer(["certificate", "check", "alone/certificate.json", "--retrain", "2"], folder)
    assert (code, "--experiment" in printed) == (2, True)
    assert check(folder, "alone", "--retrain", "2", "--experiment", "experiment.toml")[0]


def test_another_engine_agrees_within_the_stated_tolerance(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(NATIVE, encoding="utf8")
    certify(tmp_path, "native", 8)
    holds, printed = check(tmp_path, "native", "--retrain", "8")
    assert holds
    assert "agree, bit for bit; none is left that could be false" in printed
    holds, printed = check(tmp_path, "native", "--retrain", "8", "--engine", "generic")
    assert holds
    assert "agree, within 0.001" in printed
