"""The same bits, however a training is run: in this process or in workers, shared or not, in any chunks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fedward.backends import InProcess, Workers
from fedward.core.types import ServerState
from fedward.local import DPSGD
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.presets import insdp_fedavg, krum
from fedward.privacy import user_ledgers_file
from fedward.sampling import EveryoneSampler
from support import Tamperer, tiny_algorithm, tiny_pictures, tiny_sgd

FEDERATION = tiny_pictures()


def model() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Flatten(),
            nn.Linear(64, 3),
        )


MODEL = model()


def trainings() -> list[Training]:
    private = DPSGD(
        learning_rate=0.1, probability=0.5, expected_batch=3, steps=2, noise_multiplier=1.0, clip_bound=1.0
    )
    quiet, loud = tiny_algorithm(), tiny_algorithm(noise_multiplier=4.0)
    adversary = Tamperer({2, 5}, lambda user, update: 3 * update, FEDERATION.user(0))
    return [
        *(Training(algorithm=a, rounds=2, replica=r) for r in range(3) for a in (quiet, loud)),
        Training(algorithm=quiet, rounds=2, adversary=adversary),
        Training(algorithm=krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=2), rounds=2),
        Training(
            algorithm=insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=private),
            rounds=2,
            replica=1,
        ),
    ]


def run(backend: Any, **options: Any) -> list[ServerState]:
    together = Lockstep(MODEL, FEDERATION, backend, seed=9, **options)
    several = trainings()
    states = together.start(several)
    for _ in range(2):
        states = [state for state, _ in together.round(several, states)]
    return states


@pytest.mark.parametrize(("workers", "chunk", "deduplicate"), [(1, 3, True), (4, None, False)])
def test_workers_chunks_and_sharing_change_no_bit(workers: int, chunk: int | None, deduplicate: bool) -> None:
    expected = run(InProcess(MODEL, FEDERATION))
    with Workers(MODEL, FEDERATION, workers=workers, chunk=chunk) as backend:
        found = run(backend, deduplicate=deduplicate)
        test = FEDERATION.test
        assert test is not None
        scores = list(backend.confidences([state.parameters for state in found], test))
    here = InProcess(MODEL, FEDERATION).confidences([state.parameters for state in expected], test)
    for a, b, mine, other in zip(found, expected, scores, here, strict=True):
        assert torch.equal(a.parameters, b.parameters)
        assert (a.ledger, a.policy, a.round) == (b.ledger, b.policy, b.round)
        assert (a.users is None) == (b.users is None)
        if a.users is not None and b.users is not None:
            assert user_ledgers_file.dumps(a.users) == user_ledgers_file.dumps(b.users)
        assert (mine == other).all()
