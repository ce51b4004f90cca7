"""Local training: a plain PyTorch loop with two threads beside fedward's engines on two cores.

    python benchmarks/local_training.py

The plain loop is what people write: a fresh copy of the model for every user, ``torch.optim.SGD``, batches by
tensor slicing. fedward's generic engine trains the same users, with the same batches, in two processes that
have half of them each; "workers" is the same through ``fedward.Workers``, with what it costs to send jobs and
rows; "native" is ``fedward.Threads`` with two threads. All take their turns in every round and medians of
wall time are printed, so run it on two idle cores.
The first turn is not counted for anybody; for the linear model it is where products of the users' data are
computed that later rounds use again, so its ratio is printed as well ("first round"). Every update of fedward
must be within 1e-4 of the plain loop's. The data is random, with as many zeros as pictures of digits have.

GEMM is PyTorch's matrix product with two threads, measured in the same turns; "of GEMM" is the share of its
rate that an engine reaches on the convolutions and linear layers alone.

On a busy machine wall time says little, least of all of two threads: ``--alone`` runs the plain loop, the
generic and the native engine on one thread each and counts processor seconds.

The project's limits for the ratio: generic path MNIST CNN 2.5, CIFAR CNN 1.1, linear 40; native MNIST CNN 8,
CIFAR CNN 1.9 and 80 % of GEMM there, ResNet-18 (``resnet18_light``) 1.6 and 60 % of GEMM.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import fedward
from fedward.backends import Threads, Workers
from fedward.backends.engines import native
from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.gram import is_linear
from fedward.base.randomness import from_local_seed, local_seed
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local import SGD
from fedward.models import build

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def mnist_cnn() -> nn.Module:
    return build("mnist_cnn", input_shape=(1, 28, 28), num_classes=2, seed=1)


def cifar_cnn() -> nn.Module:
    torch.manual_seed(1)
    pools: list[nn.Module] = [nn.AvgPool2d(2), nn.AvgPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)]
    layers: list[nn.Module] = []
    for (into, out), pool in zip(((3, 32), (32, 64), (64, 64), (64, 128)), pools, strict=True):
        layers += [nn.Conv2d(into, out, 3, padding=1), nn.ReLU(), pool]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 2))


def linear() -> nn.Module:
    return build("logistic_regression", input_shape=(1, 28, 28), num_classes=10, seed=1)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model, and the users that train it."""

    model: Callable[[], nn.Module]
    shape: tuple[int, ...]
    classes: int
    users: int
    examples: int
    batch_size: int
    epochs: int

    @property
    def samples(self) -> int:
        return self.users * self.examples * self.epochs

    @property
    def trainer(self) -> SGD:
        return SGD(
            learning_rate=0.02,
            batch_size=self.batch_size,
            epochs=self.epochs,
            momentum=0.9,
            weight_decay=5e-4,
        )

    def federation(self) -> Federation:
        generator = torch.Generator().manual_seed(0)
        n = self.users * self.examples
        x = torch.rand(n, *self.shape, generator=generator)
        x *= torch.rand(n, *self.shape, generator=generator) < 0.2
        y = torch.randint(0, self.classes, (n,), generator=generator)
        owner = torch.arange(self.users).repeat_interleave(self.examples)
        return Federation.from_arrays(x, y, owner.numpy(), num_classes=self.classes)

    def jobs(self, module: nn.Module) -> list[Job]:
        start = ParameterSpec.of(module).flatten(module)
        return [
            Job(
                parameters=start,
                user=user,
                num_examples=self.examples,
                trainer=self.trainer,
                seed=local_seed(1, 0, user),
            )
            for user in range(self.users)
        ]


def resnet() -> nn.Module:
    return build("resnet18_light", input_shape=(3, 32, 32), num_classes=10, seed=1)


CASES = {
    "MNIST CNN": Case(
        model=mnist_cnn, shape=(1, 28, 28), classes=2, users=16, examples=63, batch_size=60, epochs=10
    ),
    "CIFAR CNN": Case(
        model=cifar_cnn, shape=(3, 32, 32), classes=2, users=8, examples=50, batch_size=50, epochs=4
    ),
    "ResNet-18": Case(
        model=resnet, shape=(3, 32, 32), classes=10, users=2, examples=50, batch_size=50, epochs=1
    ),
    "linear": Case(
        model=linear, shape=(1, 28, 28), classes=10, users=200, examples=63, batch_size=60, epochs=10
    ),
}


def plain_update(module: nn.Module, federation: Federation, job: Job) -> Tensor:
    trainer, own = job.trainer, federation.user(job.user)
    assert isinstance(trainer, SGD)
    model = copy.deepcopy(module)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=trainer.learning_rate,
        momentum=trainer.momentum,
        weight_decay=trainer.weight_decay,
    )
    for index in trainer.batches(len(own), from_local_seed(job.seed)):
        x, y = own.batch(index)
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return ParameterSpec.of(model).flatten(model) - job.parameters


class TwoProcesses:
    """fedward's generic engine twice, each with every second user; nothing but "go" and "done" is sent."""

    def __init__(self, case: str) -> None:
        command = [sys.executable, __file__, "--half-of", case]
        self._halves = [
            subprocess.Popen(
                [*command, "--half", str(half)],
                env=os.environ | ONE_THREAD,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for half in (0, 1)
        ]
        self._wait()

    def run(self) -> None:
        for half in self._halves:
            assert half.stdin is not None
            print("go", file=half.stdin, flush=True)
        self._wait()

    def _wait(self) -> None:
        for half in self._halves:
            assert half.stdout is not None
            if half.stdout.readline() != "done\n":
                raise RuntimeError("a process of the benchmark ended")

    def close(self) -> None:
        for half in self._halves:
            half.communicate()


def serve(case: Case, half: int) -> None:
    """What each of the two processes does."""
    torch.set_num_threads(1)
    keep_freed_memory()
    module, federation = case.model(), case.federation()
    engine, jobs = Engine(module, engine="generic"), case.jobs(module)[half::2]
    print("done", flush=True)
    for _ in sys.stdin:
        engine.train_many(jobs, [federation.user(job.user) for job in jobs])
        print("done", flush=True)


def operations(case: Case) -> int:
    """Floating-point operations of training on one example, in convolutions and linear layers alone."""
    counts: list[int] = []

    def count(layer: nn.Module, given: tuple[Tensor, ...], found: Tensor) -> None:
        assert isinstance(layer, nn.Conv2d | nn.Linear)
        counts.append(2 * found.numel() * layer.weight[0].numel())

    module = case.model()
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    module(torch.zeros(1, *case.shape))
    # Forward, gradient of the weights, gradient of the inputs; nobody needs the last one of the first layer.
    return 3 * sum(counts) - counts[0]


SIDE = 1024
PRODUCTS = 8


def products() -> None:
    a = torch.ones(SIDE, SIDE)
    for _ in range(PRODUCTS):
        torch.mm(a, a)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(name: str, rounds: int) -> dict[str, list[float]]:
    case = CASES[name]
    module, federation = case.model(), case.federation()
    jobs = case.jobs(module)
    two = TwoProcesses(name)
    with (
        Workers(module, federation, workers=2, engine="generic") as workers,
        Threads(module, federation, threads=2) as threads,
    ):
        engines: dict[str, Callable[[], object]] = {
            "plain loop": lambda: [plain_update(module, federation, job) for job in jobs],
            "2 processes": two.run,
            "workers": lambda: list(workers.train(jobs)),
        }
        if native.available() and not is_linear(module):
            engines["native"] = lambda: list(threads.train(jobs))
        engines["GEMM"] = products
        times: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(1 + rounds):
            for engine, run in engines.items():
                times[engine].append(seconds(run))
        for backend in (workers, threads):
            for row, job in zip(backend.train(jobs[:8]), jobs[:8], strict=True):
                apart = float((row.update - plain_update(module, federation, job)).abs().max())
                if not apart <= 1e-4:
                    raise RuntimeError(f"{name}: updates of user {job.user} are {apart:.1e} apart")
    two.close()
    return times


def measure_alone(name: str, rounds: int) -> dict[str, list[float]]:
    """One thread each, in processor seconds."""
    case = CASES[name]
    module, federation = case.model(), case.federation()
    jobs = case.jobs(module)
    users = [federation.user(job.user) for job in jobs]
    engines: dict[str, Callable[[], object]] = {
        "plain loop": lambda: [plain_update(module, federation, job) for job in jobs],
        "generic": partial(Engine(module, engine="generic").train_many, jobs, users),
    }
    if native.available() and not is_linear(module):
        engines["native"] = partial(Engine(module, engine="native").train_many, jobs, users)
    engines["GEMM"] = products
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    for _ in range(1 + rounds):
        for engine, run in engines.items():
            start = time.process_time()
            run()
            times[engine].append(time.process_time() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="how often each engine takes its turn")
    parser.add_argument("--threads", type=int, default=2, help="of the plain loop; 2 unless cores are busy")
    parser.add_argument("--only", choices=list(CASES), help="one model")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="one thread each, in processor seconds: for machines that are busy",
    )
    parser.add_argument("--half-of", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--half", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.half_of:
        serve(CASES[arguments.half_of], arguments.half)
        return
    torch.set_num_threads(1 if arguments.alone else arguments.threads)
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    print(f"fedward {fedward.__version__}, torch {torch.__version__}, {load}")
    print(f"{'model':<10} {'engine':<12} {'samples/s':>10} {'ratio':>7} {'first round':>12} {'of GEMM':>8}")
    for name in [arguments.only] if arguments.only else CASES:
        times = (measure_alone if arguments.alone else measure)(name, arguments.rounds)
        usual = {engine: statistics.median(taken[1:]) for engine, taken in times.items()}
        gemm = PRODUCTS * 2 * SIDE**3 / usual.pop("GEMM")
        for engine in usual:
            taken = times[engine]
            ratio = usual["plain loop"] / usual[engine]
            first = usual["plain loop"] / taken[0]
            speed = CASES[name].samples / usual[engine]
            share = speed * operations(CASES[name]) / gemm
            row = f"{name:<10} {engine:<12} {speed:>10,.0f} {ratio:>7.2f} {first:>12.2f} {share:>8.0%}"
            print(row, flush=True)
        print(f"{name:<10} {'GEMM':<12} {gemm / 1e9:>10.0f} GFLOP/s", flush=True)


if __name__ == "__main__":
    main()
