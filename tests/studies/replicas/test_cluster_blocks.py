from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fedward.backends.compute import Compute
from fedward.backends.ray import connection
from fedward.rundir.replica_store import count_finished
from fedward.studies.replicas.replica_results import load_replicas
from processes import until
from raylets import needs_ray, processes_with, start_command
from studies.replicas_wanted import go, wanted
from tiny_experiment import TEXT

pytestmark = needs_ray

NAMES = list(wanted(1).variants)


@pytest.fixture(scope="module")
def on(cluster_address: str) -> Iterator[Compute]:
    compute = Compute(cluster=cluster_address).check()
    with connection.joined(compute):
        yield compute


def same(one: Path, other: Path, variant: str) -> bool:
    return np.array_equal(load_replicas(one, variant).scores, load_replicas(other, variant).scores)


def test_blocks_on_a_cluster_have_the_same_bits_and_run_as_few_jobs(tmp_path: Path, on: Compute) -> None:
    here = go(wanted(12), tmp_path / "here")
    there = go(wanted(12), tmp_path / "there", compute=on)
    for name in NAMES:
        assert same(tmp_path / "here", tmp_path / "there", name)
    assert (there[-1].asked, there[-1].run) == (here[-1].asked, here[-1].run)
    assert there[-1].finished == 12
    assert there[-1].done == there[-1].total
    assert any(step.blocks for step in there)
    results = [(tmp_path / name / "result.json").read_text() for name in ("here", "there")]
    assert results[0] == results[1]


def test_more_replicas_may_be_added_here_and_there(tmp_path: Path, on: Compute) -> None:
    go(wanted(3), tmp_path / "both")
    go(wanted(7), tmp_path / "both", compute=on)
    go(wanted(9), tmp_path / "both")
    go(wanted(9), tmp_path / "here")
    assert same(tmp_path / "both", tmp_path / "here", NAMES[0])


def test_a_block_that_was_begun_here_goes_on_there(tmp_path: Path, on: Compute) -> None:
    go(wanted(4), tmp_path / "both", stop=9)
    assert (tmp_path / "both" / "block.pt").exists()
    go(wanted(6), tmp_path / "both", compute=on)
    go(wanted(6), tmp_path / "here")
    assert same(tmp_path / "both", tmp_path / "here", NAMES[1])


def test_running_sums_are_the_same_whatever_came_first(tmp_path: Path, on: Compute) -> None:
    go(wanted(8, save_space=True), tmp_path / "here")
    go(wanted(8, save_space=True, block=1), tmp_path / "there", compute=on)
    found = [dict(np.load(tmp_path / name / "sums.npz")) for name in ("here", "there")]
    assert all(np.array_equal(array, found[1][key]) for key, array in found[0].items())


def experiment(folder: Path) -> Path:
    file = folder / "e.toml"
    file.write_text(TEXT.replace("rounds = 2", "rounds = 6").replace("epochs = 1", "epochs = 20"))
    return file


def command(address: str, out: Path, replicas: int) -> list[str]:
    return ["replicas", "e.toml", "-m", str(replicas), "--out", str(out), "--cluster", address]


def begun(out: Path) -> bool:
    return any(out.glob("scores-*.npz")) or any(out.glob("ahead-*.npz"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    from fedward.config.experiment import read
    from fedward.studies.replicas.replica_setup import prepare_variants
    from fedward.studies.replicas.replica_study import ReplicaRun

    run = ReplicaRun(variants=prepare_variants({"all": read(experiment(folder))}), replicas=60)
    go(run, folder / "run")
    return folder / "run"


def test_nodes_that_a_command_started_end_with_it(tmp_path: Path, reference: Path) -> None:
    experiment(tmp_path)
    out, before = tmp_path / "out", set(processes_with("raylet"))
    driver = start_command(tmp_path, *command("local:2", out, 60))
    until(lambda: begun(out))
    assert set(processes_with("raylet/raylet")) - before
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    until(lambda: not set(processes_with("raylet")) - before)


def test_killed_drivers_workers_and_nodes_change_nothing_and_leave_nothing(
    tmp_path: Path, cluster_address: str, reference: Path
) -> None:
    """The last of this file: afterwards there is one node."""
    experiment(tmp_path)
    out = tmp_path / "out"
    driver = start_command(tmp_path, *command(cluster_address, out, 60), "--block", "2")
    until(lambda: begun(out))
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    until(lambda: not processes_with("ray::run_block"))
    before = count_finished(out)
    assert before < 60

    driver = start_command(tmp_path, *command(cluster_address, out, 60), "--block", "2")
    until(lambda: count_finished(out) > before or driver.poll() is not None)
    until(lambda: bool(_kill_one("ray::run_block")) or driver.poll() is not None)
    until(lambda: bool(_kill_one("--node_ip_address=127.0.0.3")))
    _, told = driver.communicate()
    assert driver.returncode == 0, told
    assert b"runs again" in told
    assert count_finished(out) == 60
    assert same(out, reference, "all")


def _kill_one(word: str) -> list[int]:
    found = [pid for pid in processes_with(word) if _is_ours(pid)][:1]
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return found


def _is_ours(pid: int) -> bool:
    """Whether it is a raylet, or a worker: other processes have the address in their commands too."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"raylet/raylet\0" in command or command.startswith(b"ray::")
