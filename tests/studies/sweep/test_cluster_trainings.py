from __future__ import annotations

import signal
from pathlib import Path

import fedward
from fedward.backends.compute import Compute
from fedward.rundir.store import RunDirectory
from processes import until
from raylets import needs_ray, processes_with, start_command
from studies.same_files import require_same
from tiny_experiment import CONTENT, TEXT

pytestmark = needs_ray


def test_a_sweep_on_a_cluster_has_the_same_files(tmp_path: Path, cluster_address: str) -> None:
    for name, compute in (("here", Compute(workers=0)), ("there", Compute(cluster=cluster_address))):
        fedward.sweep(
            CONTENT,
            vary={"algorithm.noise_multiplier": [1.0, 2.0]},
            seeds=2,
            out=tmp_path / name,
            compute=compute,
            quiet=True,
        )
    require_same(tmp_path / "here", tmp_path / "there", at_least=20)


def test_a_driver_killed_while_trainings_are_under_way_has_reserved_all_of_them(
    tmp_path: Path, cluster_address: str
) -> None:
    long = TEXT.replace("rounds = 2", "rounds = 5").replace("epochs = 1", "epochs = 100")
    varied = '[sweep]\n"algorithm.noise_multiplier" = [1.0, 2.0, 4.0]\n'
    (tmp_path / "e.toml").write_text(f"{long}\n{varied}")
    begun = tmp_path / "there"
    driver = start_command(tmp_path, "sweep", "e.toml", "--out", "there", "--cluster", cluster_address)
    until(lambda: any(begun.glob("*/ledger.json")) or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    until(lambda: not processes_with("ray::run_training"))
    under_way = [
        each.parent for each in begun.glob("*/ledger.json") if not (each.parent / "result.json").exists()
    ]
    assert under_way
    for path in under_way:
        ledger = RunDirectory(path).ledger()
        assert (ledger.rounds, ledger.rounds_reserved) == (0, 5)

    for name, compute in (("here", Compute(workers=0)), ("there", Compute(cluster=cluster_address))):
        fedward.sweep(tmp_path / "e.toml", out=tmp_path / name, compute=compute, quiet=True)
    require_same(tmp_path / "here", begun, at_least=18)
