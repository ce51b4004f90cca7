"""Malicious nodes of a real federation over Flower, and what defences make of them; all on loopback.

    python benchmarks/staged_nodes.py                     # needs fedward[flower], openssl and ssh-keygen
    python benchmarks/staged_nodes.py --rounds 5 --proxy --json FILE

Three supernodes hold four users each, and one of the nodes carries out an attack, as the page on operations
tells: its users send their updates turned round and ten times as long. Each defence is one run of the same
app on the same services. The simulation does the same with the same users malicious, and the models have the
same bits where no attacker draws anything. ``--proxy`` puts nginx between the superlink and its nodes, with
the configuration of that page, and asks it for what it must not let through.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import torch
from loopback_federation import Loopback, end_on_sigterm

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import SignFlip
from fedward.backends.in_process import InProcess
from fedward.config.experiment import read
from fedward.core.train import train
from fedward.rundir import checkpoint
from fedward.studies.training.training_study import prepare

NODES, USERS, BAD = 3, 12, 1
FACTOR = 10.0
PAGE = Path(__file__).parents[1] / "docs" / "federation" / "operations.md"
DEFENCES = {
    "none": 'preset = "fedavg"',
    "norm bounding": 'preset = "norm_bounding"\nclip_bound = 1.0',
    "median": 'preset = "median"',
    "Krum": 'preset = "krum"\nmalicious = 4',
    "central DP": 'preset = "user_dp_fedavg"\nclip_bound = 1.0\nnoise_multiplier = 0.5',
}
EXPERIMENT = """
seed = 1
rounds = {rounds}
[data]
name = "digits"
users = 12
[model]
name = "logistic_regression"
[algorithm]
{defence}
sampler = {{ name = "everyone" }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 8, epochs = 2 }}
[privacy]
users = 12
delta = 1e-3
"""
PLAIN = 'app = client_app(load_users, file=EXPERIMENT, num_classes=10, rules=HERE / "rules.toml")'
STAGED = """from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import SignFlip

ATTACK = Attack(who=NamedUsers(users=("all",)), model=(SignFlip(factor={factor}),))

app = client_app(
    load_users,
    file=EXPERIMENT,
    num_classes=10,
    rules=HERE / "rules.toml",
    attack=lambda config: ATTACK if config["partition-id"] == {bad} else None,
)"""


def make_app(here: Loopback, name: str, rounds: int, defence: str, staged: bool) -> Path:
    """An app for one run; with ``staged`` its node ``BAD`` attacks."""
    file = here.folder / f"{name}.toml"
    file.write_text(EXPERIMENT.format(rounds=rounds, defence=defence))
    here.run(["fedward", "flower", "new", name, "--file", file.name, "--nodes", str(NODES)])
    client = here.folder / name / "app" / "federated_app" / "client_app.py"
    if staged:
        text = client.read_text()
        if PLAIN not in text:
            raise SystemExit("the starter's client_app.py is not what this program knows")
        client.write_text(text.replace(PLAIN, STAGED.format(factor=FACTOR, bad=BAD)))
    federation = here.folder / name / "server" / "federation.toml"
    text = federation.read_text()
    for place in range(NODES):
        key = f', key = "{here.folder / f"key{place}.pub"}" }}'
        text = re.sub(rf"(?m)^(node-{place} = {{.*?) }}.*$", lambda match, key=key: match[1] + key, text)
    federation.write_text(text)
    return here.folder / name


def over_flower(here: Loopback, folder: Path) -> tuple[float, torch.Tensor]:
    """Runs the app: the model's accuracy on the server's test data, and its parameters."""
    run = folder / "server" / "run"
    here.run(["flwr", "run", str(folder / "app"), "here"])
    end = time.monotonic() + 900
    while not (run / "result.json").exists():
        if time.monotonic() > end:
            raise SystemExit(f"{folder.name} did not end: see {here.folder}")
        time.sleep(0.2)
    state = checkpoint.from_bytes((run / "checkpoint.pt").read_bytes(), str(run))
    return accuracy(here.folder / f"{folder.name}.toml", state.parameters), state.parameters


def accuracy(experiment: Path, parameters: torch.Tensor) -> float:
    setup = prepare(read(experiment))
    if setup.federation.test is None:
        raise SystemExit("the data set has no test data")
    return InProcess(setup.model, setup.federation).evaluate(parameters, setup.federation.test).accuracy


def simulated(experiment: Path, staged: bool) -> torch.Tensor:
    """The parameters of the same training on one machine, with the same users malicious."""
    setup = prepare(read(experiment))
    each = USERS // NODES
    who = NamedUsers(users=tuple(setup.federation.names[BAD * each : (BAD + 1) * each]))
    attack = Attack(who=who, model=(SignFlip(factor=FACTOR),))
    adversary = attack.stage(setup.algorithm, setup.federation, 1).adversary if staged else None
    steps = train(
        setup.algorithm,
        setup.model,
        setup.federation,
        InProcess(setup.model, setup.federation),
        adversary=adversary,
        rounds=setup.experiment.rounds,
        seed=1,
    )
    return list(steps)[-1][0].parameters


def start_proxy(here: Loopback) -> int:
    """Starts nginx with the configuration of the page on operations; the port that it serves."""
    text = PAGE.read_text()
    (server,) = re.findall(r"```text\n(server \{.*?\n\})\n```", text, re.DOTALL)
    port = here.ports[1 + NODES]
    for old, new in {
        "listen 8700": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8701": here.address,
        "/srv/hospitals/server/server.pem": str(here.folder / "s.pem"),
        "/srv/hospitals/server/server.key": str(here.folder / "s.key"),
        "/srv/hospitals/server/ca.crt": str(here.folder / "ca.crt"),
    }.items():
        if old not in server:
            raise SystemExit(f"{PAGE.name} has no {old}")
        server = server.replace(old, new)
    folder = here.folder / "nginx"
    folder.mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    # Started by root its workers would be nobody, and not be allowed to write into this folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    own = f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
    file = folder / "nginx.conf"
    file.write_text(f"{own}http {{\naccess_log {folder}/access.log; {paths}\n{server}\n}}\n")
    here.start("nginx", ["nginx", "-c", str(file), "-p", str(folder), "-e", f"{folder}/error.log"])
    return port


def refusals(here: Loopback, port: int) -> dict[str, int]:
    """The answers of the proxy to what must not come through it: paths and their HTTP status."""
    trusted = ssl.create_default_context(cafile=str(here.folder / "ca.crt"))
    found = {}
    for path, size in (("/v1/control/", 1), ("/v1/runtime/", 1), ("/", 1), ("/v1/fleet/x", 9 << 20)):
        asked = urllib.request.Request(f"https://127.0.0.1:{port}{path}", data=bytes(size))
        for _ in range(50):  # until nginx listens
            try:
                with urllib.request.urlopen(asked, context=trusted, timeout=10) as answer:
                    found[f"{path} ({size} bytes)"] = answer.status
                break
            except urllib.error.HTTPError as error:
                found[f"{path} ({size} bytes)"] = error.code
                break
            except urllib.error.URLError:
                time.sleep(0.1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--proxy", action="store_true", help="nodes reach the superlink through nginx")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end_on_sigterm()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        here = Loopback(Path(name), NODES, spare_ports=1)
        try:
            here.start_link()
            entry = here.address
            if options.proxy:
                port = start_proxy(here)
                entry = f"127.0.0.1:{port}"
                found["proxy"] = refusals(here, port)
                print("the proxy answers", found["proxy"])
            for place in range(NODES):
                here.register(place)
                here.start_node(place, entry)
            print(f"{'defence':16} {'honest':>8} {'attacked':>9}   the bits of the simulation")
            for number, (defence, keys) in enumerate(DEFENCES.items()):
                line: dict[str, Any] = {}
                for staged in (False, True):
                    folder = make_app(here, f"run{number}{staged:d}", options.rounds, keys, staged)
                    share, parameters = over_flower(here, folder)
                    wanted = simulated(here.folder / f"{folder.name}.toml", staged)
                    line["attacked" if staged else "honest"] = share
                    line["same bits"] = line.get("same bits", True) and torch.equal(parameters, wanted)
                found[defence] = line
                shares = f"{100 * line['honest']:7.1f}% {100 * line['attacked']:8.1f}%"
                print(f"{defence:16} {shares}   {line['same bits']}", flush=True)
        finally:
            here.end()
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
