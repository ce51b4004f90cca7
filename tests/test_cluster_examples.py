"""The files of examples/cluster: the script with a stand-in for SLURM, the others by their fields."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # mkdocs brings it

from tiny_experiment import TEXT

FOLDER = Path(__file__).parents[1] / "examples" / "cluster"

# Runs every task of an array, and a dependent job at once, one after the other.
SBATCH = """#!/bin/bash
set -e
while [[ "$1" == --* ]]; do
    case "$1" in --array=*) range=${1#--array=};; esac
    shift
done
script=$1; shift
if [ -n "${range:-}" ]; then
    for ((i = ${range%-*}; i <= ${range#*-}; i++)); do SLURM_ARRAY_TASK_ID=$i bash "$script" "$@" >&2; done
else
    bash "$script" "$@" >&2
fi
echo 17
"""


def commands(folder: Path) -> dict[str, str]:
    """An environment with ``sbatch`` and ``fedward`` in it."""
    for name, text in (
        ("sbatch", SBATCH),
        ("fedward", f'#!/bin/bash\nexec "{sys.executable}" -m fedward "$@"\n'),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_slurm_script_trains_in_parts_and_merges(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "e.toml").write_text(TEXT)
    told = {"FILE": "e.toml", "REPLICAS": "5", "PARTS": "2", "OUT": "whole", "COMMAND": "certify"}
    environment = commands(tmp_path / "bin") | told | {"SLURM_CPUS_PER_TASK": "0"}
    done = subprocess.run(
        ["bash", str(FOLDER / "slurm.sh")], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "whole-part-1" / "ahead-000002-000005.npz").exists()
    assert (tmp_path / "whole" / "certificate.json").exists()


def test_the_kubernetes_job_asks_for_every_part_once(tmp_path: Path) -> None:
    job = yaml.safe_load((FOLDER / "kubernetes.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    (container,) = spec["template"]["spec"]["containers"]
    values = {each["name"]: each["value"] for each in container["env"]}
    assert int(values["PARTS"]) == spec["completions"]
    (script,) = container["args"]
    (tmp_path / "fedward").write_text('#!/bin/bash\necho "$@"\n')
    (tmp_path / "fedward").chmod(0o755)
    ranges = []
    for index in range(spec["completions"]):
        environment = {**os.environ, **values, "JOB_COMPLETION_INDEX": str(index)}
        environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
        said = subprocess.run(
            [*container["command"], script], env=environment, capture_output=True, text=True
        )
        found = re.search(r"--range (\d+):(\d+)", said.stdout)
        assert found is not None, said.stderr
        ranges.append((int(found[1]), int(found[2])))
    assert ranges[0][0] == 0
    assert ranges[-1][1] == int(values["REPLICAS"])
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ranges))


def test_the_file_for_ray_up_has_what_ray_asks_for() -> None:
    file = yaml.safe_load((FOLDER / "ray-up.yaml").read_text())
    assert file["provider"]["type"] == "local"
    assert {"head_ip", "worker_ips"} <= file["provider"].keys()
    try:
        from ray.autoscaler._private.util import fillout_defaults, validate_config
    except ImportError:
        pytest.skip("Ray is not installed, which would check the file itself")
    validate_config(fillout_defaults(file))
