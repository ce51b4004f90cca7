from __future__ import annotations

import csv
import importlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedward.rundir.catalogue.export import EXPORTS
from fedward.rundir.catalogue.facts import RunFacts, read
from rundir.catalogue.run_directories import make_run


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFacts]:
    return [
        read(make_run(tmp_path / "a", accuracy=0.9)),
        read(make_run(tmp_path / "other" / "a", epsilon=2.0)),
    ]


def test_csv_has_a_column_for_every_key(runs: list[RunFacts], tmp_path: Path) -> None:
    EXPORTS["csv"](runs, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["accuracy"] for row in rows] == ["0.9", "0.5"]
    assert rows[0]["epsilon"] == ""
    assert float(rows[1]["epsilon"]) == runs[1].facts["epsilon"] == pytest.approx(2.0, rel=1e-3)
    assert rows[0]["algorithm.preset"] == "fedavg"


def test_json_lines_by_round(runs: list[RunFacts], tmp_path: Path) -> None:
    EXPORTS["jsonl"](runs, tmp_path / "out.jsonl", rounds=True)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["run"], row["round"], row["accuracy"]) for row in rows] == [
        (str(run.path), number + 1, 0.5 + 0.1 * number) for run in runs for number in (0, 1)
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_reads_what_was_measured(runs: list[RunFacts], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    EXPORTS["tensorboard"](runs, tmp_path / "logs")
    for name in (f"{tmp_path.name}/a", "other/a"):
        log: Any = EventAccumulator(str(tmp_path / "logs" / name))
        log.Reload()
        assert [event.step for event in log.Scalars("accuracy")] == [1, 2]
        assert log.Scalars("accuracy")[1].value == pytest.approx(0.6)


@pytest.mark.filterwarnings("ignore")
def test_mlflow_reads_what_was_measured(runs: list[RunFacts], tmp_path: Path) -> None:
    mlflow: Any = pytest.importorskip("mlflow", reason="MLflow is an extra that the tests do not install")
    EXPORTS["mlflow"](runs[:1], tmp_path / "out.db")
    (found,) = mlflow.search_runs(experiment_names=["fedward"], output_format="list")
    assert found.data.params["algorithm.preset"] == "fedavg"
    assert found.data.metrics["accuracy"] == pytest.approx(0.6)
    history = mlflow.MlflowClient().get_metric_history(found.info.run_id, "accuracy")
    assert [each.step for each in history] == [1, 2]


def records_of_wandb(file: Path) -> Iterator[Any]:
    """The records of a W&B file of less than 32 KB: after 7 bytes, each with checksum, length and kind."""
    record: Any = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    content, place = file.read_bytes(), 7
    while place + 7 <= len(content):
        _, length, kind = struct.unpack_from("<IHB", content, place)
        assert kind == 1  # a whole record
        yield record.FromString(content[place + 7 : place + 7 + length])
        place += 7 + length


@pytest.mark.filterwarnings("ignore")
def test_wandb_has_what_was_measured_and_is_asked_to_send_nothing(
    runs: list[RunFacts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb: Any = pytest.importorskip("wandb", reason="W&B is an extra that the tests do not install")
    monkeypatch.setenv("WANDB_MODE", "online")  # whatever is set elsewhere
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    try:
        EXPORTS["wandb"](runs, tmp_path / "out")
    finally:
        wandb.teardown()  # its service is a process of its own
    found = sorted((tmp_path / "out" / "wandb").glob("offline-run-*/run-*.wandb"))
    named = {}
    for file in found:
        records = list(records_of_wandb(file))
        (begun,) = (each.run for each in records if each.WhichOneof("record_type") == "run")
        facts = {each.key: json.loads(each.value_json) for each in begun.config.update}
        history = [each.history for each in records if each.WhichOneof("record_type") == "history"]
        rows = [
            {item.key or item.nested_key[0]: json.loads(item.value_json) for item in each.item}
            for each in history
        ]
        named[begun.display_name] = facts, [(row["_step"], row["accuracy"]) for row in rows]
    assert set(named) == {f"{tmp_path.name}/a", "other/a"}
    facts, history = named["other/a"]
    assert facts["epsilon"] == runs[1].facts["epsilon"]
    assert facts["algorithm.preset"] == "fedavg"
    assert history == [(1, 0.5), (2, pytest.approx(0.6))]
