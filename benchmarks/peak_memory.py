"""Peak memory of run, replicas and certify with many users and a large model, beside a plain loop.

    python benchmarks/peak_memory.py [--users 100000] [--parameters 1000000] [--out FILE]

Everything is trained on generated users, about a hundred of them in a round. The peak is that of all
processes together (PSS, sampled), with about 200 MB for Python and torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from peers.memory import watch

COHORT, EXAMPLES, FEATURES, CLASSES = 100, 10, 60, 10
FILE = """
seed = 1
rounds = {rounds}
data = {{ name = "synthetic", users = {users}, examples = {examples} }}
model = {{ name = "wide_model:wide" }}
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 1.0
sampler = {{ name = "poisson", rate = {rate} }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 1 }}
[privacy]
users = {users}
delta = 1e-6
accountant = "rdp"
"""
MODEL = """
from torch import nn


def wide(*, input_shape, num_classes):
    return nn.Sequential(nn.Linear({features}, {width}), nn.ReLU(), nn.Linear({width}, {classes}))
"""
PLAIN = """
import sys
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from fedward.datasets import synthetic
from wide_model import wide

users, examples, rounds, cohort = map(int, sys.argv[1:])
federation = synthetic.load(seed=1, users=users, examples=examples)
model = wide(input_shape=(60,), num_classes=10)
weights = parameters_to_vector(model.parameters()).detach()
for _ in range(rounds):
    total = torch.zeros_like(weights)
    for user in torch.randperm(users)[:cohort].tolist():
        vector_to_parameters(weights.clone(), model.parameters())
        steps = torch.optim.SGD(model.parameters(), lr=0.1)
        own = federation.user(user)
        steps.zero_grad()
        cross_entropy(model(own.x), own.y).backward()
        steps.step()
        update = parameters_to_vector(model.parameters()).detach() - weights
        total += update * min(1.0, 1.0 / float(update.norm()))
    weights = weights + (total + torch.randn_like(total)) / cohort
"""


def commands(given: argparse.Namespace) -> dict[str, list[str]]:
    """What is measured, by the name that it has in the table."""
    fedward = [sys.executable, "-m", "fedward"]
    plain = [given.users, EXAMPLES, given.rounds, min(COHORT, given.users)]
    many = ["--replicas", str(given.replicas), "--trust"]
    return {
        "plain loop": [sys.executable, "plain.py", *map(str, plain)],
        "fedward run": [*fedward, "run", "exp.toml", "--out", "run", "--trust"],
        "fedward run --workers 0": [
            *fedward,
            "run",
            "exp.toml",
            "--out",
            "alone",
            "--trust",
            "--workers",
            "0",
        ],
        f"fedward replicas, {given.replicas}": [*fedward, "replicas", "exp.toml", "--out", "replicas", *many],
        f"fedward certify, {given.replicas}": [*fedward, "certify", "exp.toml", "--out", "certified", *many],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=10**5)
    parser.add_argument("--parameters", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--out", type=Path, help="a JSON file for all that was measured")
    given = parser.parse_args()
    width = round(given.parameters / (FEATURES + CLASSES + 1))
    rate = min(1.0, COHORT / given.users)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        text = FILE.format(users=given.users, examples=EXAMPLES, rounds=given.rounds, rate=rate)
        (here / "exp.toml").write_text(text)
        model = MODEL.format(features=FEATURES, width=width, classes=CLASSES)
        (here / "wide_model.py").write_text(model)
        (here / "plain.py").write_text(PLAIN)
        for name, command in commands(given).items():
            seen = watch(command, folder=here, environment={"OMP_NUM_THREADS": "1"})
            found[name] = {"peak_bytes": seen.peak_bytes, "seconds": seen.seconds}
            times = seen.peak_bytes / found["plain loop"]["peak_bytes"]
            print(
                f"{name:28} {seen.peak_bytes / 1e6:6,.0f} MB  {times:.2f} x  {seen.seconds:5.1f} s",
                flush=True,
            )
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
