"""Models of text: fedward's native engine beside a plain PyTorch loop with two threads, and beside Opacus.

    pip install -r benchmarks/requirements.txt
    python benchmarks/text_training.py

``sentiment_lstm`` is that of Xie et al. on tweets of 4 to 25 words with vectors of 50 numbers, ``word_lstm``
predicts one of 2,001 words from up to 10; batches are of 10. The plain loop is what people write: a fresh
copy of the model for every user, ``torch.optim.SGD``, batches padded to their longest. fedward trains the
same users and batches by ``fedward.Threads``; every update must be within 1e-4 of the plain loop's.

DP-SGD is one thread of each: batches of 50, clipping, noise and the step included; Opacus with its ``DPLSTM``
and hooks. All take turns, and medians are printed, by wall time and by processor seconds. Where cores are
busy only the latter mean something, and only with ``--threads 1``: threads that wait for each other burn
them. The project's limits: 2 times the plain loop with two threads, 3 times Opacus.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import fedward
from fedward.backends import Threads
from fedward.backends.engines.choice import Choice, Engine
from fedward.backends.engines.threads import single_threaded
from fedward.base.randomness import from_local_seed, local_seed
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.core.vocabulary import Vocabulary
from fedward.local import SGD
from fedward.local.dp_sgd import DPSGD
from fedward.models import build

PRIVATE_BATCH = 50
BOUND, NOISE, RATE = 1.0, 1.0, 0.05


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model of text, and users that train it."""

    model: str
    words: int
    numbers: int | None
    classes: int
    lengths: tuple[int, int]
    users: int
    examples: int

    @property
    def trainer(self) -> SGD:
        return SGD(learning_rate=0.02, batch_size=10, epochs=1, momentum=0.9, weight_decay=5e-4)

    def module(self) -> nn.Module:
        generator = torch.Generator().manual_seed(1)
        vectors = None if self.numbers is None else torch.randn(self.words, self.numbers, generator=generator)
        words = Vocabulary(words=tuple(f"word{i}" for i in range(self.words)), vectors=vectors)
        return build(self.model, input_shape=(), num_classes=self.classes, seed=1, vocabulary=words)

    def texts(self, count: int) -> Examples:
        generator = torch.Generator().manual_seed(2)
        low, high = self.lengths
        lengths = torch.randint(low, high + 1, (count,), generator=generator).tolist()
        texts = [torch.randint(1, self.words + 2, (length,), generator=generator) for length in lengths]
        return Examples(
            Ragged.from_sequences(texts), torch.randint(0, self.classes, (count,), generator=generator)
        )

    def federation(self) -> Federation:
        own = self.texts(self.users * self.examples)
        owner = torch.arange(self.users).repeat_interleave(self.examples)
        return Federation.from_arrays(own.x, own.y, owner.numpy(), num_classes=self.classes)

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


CASES = {
    "Sent140 LSTM": Case(
        model="sentiment_lstm", words=5000, numbers=50, classes=2, lengths=(4, 25), users=4, examples=30
    ),
    "word LSTM": Case(
        model="word_lstm", words=2000, numbers=None, classes=2001, lengths=(1, 10), users=12, examples=30
    ),
}


def plain_update(module: nn.Module, federation: Federation, job: Job) -> Tensor:
    """The update of one user, as people write it."""
    model = copy.deepcopy(module).train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    sgd, examples = job.trainer, federation.user(job.user)
    assert isinstance(sgd, SGD)
    optimizer = torch.optim.SGD(
        trained, lr=sgd.learning_rate, momentum=sgd.momentum, weight_decay=sgd.weight_decay
    )
    for index in sgd.batches(len(examples), from_local_seed(job.draw_seed())):
        x, y = examples.batch(index)
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return nn.utils.parameters_to_vector(trained).detach() - job.parameters


def private_steps(case: Case, engine: Choice) -> Callable[[], object]:
    """One step of DP-SGD by an engine of fedward."""
    module, texts = case.module(), case.texts(PRIVATE_BATCH)
    trainer = DPSGD(
        learning_rate=RATE,
        probability=1.0,  # of a user with 50 examples: every batch has 50
        expected_batch=PRIVATE_BATCH,
        steps=1,
        clip_bound=BOUND,
        noise_multiplier=NOISE,
    )
    start = ParameterSpec.of(module).flatten(module)
    job = Job(parameters=start, user=0, num_examples=PRIVATE_BATCH, trainer=trainer, seed=0)
    by = Engine(module, engine=engine)
    return lambda: by.train(job, texts)


def opacus_steps(case: Case) -> Callable[[], object]:
    """One step of DP-SGD by Opacus, which has an LSTM of its own."""
    from opacus.grad_sample import GradSampleModule
    from opacus.layers import DPLSTM
    from opacus.optimizers import DPOptimizer

    module = case.module().train()
    layers = module.layers
    assert isinstance(layers, nn.ModuleList)
    for place, layer in enumerate(layers):
        own = DPLSTM(layer.input_size, layer.hidden_size, batch_first=True)
        own.load_state_dict(layer.state_dict())
        layers[place] = own
    x, y = case.texts(PRIVATE_BATCH).batch(torch.arange(PRIVATE_BATCH))
    model = GradSampleModule(module)
    optimizer = DPOptimizer(
        torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE),
        noise_multiplier=NOISE,
        max_grad_norm=BOUND,
        expected_batch_size=PRIVATE_BATCH,
    )

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


@dataclass(frozen=True)
class Seconds:
    """Median seconds of a turn, on the wall and of the processor."""

    wall: float
    processor: float


def interleaved(engines: dict[str, Callable[[], object]], rounds: int) -> dict[str, Seconds]:
    """What each engine takes; the first turn counts for nobody."""
    times: dict[str, list[tuple[float, float]]] = {engine: [] for engine in engines}
    for turn in range(1 + rounds):
        for engine, run in engines.items():
            wall, processor = time.perf_counter(), time.process_time()
            run()
            if turn:
                times[engine].append((time.perf_counter() - wall, time.process_time() - processor))
    return {
        engine: Seconds(*(statistics.median(each) for each in zip(*taken, strict=True)))
        for engine, taken in times.items()
    }


def show(name: str, samples: int, seconds: dict[str, Seconds], beside: str) -> None:
    for engine, taken in seconds.items():
        base = seconds.get(beside, taken)
        row = f"{name:<14} {engine:<26} {samples / taken.wall:>10,.0f} {base.wall / taken.wall:>7.2f}"
        print(
            f"{row} {samples / taken.processor:>16,.0f} {base.processor / taken.processor:>7.2f}", flush=True
        )


def measure_training(name: str, case: Case, threads: int, rounds: int) -> None:
    module, federation = case.module(), case.federation()
    jobs = case.jobs(module)
    torch.set_num_threads(threads)
    plain = f"plain loop, {threads} threads"
    with Threads(module, federation, threads=threads, engine="native") as native:
        engines: dict[str, Callable[[], object]] = {
            plain: lambda: [plain_update(module, federation, job) for job in jobs],
            f"native, {threads} threads": lambda: list(native.train(jobs)),
        }
        seconds = interleaved(engines, rounds)
        for row, job in zip(native.train(jobs[:4]), jobs[:4], strict=True):
            apart = float((row.update - plain_update(module, federation, job)).abs().max())
            if not apart <= 1e-4:
                raise RuntimeError(f"{name}: updates of user {job.user} are {apart:.1e} apart")
    show(name, case.users * case.examples, seconds, plain)


def measure_privacy(name: str, case: Case, rounds: int) -> None:
    engines = {
        "DP-SGD, fedward, generic": private_steps(case, "generic"),
        "DP-SGD, fedward, native": private_steps(case, "native"),
    }
    try:
        engines["DP-SGD, Opacus"] = opacus_steps(case)
    except ImportError:
        print("opacus is not installed: no comparison")
    with single_threaded():
        seconds = interleaved(engines, rounds)
    show(name, PRIVATE_BATCH, seconds, "DP-SGD, Opacus")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="how often each engine takes its turn")
    parser.add_argument("--threads", type=int, default=2, help="of the plain loop and of fedward")
    arguments = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    print(f"fedward {fedward.__version__}, torch {torch.__version__}, {load}")
    heads = f"{'samples/s':>10} {'ratio':>7} {'a processor s':>16} {'ratio':>7}"
    print(f"{'model':<14} {'engine':<26} {heads}")
    for name, case in CASES.items():
        measure_training(name, case, arguments.threads, arguments.rounds)
        measure_privacy(name, case, max(2, arguments.rounds // 2))


if __name__ == "__main__":
    main()
