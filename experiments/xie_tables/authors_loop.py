"""Table 4 of Xie et al. by the loop of the authors' configuration, taken apart factor by factor.

    python experiments/xie_tables/authors_loop.py --data DIR [--runs 60] [--small] [--show]

Their published configuration differs from what the paper prints: the clip bound is S = 1.0, not 0.7; every
user keeps the momentum of its optimiser from round to round; sum and noise are divided by the batch that was
drawn, not by the expected one; every run has a new initial model. Here each of these is tried alone, and all
together. **No ε holds where the divisor follows the batch**: it shows how large the batch was. So the loop
stands here, and not in the package.

Finished runs are kept in authors_loop.jsonl of --out, so it can be killed and started again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from rich.console import Console
from rich.table import Table
from rows import HERE, TABLES

import fedward
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.native import Native
from fedward.base.randomness import from_local_seed, private_local_seed
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.local.dp_sgd import clipper, gaussian
from published import Place, place_of
from support import Record, carry_out, finished, half_width, mnist, parser

RESULTS = "authors_loop.jsonl"
ROUNDS, USERS, STEPS, BATCH, PROBABILITY = 3, 10, 26, 50, 50 / 1266
RATE, MOMENTUM, DECAY = 0.02, 0.9, 5e-4


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to run the loop.

    Args:
      bound: S.
      keeps_momentum: whether a user's momentum outlives a round.
      actual_batch: whether sum and noise are divided by the batch that was drawn.
    """

    bound: float = 0.7
    keeps_momentum: bool = False
    actual_batch: bool = False


SETTINGS = {
    "as the paper prints it": Setting(),
    "S = 1.0": Setting(bound=1.0),
    "momentum kept": Setting(keeps_momentum=True),
    "divided by the batch drawn": Setting(actual_batch=True),
    "all three": Setting(bound=1.0, keeps_momentum=True, actual_batch=True),
}
# At little more noise than σ = 8 everything is learnt; the doubts are about these.
NOISE = (10.0, 15.0)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One run: its seed draws the initial model, batches and noise; the data is always split the same way."""

    name: str
    noise: float
    seed: int


def train(task: Task) -> Record:
    """Test accuracy after the last round of one run."""
    federation = mnist(USERS, (0, 1))
    assert federation.test is not None
    module = fedward.models.build("mnist_cnn", input_shape=(1, 28, 28), num_classes=2, seed=task.seed)
    native = Native.of(module)
    model = None if native is None else native.flat_model((1, 28, 28))
    model = model or flat_model(module)
    weights, velocities = model.parameters.clone(), [torch.zeros_like(model.parameters) for _ in range(USERS)]
    setting = SETTINGS[task.name]
    for round in range(ROUNDS):
        updates = []
        for user, velocity in enumerate(velocities):
            # The stream of the package: the first setting is the same training as there.
            rng = from_local_seed(private_local_seed(task.seed, 0, round, user))
            if not setting.keeps_momentum:
                velocity.zero_()
            updates.append(walk(model, weights, federation.user(user), velocity, setting, task.noise, rng))
        weights = weights + torch.stack(updates).double().mean(0).float()
    backend = fedward.InProcess(module, federation)
    accuracy = backend.evaluate(weights, federation.test).accuracy
    return {"name": task.name, "noise_multiplier": task.noise, "seed": task.seed, "accuracy": accuracy}


def walk(
    model: FlatModule,
    start: Tensor,
    examples: Examples,
    velocity: Tensor,
    setting: Setting,
    noise: float,
    rng: np.random.Generator,
) -> Tensor:
    """The update of one user in one round; its ``velocity`` goes on in place."""
    model.weights.copy_(start)
    clipped = clipper(model, examples, (setting.bound,))
    for _ in range(STEPS):
        batch = torch.from_numpy(np.flatnonzero(rng.random(len(examples)) < PROBABILITY))
        total = clipped(batch) + gaussian(len(start), noise * setting.bound, "seeded", rng)
        divisor = max(1, len(batch)) if setting.actual_batch else BATCH
        gradient = (total / divisor).float().add_(model.weights, alpha=DECAY)
        velocity.mul_(MOMENTUM).add_(gradient)
        model.weights.sub_(velocity, alpha=RATE)
    return model.weights - start


def show(place: Place) -> None:
    found = finished(place.records(RESULTS))
    printed = next(table.printed for table in TABLES if table.number == 4)
    table = Table("setting", "σ", "paper", "measured", "deviation of one run", "runs")
    for noise in NOISE:
        for name in SETTINGS:
            values = 100 * np.array(
                [r["accuracy"] for r in found if (r["name"], r["noise_multiplier"]) == (name, noise)]
            )
            if len(values) > 1:
                table.add_row(
                    name,
                    f"{noise:g}",
                    f"{printed[noise][1]:.2f}",
                    f"{values.mean():.1f} ± {half_width(values):.1f}",
                    f"{values.std(ddof=1):.1f}",
                    str(len(values)),
                )
    Console(width=120).print(table)


def main() -> None:
    assert __doc__
    made = parser(__doc__)
    made.add_argument("--runs", type=int, default=60, help="of each setting and noise")
    made.add_argument("--small", action="store_true", help="two runs of each")
    made.add_argument("--show", action="store_true", help="only print what is finished")
    options = made.parse_args()
    place = place_of(options, HERE)
    if not options.show:
        done = {(r["name"], r["noise_multiplier"], r["seed"]) for r in finished(place.file(RESULTS))}
        # All settings of a seed, then the next seed: what is finished can always be compared.
        tasks = [
            Task(name=name, noise=noise, seed=seed)
            for seed in range(2 if options.small else options.runs)
            for noise in reversed(NOISE)
            for name in SETTINGS
            if (name, noise, seed) not in done
        ]
        carry_out(train, tasks, place.file(RESULTS), options.data)
    show(place)
    place.publish(RESULTS)


if __name__ == "__main__":
    main()
