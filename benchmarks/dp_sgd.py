"""DP-SGD at one user: samples a second and peak memory, beside Opacus' default per-sample mode.

    pip install -r benchmarks/requirements.txt
    OMP_NUM_THREADS=1 python benchmarks/dp_sgd.py

One thread, batches of 50, clipping, noise and the step included. The rounds are interleaved and processor
seconds are counted, so that a busy machine slows all of them alike; medians are printed. Peak memory is the
most that tensors take at a time, model and data not counted; the native engine has its own memory, which is
not in it. The project's limits: generic path 1.2 times Opacus on the MNIST CNN, and on the CIFAR CNN less
memory beyond plain SGD than 50 copies of all gradients; native 6 times Opacus on the MNIST CNN, 2 times on
the CIFAR CNN.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.backends.engines import native
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.flat_model import flat_model
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local.dp_sgd import DPSGD
from fedward.models import build

BATCH, STEPS = 50, 4
BOUND, NOISE, RATE = 1.0, 1.0, 0.05
Step = Callable[[], None]


def mnist_cnn() -> tuple[nn.Module, Tensor]:
    return build("mnist_cnn", input_shape=(1, 28, 28), num_classes=10, seed=1), torch.rand(BATCH, 1, 28, 28)


def cifar_cnn() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(1)
    blocks: list[nn.Module] = []
    for into, out in ((3, 32), (32, 64), (64, 64), (64, 128)):
        blocks += [nn.Conv2d(into, out, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)]
    return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(512, 10)), torch.rand(BATCH, 3, 32, 32)


def resnet() -> tuple[nn.Module, Tensor]:
    return build("resnet18_light", input_shape=(3, 32, 32), num_classes=10, seed=1), torch.rand(
        BATCH, 3, 32, 32
    )


MODELS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "MNIST CNN": mnist_cnn,
    "CIFAR CNN": cifar_cnn,
    "ResNet-18": resnet,
}


def generic_steps(module: nn.Module, x: Tensor, y: Tensor) -> Step:
    model, trainer, rng = flat_model(module), dp_sgd(), np.random.default_rng(0)
    return lambda: trainer.train(model, Examples(x, y), rng)


def native_steps(module: nn.Module, x: Tensor, y: Tensor) -> Step:
    engine, start = Engine(module, engine="native"), ParameterSpec.of(module).flatten(module)
    job = Job(parameters=start, user=0, num_examples=BATCH, trainer=dp_sgd(), seed=0)

    def steps() -> None:
        engine.train(job, Examples(x, y))

    return steps


def dp_sgd() -> DPSGD:
    # Probability 1 of a user with 50 examples: every batch has 50.
    return DPSGD(
        learning_rate=RATE,
        probability=1.0,
        expected_batch=BATCH,
        steps=STEPS,
        clip_bound=BOUND,
        noise_multiplier=NOISE,
    )


def opacus_steps(module: nn.Module, x: Tensor, y: Tensor) -> Step:
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    model = GradSampleModule(module)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=RATE),
        noise_multiplier=NOISE,
        max_grad_norm=BOUND,
        expected_batch_size=BATCH,
    )

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return steps


def plain_steps(module: nn.Module, x: Tensor, y: Tensor) -> Step:
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            cross_entropy(module(x), y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return steps


ENGINES: dict[str, Callable[[nn.Module, Tensor, Tensor], Step]] = {
    "SGD without privacy": plain_steps,
    "fedward, generic": generic_steps,
    "fedward, native": native_steps,
    "Opacus, hooks": opacus_steps,
}


def make(engine: str, model: str) -> Step:
    module, x = MODELS[model]()
    return ENGINES[engine](module.train(), x, torch.arange(BATCH) % 10)


def seconds(step: Step) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def peak_bytes(step: Step) -> int:
    """The most bytes of tensors that the step holds at a time, beyond those that are there before."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        step()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf8"))["traceEvents"]
    memory = [event["args"] for event in events if event["name"] == "[memory]"]
    before = memory[0]["Total Allocated"] - memory[0]["Bytes"]
    return int(max(change["Total Allocated"] for change in memory) - before)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40, help="how often each engine takes its turn")
    parser.add_argument("--only", choices=list(MODELS), help="one model")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    engines = [engine for engine in ENGINES if engine != "fedward, native" or native.available()]
    try:
        import opacus

        print(f"torch {torch.__version__}, opacus {opacus.__version__}, batch {BATCH}, one thread")
    except ImportError:
        engines.remove("Opacus, hooks")
        print(f"torch {torch.__version__}, batch {BATCH}, one thread; opacus is not installed: no comparison")
    print(
        f"{'model':<10} {'engine':<20} {'samples/s':>10} {'of Opacus':>10} {'peak MB':>8} {'beyond SGD':>11}"
    )
    for model in [arguments.only] if arguments.only else MODELS:
        steps = {engine: make(engine, model) for engine in engines}
        for step in steps.values():
            step()
        times: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(arguments.rounds):
            for engine, step in steps.items():
                times[engine].append(seconds(step))
        speed = {engine: BATCH * STEPS / statistics.median(taken) for engine, taken in times.items()}
        plain = 0
        for engine in engines:
            ratio = f"{speed[engine] / speed['Opacus, hooks']:.2f}" if "Opacus, hooks" in speed else "-"
            peak = peak_bytes(steps[engine])
            plain = plain or peak
            row = f"{model:<10} {engine:<20} {speed[engine]:>10,.0f} {ratio:>10} {peak / 1e6:>8.1f}"
            print(f"{row} {(peak - plain) / 1e6:>11.1f}")
        module, _ = MODELS[model]()
        copies = 4 * BATCH * sum(p.numel() for p in module.parameters())
        print(f"{model:<10} {'50 copies of all gradients':<51} {copies / 1e6:>11.1f}")


if __name__ == "__main__":
    main()
