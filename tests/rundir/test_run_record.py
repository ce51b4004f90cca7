from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.api.certify_api import certify
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.rundir.results import Measured
from fedward.rundir.run_record import ReplicasRecord, RunRecord, load
from fedward.rundir.store import open_run
from fedward.studies.replicas.replica_study import ReplicaRun, prepare_variants, run_replicas
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from tiny_experiment import CONTENT
from tiny_experiment import PLAIN as EXPERIMENT


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record") / "run"
    run_to_end(prepare(config.parse(EXPERIMENT)), path)
    return path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_a_finished_run_is_read_whole(finished: Path) -> None:
    record = load(finished)
    assert isinstance(record, RunRecord)
    result = json.loads((finished / "result.json").read_text())
    assert record.finished
    assert record.rounds == 2
    assert [each.round for each in record.metrics] == [0, 1]
    assert record.last.accuracy == result["accuracy"] == record.metrics[-1].accuracy
    assert len(record.telemetry) == 2
    guarantee = record.guarantee()
    assert guarantee is not None
    assert not guarantee.private
    assert config.from_content(record.experiment) == config.parse(EXPERIMENT)


def test_reading_changes_nothing_and_takes_no_lock(finished: Path) -> None:
    before = {file.name: file.stat().st_mtime_ns for file in finished.iterdir()}
    with open_run(finished):
        load(str(finished))
    assert before.items() <= {file.name: file.stat().st_mtime_ns for file in finished.iterdir()}.items()


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_under_way_is_read_as_far_as_it_is(copy: Path) -> None:
    (copy / "result.json").unlink()
    record = load(copy)
    assert isinstance(record, RunRecord)
    assert not record.finished
    assert record.rounds == 2
    assert record.last == record.metrics[-1]
    for name in ("ledger.json", "rounds.jsonl", "telemetry.jsonl"):
        (copy / name).unlink()
    record = load(copy)
    assert isinstance(record, RunRecord)
    assert (record.rounds, record.last, record.guarantee()) == (0, Measured(), None)


def test_replicas_are_read_with_their_variants(tmp_path: Path) -> None:
    experiments = {"all": config.parse(EXPERIMENT)}
    wanted = ReplicaRun(variants=prepare_variants(experiments), replicas=2)
    with open_run(tmp_path / "run") as directory:
        for _ in run_replicas(wanted, directory):
            pass
    record = load(tmp_path / "run")
    assert isinstance(record, ReplicasRecord)
    assert record.finished
    assert record.replicas == 2
    assert list(record.experiments) == ["all"]
    assert record.certificates == {}
    assert record.labels is not None
    test = wanted.first.federation.test
    assert test is not None
    assert np.array_equal(record.labels, test.y.numpy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is nothing of that name"),
        (lambda path: path.write_text(""), "it is a file"),
        (lambda path: path.mkdir(), "it holds no run.json"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "run")
    with pytest.raises(InvalidValue, match=f"run is not a run directory: {message}"):
        load(tmp_path / "run")


def test_a_directory_of_runs_names_one_of_them(finished: Path) -> None:
    with pytest.raises(InvalidValue, match=r"1 below it do: give .*run, for instance"):
        load(finished.parent)


@pytest.mark.parametrize(
    "name", ["run.json", "result.json", "ledger.json", "rounds.jsonl", "telemetry.jsonl"]
)
@pytest.mark.parametrize("content", [b"{", b"\xff\xfe\n", b"[1]\n", b"{}\n"])
def test_a_damaged_file_is_one_line(copy: Path, name: str, content: bytes) -> None:
    (copy / name).write_bytes(content if content != b"{" or name.endswith(".json") else b"{\n")
    with pytest.raises(InvalidValue) as caught:
        load(copy)
    assert str(copy) in str(caught.value)


def test_a_table_needs_pandas_and_says_so(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidValue, match="pip install pandas"):
        load(finished).to_pandas()


def test_the_table_has_a_row_for_each_measured_round(finished: Path) -> None:
    pytest.importorskip("pandas")
    table = load(finished).to_pandas()
    assert table["round"].tolist() == [1, 2]
    assert {"accuracy", "loss"} <= set(table.columns)


def test_certified_accuracy_is_asked_for_by_k_and_threat(tmp_path: Path) -> None:
    changes = {"rounds": 1, "data.users": 60, "algorithm.clip_bound": 4.0, "algorithm.noise_multiplier": 0.5}
    local = {"name": "sgd", "learning_rate": 2.0, "batch_size": 4, "epochs": 5}
    found = certify(
        CONTENT,
        changes=changes | {"algorithm.local": local},
        replicas=20,
        score="vote",
        out=tmp_path / "run",
        compute=IN_PROCESS,
        quiet=True,
    )
    attacks: dict[str, tuple[float, ...]] = {
        attack.threat: attack.accuracy or () for attack in found.certificates["all"].attacks
    }
    assert found.certified_accuracy(0) == attacks["inject"][0] > 0
    assert found.certified_accuracy(0, "compromise") == attacks["compromise"][0]
    last = len(attacks["inject"]) - 1
    assert found.certified_accuracy(last, variant="all") == attacks["inject"][last]
    assert found.certified_accuracy(last + 1) == 0.0
    with pytest.raises(InvalidValue, match="k must be at least 0, got -1"):
        found.certified_accuracy(-1)
    with pytest.raises(InvalidValue, match="threat must be one of"):
        found.certified_accuracy(1, "bribe")
    with pytest.raises(InvalidValue, match="variant must be one of those certified \\(all\\), got 'other'"):
        found.certified_accuracy(1, variant="other")
