"""Seconds of a round over Flower: fedward's app beside a plain FedAvg app, on the same services.

    python benchmarks/flower_rounds.py                  # needs fedward[flower], openssl and ssh-keygen
    python benchmarks/flower_rounds.py --rounds 4 --turns 3 --json FILE

Both train digits_cnn on the same 1,438 examples at three nodes, four epochs in batches of 8, everybody in
every round, and measure the model after each. The plain app takes a node for one client, as Flower does, and
knows nothing of privacy. The two take turns. Everything listens on loopback, with TLS and keys, and ends with
this program. The first round of a turn starts what is not started yet, and is left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path

from loopback_federation import Loopback, end_on_sigterm, federation

NODES = 3
EXPERIMENT = """
seed = 1
rounds = {rounds}
[data]
name = "digits"
users = 30
[model]
name = "digits_cnn"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 1.0
sampler = {{ name = "everyone" }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 8, epochs = 4, momentum = 0.9 }}
[privacy]
users = 30
delta = 1e-3
"""
SERVER = """
import time
import torch
from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from federated_app.plain import build, load, test
app = ServerApp()
@app.main()
def main(grid, context):
    x, y = test()
    def evaluate(server_round, arrays):
        model = load(arrays)
        with torch.no_grad():
            right = float((model(x).argmax(1) == y).float().mean())
        with open({times!r}, "a") as file:
            file.write(f"{{time.time()}} {{right}}\\n")
        return MetricRecord({{"accuracy": right}})
    strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes={nodes}, min_available_nodes={nodes})
    first = ArrayRecord(build().state_dict())
    strategy.start(grid=grid, initial_arrays=first, num_rounds={rounds}, evaluate_fn=evaluate)
"""
CLIENT = """
import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from federated_app.plain import load, mine
app = ClientApp()
@app.train()
def train(message, context):
    torch.set_num_threads(1)
    model = load(message.content["arrays"])
    x, y = mine(int(context.node_config["partition-id"]))
    steps = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        for batch in torch.randperm(len(y)).split(8):
            steps.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            steps.step()
    metrics = MetricRecord({"num-examples": len(y)})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return Message(content, reply_to=message)
"""
PLAIN = """
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))
def load(arrays):
    model = build()
    model.load_state_dict(arrays.to_torch_state_dict())
    return model
def _data():
    digits = load_digits()
    x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    return x, torch.tensor(digits.target)
def test():
    x, y = _data()
    return x[1438:], y[1438:]
def mine(place):
    x, y = _data()
    return x[:1438][place::3], y[:1438][place::3]
"""


def plain_app(folder: Path, rounds: int) -> Path:
    """A Flower app that knows no fedward: its directory."""
    app = folder / "plain" / "app" / "federated_app"
    app.mkdir(parents=True)
    times = str(folder / "plain.txt")
    (app / "server_app.py").write_text(SERVER.format(times=times, nodes=NODES, rounds=rounds))
    (app / "client_app.py").write_text(CLIENT)
    (app / "plain.py").write_text(PLAIN)
    (app / "__init__.py").write_text("")
    text = (folder / "ours" / "app" / "pyproject.toml").read_text()
    (app.parent / "pyproject.toml").write_text(text.replace('name = "federated-app"', 'name = "plain-app"'))
    return app.parent


def follow(app: Path, file: Path, rounds: int, here: Loopback, settings: str = "") -> list[float]:
    """Runs an app; the moments at which its file has grown by a line."""
    more = ["--run-config", settings] if settings else []
    here.run(["flwr", "run", str(app), "here", *more])
    moments: list[float] = []
    end = time.monotonic() + 900
    while len(moments) < rounds:
        lines = len(file.read_text().splitlines()) if file.exists() else 0
        moments += [time.monotonic()] * (lines - len(moments))
        if time.monotonic() > end:
            raise SystemExit(f"{app} did not end: see {here.folder}")
        time.sleep(0.02)
    return moments


def seconds_of(moments: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4, help="of one turn; its first is not counted")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end_on_sigterm()
    rounds = options.rounds
    seconds: dict[str, list[float]] = {"plain Flower": [], "fedward": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with federation(folder, NODES) as here:
            (folder / "experiment.toml").write_text(EXPERIMENT.format(rounds=rounds))
            new = ["fedward", "flower", "new", "ours", "--file", "experiment.toml", "--nodes", str(NODES)]
            here.run(new)
            # Without keys in its file the server knows nodes by their place.
            plain, times = plain_app(folder, rounds), folder / "plain.txt"
            for turn in range(options.turns):
                times.unlink(missing_ok=True)
                # Flower measures the initial model too.
                moments = follow(plain, times, rounds + 1, here)[-rounds:]
                seconds["plain Flower"] += seconds_of(moments)
                server = folder / "ours" / "server"
                text = (server / "federation.toml").read_text().replace('"run"', f'"run-{turn}"')
                file = server / f"federation-{turn}.toml"
                file.write_text(text)
                lines = server / f"run-{turn}" / "rounds.jsonl"
                settings = f"federation='{file}'"
                seconds["fedward"] += seconds_of(
                    follow(folder / "ours" / "app", lines, rounds, here, settings)
                )
    for who, each in seconds.items():
        listed = " ".join(f"{second:.2f}" for second in each)
        print(f"{who:14} median {statistics.median(each):.2f} s a round: {listed}")
    ratio = statistics.median(seconds["fedward"]) / statistics.median(seconds["plain Flower"])
    print(f"fedward / plain Flower: {ratio:.2f}")
    if options.json:
        options.json.write_text(json.dumps(seconds | {"ratio": ratio}, indent=2) + "\n")


if __name__ == "__main__":
    main()
