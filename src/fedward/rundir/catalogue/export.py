"""Runs for other programs: CSV, JSON lines, TensorBoard, MLflow, W&B. Rounds are counted from 1."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fedward.base.durable_files import explain_write_errors, write_atomically
from fedward.base.table_rows import csv_lines
from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.facts import Fact, RunFacts, flat

Row = dict[str, Any]


def as_rows(runs: Iterable[RunFacts], *, rounds: bool = False) -> list[Row]:
    """One row a run with all its facts, or one a measured round with what was measured."""
    if rounds:
        return [{"run": str(run.path), **dict(flat(record))} for run in runs for record in _measured(run)]
    rows: list[Row] = []
    for run in runs:
        note = {"note": run.note} if run.note else {}
        rows.append({"run": str(run.path), "kind": run.kind, "state": run.state, **run.facts, **note})
    return rows


def to_csv(runs: Sequence[RunFacts], out: Path, *, rounds: bool = False) -> None:
    """A table with a column for every key that any of them has."""
    rows = as_rows(runs, rounds=rounds)
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["run"]
    text = csv_lines(columns, ([row.get(key, "") for key in columns] for row in rows))
    write_atomically(out, text.encode(errors="backslashreplace"))


def to_json_lines(runs: Sequence[RunFacts], out: Path, *, rounds: bool = False) -> None:
    """One object a line."""
    text = "".join(json.dumps(row) + "\n" for row in as_rows(runs, rounds=rounds))
    write_atomically(out, text.encode())


def to_tensorboard(runs: Sequence[RunFacts], out: Path, *, rounds: bool = False) -> None:
    """A log directory a run: its facts as text, what was measured as scalars over rounds."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InvalidValue("TensorBoard is not installed: pip install 'fedward[tensorboard]'") from None
    with explain_write_errors(out), _silent_threads():
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=out) as temporary:
            for run, name in zip(runs, _names(runs), strict=True):
                with SummaryWriter(f"{temporary}/{name}") as writer:
                    facts = "\n".join(f"| {key} | {value} |" for key, value in run.facts.items())
                    writer.add_text("experiment", f"| key | value |\n| --- | --- |\n{facts}", 0)
                    for record in _measured(run):
                        for key, value in _numbers(record).items():
                            writer.add_scalar(key.replace(".", "/"), value, record["round"])
            # All of them or, on a disk that is full, none.
            for file in Path(temporary).rglob("events.*"):
                place = out / file.relative_to(temporary)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.replace(place)


@contextmanager
def _silent_threads() -> Iterator[None]:
    """TensorBoard writes in a thread, and says what was wrong there once more to whoever closes the file."""
    before = threading.excepthook
    threading.excepthook = lambda told: None if isinstance(told.exc_value, OSError) else before(told)
    try:
        yield
    finally:
        threading.excepthook = before


def to_mlflow(runs: Sequence[RunFacts], out: Path, *, rounds: bool = False) -> None:
    """An MLflow run a run, in a local store: facts as parameters, measurements as metrics."""
    try:
        import mlflow
    except ImportError:
        raise InvalidValue("MLflow is not installed: pip install 'fedward[mlflow]'") from None
    mlflow.set_tracking_uri(f"sqlite:///{out.absolute()}")
    mlflow.set_experiment("fedward")
    for run, name in zip(runs, _names(runs), strict=True):
        with mlflow.start_run(run_name=name):
            mlflow.set_tags({"kind": run.kind, "state": run.state})
            for key, value in run.facts.items():
                mlflow.log_param(key, value)
            for record in _measured(run):
                mlflow.log_metrics(_numbers(record), step=record["round"])


def to_wandb(runs: Sequence[RunFacts], out: Path, *, rounds: bool = False) -> None:
    """A W&B run a run, in a local directory: facts as its configuration, measurements as its history.

    Nothing is sent to anybody: ``wandb sync`` does that, if and when its user says so.
    """
    try:
        import wandb
    except ImportError:
        raise InvalidValue("W&B is not installed: pip install 'fedward[wandb]'") from None
    with explain_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    # What W&B finds out by itself, about the machine and the program, is not about the run.
    quiet = wandb.Settings(
        mode="offline",
        root_dir=str(out),
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        save_code=False,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    for run, name in zip(runs, _names(runs), strict=True):
        facts = {"kind": run.kind, "state": run.state, **run.facts}
        with wandb.init(project="fedward", name=name, config=facts, settings=quiet) as copy:
            for record in _measured(run):
                copy.log(_numbers(record), step=record["round"])


def _measured(run: RunFacts) -> Iterator[Row]:
    """What was measured, with rounds counted from 1; the files of a run count from 0."""
    return ({**record, "round": record["round"] + 1} for record in run.read_rounds())


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, Fact] = dict(flat(dict(record)))
    return {
        key: float(value) for key, value in found.items() if key != "round" and not isinstance(value, str)
    }


def _names(runs: Sequence[RunFacts]) -> list[str]:
    """Short and different: the last part of each path, or more of it where two share that."""
    short = [run.path.resolve().name for run in runs]
    return [
        name if short.count(name) == 1 else "/".join(run.path.resolve().parts[-2:])
        for run, name in zip(runs, short, strict=True)
    ]


EXPORTS: dict[str, Callable[..., None]] = {
    "csv": to_csv,
    "jsonl": to_json_lines,
    "tensorboard": to_tensorboard,
    "mlflow": to_mlflow,
    "wandb": to_wandb,
}
