"""The walk over TLS, on loopback: superlink, supernodes with keys, and the same bits as in a simulation."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from fedward.backends.in_process import InProcess
from fedward.cli import app
from fedward.config.experiment import read
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.rundir import checkpoint
from fedward.studies.training.training_study import prepare
from markdown_pages import blocks
from processes import until

PAGE = Path(__file__).parents[2] / "docs" / "federation" / "five-hospitals.md"
NODES = 3
# A federation that hangs ends by itself, whatever becomes of the test.
LONGEST = 1200

INSDP = """
[algorithm]
preset = "insdp_fedavg"
sampler = { name = "poisson", rate = 0.5 }

[algorithm.local]
name = "dp_sgd"
learning_rate = 0.5
probability = 0.5
expected_batch = 20.0
steps = 2
noise_multiplier = 1.0
clip_bound = 1.0
"""


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def commands(ports: list[int]) -> list[str]:
    """The blocks of the page that start something, for three hospitals and on free ports."""
    text = PAGE.read_text(encoding="utf8")
    shell = [
        block.text for block in blocks(text) if block.language == "sh" and "pip install" not in block.text
    ]
    words = {
        "8700": str(ports[0]),
        "--nodes 5": f"--nodes {NODES}",
        "num-partitions=5": f"num-partitions={NODES}",
        "in 0 1 2 3 4": "in 0 1 2",
        "--port 910$i": "--port ${ports[$i]}",
    }
    for old, new in words.items():
        assert any(old in block for block in shell), f"the page does not say {old!r} any more"
        shell = [block.replace(old, new) for block in shell]
    return shell


def fedward_here(line: str) -> str:
    """What a command of the page prints, run in this process: starting one takes seconds."""
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, (line, done.output, done.exception)
    return done.output


def without_fedward(block: str) -> str:
    return "\n".join(line for line in block.splitlines() if not line.startswith("fedward"))


def simulated(experiment: Path) -> ServerState:
    setup = prepare(read(experiment))
    steps = train(
        setup.algorithm,
        setup.model,
        setup.federation,
        InProcess(setup.model, setup.federation),
        rounds=setup.experiment.rounds,
        seed=setup.experiment.seed,
    )
    return list(steps)[-1][0]


def state_of(run: Path) -> ServerState:
    return checkpoint.from_bytes((run / "checkpoint.pt").read_bytes(), str(run))


@contextmanager
def federation(script: str, folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Whatever a script starts, in a session of its own, all of which ends here or by itself."""
    command = ["timeout", "-s", "KILL", str(LONGEST), "bash", "-c", script]
    with (folder / "script.log").open("wb") as log:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLWR_", "PYTEST_"))}
    return kept | {
        "PATH": path,
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_HOME": str(tmp_path / "hospitals" / "flower-home"),
        "OMP_NUM_THREADS": "1",
    }


def run_app(folder: Path, path: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["flwr", "run", path, "hospitals", "--stream"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    return done.stdout + done.stderr


def logs(folder: Path) -> str:
    files = [folder / "server" / "superlink.log", *sorted(folder.glob("nodes/*/supernode.log"))]
    return "\n".join(f"== {file}\n{file.read_text()[-3000:]}" for file in files if file.exists())


def test_the_walk_runs_over_tls_and_has_the_bits_of_the_simulation(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")
    for tool in ("openssl", "ssh-keygen", "timeout"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    (experiment,) = (
        block.text for block in blocks(PAGE.read_text(encoding="utf8")) if block.language == "toml"
    )
    # One round shows what TLS adds; several are told apart where nothing has to be started.
    experiment = experiment.replace("rounds = 2", "rounds = 1")
    (tmp_path / "experiment.toml").write_text(experiment, encoding="utf8")
    ports = free_ports(1 + NODES)
    make, keys, *start, train_block = commands(ports)
    hospitals = tmp_path / "hospitals"
    monkeypatch.chdir(tmp_path)
    for line in make.splitlines():
        monkeypatch.chdir(hospitals) if line == "cd hospitals" else fedward_here(line)
    subprocess.run(["bash", "-ec", without_fedward(keys)], check=True, env=environment, capture_output=True)
    for line in keys.splitlines():
        if line.startswith("fedward"):
            assert "for its owner alone" in fedward_here(line) or "rules.toml" in line
    assert train_block.splitlines()[0] == "flwr run app hospitals --stream"
    listed = f"ports=({' '.join(map(str, ports[1:]))})"
    script = "\n".join(["set -e", "cd hospitals", listed, *start, "touch started", "wait"])
    with federation(script, tmp_path, environment) as started:
        until(lambda: (hospitals / "started").exists() or started.poll() is not None, LONGEST)
        assert started.poll() is None, (tmp_path / "script.log").read_text()
        _strangers_are_refused(hospitals, ports[0], environment)

        said = run_app(hospitals, "app", environment)
        assert "finished" in said, said + logs(hospitals)
        found, wanted = state_of(hospitals / "server" / "run"), simulated(tmp_path / "experiment.toml")
        assert torch.equal(found.parameters, wanted.parameters)
        assert found.ledger == wanted.ledger

        assert "1 round" in fedward_here(train_block.splitlines()[1])

        _users_protect_themselves(tmp_path, experiment, environment)


def _users_protect_themselves(folder: Path, experiment: str, environment: dict[str, str]) -> None:
    """The same nodes with other rules: noise of their own, here from seeds, and a ledger that is theirs."""
    hospitals = folder / "hospitals"
    text = re.sub(r"\[algorithm\].*?(?=\[privacy\])", INSDP.lstrip() + "\n", experiment, flags=re.S)
    (folder / "insdp.toml").write_text(text, encoding="utf8")
    fedward_here(f"fedward flower new {folder}/insdp --file {folder}/insdp.toml --nodes {NODES}")
    shutil.copy(hospitals / "server" / "federation.toml", folder / "insdp" / "server" / "federation.toml")
    shutil.copytree(hospitals / "nodes", folder / "insdp" / "nodes", dirs_exist_ok=True)
    for node in (folder / "hospitals" / "nodes").iterdir():
        rules = 'trust_server = false\nepsilon = 50.0\ndelta = 1e-3\nledger = "ledger"\nseeded_noise = true\n'
        (node / "rules.toml").write_text(rules + 'private_key = "key"\n', encoding="utf8")
    said = run_app(folder, "insdp/app", environment)
    assert "finished" in said, said + logs(hospitals)
    found, wanted = state_of(folder / "insdp" / "server" / "run"), simulated(folder / "insdp.toml")
    assert torch.equal(found.parameters, wanted.parameters)
    assert found.users is not None
    from fedward.deploy.node.node_report import report_ledger

    for place in range(NODES):
        report = report_ledger(hospitals / "nodes" / f"node-{place}" / "rules.toml")
        for name, guarantee in report.users:
            assert guarantee.rounds == 1
            assert found.users.ledger(place * 10 + int(name)).rounds == 1


def _strangers_are_refused(hospitals: Path, port: int, environment: dict[str, str]) -> None:
    """Plain text, another authority, an unknown key, and a known key without its private half."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP/1.1 2")

    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        others = ssl.create_default_context()  # authorities of the system, not the federation's
        with pytest.raises(ssl.SSLError):
            others.wrap_socket(raw, server_hostname="localhost")

    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", str(hospitals / "unknown")],
        check=True,
    )
    (own_port,) = free_ports(1)
    command = ["flower-supernode", "--root-certificates", "server/ca.crt", "--superlink", f"127.0.0.1:{port}"]
    command += ["--port", str(own_port), "--auth-supernode-private-key", "unknown", "--max-retries", "1"]
    unknown = subprocess.run(
        ["timeout", "-s", "KILL", "300", *command],
        cwd=hospitals,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert unknown.returncode not in (0, -signal.SIGKILL, 137), unknown.stdout + unknown.stderr

    assert "401" in _activate_in_the_name_of_node_0(hospitals, port, signed_by="unknown")


def _activate_in_the_name_of_node_0(hospitals: Path, port: int, signed_by: str) -> str:
    """What the superlink says to node 0's public key with a signature by another private key."""
    import httpx
    from cryptography.hazmat.primitives import serialization
    from flwr.proto.fleet_pb2 import ActivateNodeRequest
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    public: Any = serialization.load_ssh_public_key((hospitals / "nodes/node-0/key.pub").read_bytes())
    private: Any = serialization.load_ssh_private_key((hospitals / signed_by).read_bytes(), None)
    client = FleetHttpClient.from_server_address(
        server_address=f"127.0.0.1:{port}",
        insecure=False,
        root_certificates=(hospitals / "server" / "ca.crt").read_bytes(),
        interceptors=[NodeAuthHttpInterceptor(private, public)],
    )
    try:
        client.ActivateNode(
            ActivateNodeRequest(public_key=public_key_to_bytes(public), heartbeat_interval=30)
        )
    except httpx.HTTPStatusError as error:
        return str(error.response.status_code)
    finally:
        client.close()
    return "accepted"
