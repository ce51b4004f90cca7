"""Who trains, who is public, who is tested on; and the model that all trainings start from."""

from __future__ import annotations

import functools
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import fedward
from fedward.core.examples import Examples, Ragged

WORDS = 10_000  # so many that every word of the three sentences is among them


@dataclass(frozen=True)
class Size:
    """How large it is; the defaults are what was run."""

    users: int = 500
    contexts: int = 80  # of each user, the first ones
    public_contexts: int = 400  # of each public blogger
    test_contexts: int = 60  # of each test user
    cohort: int = 40  # expected: Poisson sampling
    rounds: int = 8
    small: bool = False

    @staticmethod
    def few() -> Size:
        return Size(users=60, contexts=40, public_contexts=40, cohort=12, rounds=2, small=True)


SIZE = Size()


@dataclass(frozen=True)
class Bloggers:
    """The federation with its test users, and what other bloggers wrote: all different persons."""

    federation: fedward.Federation
    public: Examples
    public_test: Examples


@functools.cache
def bloggers(size: Size, data: str | None) -> Bloggers:
    """The same persons for every seed; of the public ones every tenth is for choosing learning rates."""
    everybody = fedward.datasets.next_word.load(
        seed=0, data_dir=data, words=WORDS, at_most=size.public_contexts
    )
    assert everybody.test is not None
    order = np.random.default_rng(0).permutation(everybody.num_users)
    chosen, others = np.sort(order[: size.users]), np.sort(order[size.users :])
    rows = first(everybody, chosen, size.contexts)
    owners = np.repeat(chosen, [len(part) for part in rows])
    own = everybody.examples.select(torch.cat(rows))
    # Test users lie one after the other, each with as many contexts as the public ones.
    tested = torch.arange(len(everybody.test))
    tested = tested[tested % size.public_contexts < size.test_contexts]
    federation = fedward.Federation.from_arrays(
        own.x,
        own.y,
        everybody.names[owners],
        test=everybody.test.select(tested),
        num_classes=everybody.num_classes,
        vocabulary=everybody.vocabulary,
    )
    kept, kept_out = others[len(others) // 10 :], others[: len(others) // 10]
    public, public_test = (
        everybody.examples.select(torch.cat(first(everybody, part, size.public_contexts)))
        for part in (kept, kept_out)
    )
    return Bloggers(federation, public, public_test)


def first(federation: fedward.Federation, users: np.ndarray, contexts: int) -> list[torch.Tensor]:
    """Where the first contexts of each of these users stand."""
    starts, ends = federation.offsets[users], federation.offsets[users + 1]
    return [
        torch.arange(a, min(a + contexts, b)) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def model(federation: fedward.Federation, seed: int) -> nn.Module:
    """496,465 parameters: half the size of the example's, a quarter of the time."""
    return fedward.models.build(
        "word_lstm",
        input_shape=(),
        num_classes=federation.num_classes,
        seed=seed,
        vocabulary=federation.vocabulary,
        embedding=16,
        hidden=32,
    )


def start(size: Size, data: str | None, file: Path) -> None:
    """One epoch of Adam on the public bloggers, pooled; no ε covers them."""
    began = time.process_time()
    people = bloggers(size, data)
    network = model(people.federation, seed=0)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    generator = torch.Generator().manual_seed(0)
    assert isinstance(people.public.x, Ragged)
    for batch in torch.randperm(len(people.public), generator=generator).split(200):  # type: ignore[no-untyped-call]
        loss = nn.functional.cross_entropy(network(people.public.x[batch]), people.public.y[batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.save(network.state_dict(), file)
    backend = fedward.InProcess(network, people.federation)
    flat = torch.cat([p.detach().flatten() for p in network.parameters()])
    found = backend.evaluate(flat, people.public_test)
    about = {
        "contexts": len(people.public),
        "accuracy_on_other_public_bloggers": found.accuracy,
        "loss": found.loss,
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    file.with_suffix(".json").write_text(json.dumps(about) + "\n")
