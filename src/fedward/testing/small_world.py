"""The small federations, models, rows and algorithm that parts are tried on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.local import SGD
from fedward.presets import user_dp_fedavg
from fedward.sampling import FixedSizeSampler

USERS = 12


def small_table() -> Federation:
    """Twelve users with rows of three numbers, in two classes; two of them own one row only."""
    rng = np.random.default_rng(0)
    sizes = [5] * (USERS - 2) + [1, 1]
    x, test = (rng.normal(size=(count, 3)).astype(np.float32) for count in (sum(sizes), 40))
    users = np.repeat(np.arange(USERS), sizes)
    labels, test_labels = ((part[:, 0] > 0).astype(np.int64) for part in (x, test))
    return Federation.from_arrays(x, labels, users, test=(test, test_labels))


def small_pictures() -> Federation:
    """Twelve users with pictures of 4 x 4 pixels in three classes; every user owns some of each."""
    rng = np.random.default_rng(0)

    def pictures(count: int) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float32]], Tensor]:
        y = np.arange(count) % 3
        x = rng.uniform(size=(count, 1, 4, 4)) * rng.uniform(0.2, 1.0, size=(count, 1, 1, 1))
        x[np.arange(count), 0, y, y] = 1.0
        return x.astype(np.float32), torch.from_numpy(y)

    x, y = pictures(6 * USERS)
    return Federation.from_arrays(x, y, np.repeat(np.arange(USERS), 6), test=pictures(90))


def small_model(federation: Federation) -> nn.Module:
    """A network of two layers for the examples of a federation that are all of one shape."""
    assert isinstance(federation.examples.x, Tensor)
    features = federation.examples.x[0].numel()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return nn.Sequential(
            nn.Flatten(), nn.Linear(features, 4), nn.Tanh(), nn.Linear(4, federation.num_classes)
        )


def small_trainer() -> SGD:
    """One epoch of plain SGD."""
    return SGD(learning_rate=0.1, batch_size=2, epochs=1)


def small_algorithm() -> Algorithm:
    """Private averaging with cohorts of ten of twelve users, so that every attacker gets its turn."""
    return user_dp_fedavg(
        num_users=USERS,
        sampler=FixedSizeSampler(size=10),
        local=small_trainer(),
        clip_bound=0.7,
        noise_multiplier=1.0,
    )


def random_rows(count: int, size: int, seed: int) -> list[Tensor]:
    """Rows of normal numbers, of one seed each time."""
    return list(torch.randn(count, size, generator=torch.Generator().manual_seed(seed)))


def cohorts_of_rows(size: int = 4) -> dict[str, list[Tensor]]:
    """Rows that a round may bring, the usual and the worst."""
    ones = torch.ones(size)
    return {
        "no rows": [],
        "one row": [ones],
        "rows of zeros": [torch.zeros(size)] * 3,
        "one huge row": [1e30 * ones, ones],
        "eleven rows": random_rows(11, size, 0),
        "eleven equal rows": [ones] * 11,
        "eleven rows of the smallest numbers": [1e-45 * ones] * 11,
        "eleven rows, some huge": [(-1) ** i * 3e38 * ones if i < 4 else i * ones for i in range(11)],
        "eleven huge rows": [3e38 * (1 - i / 11) * _alternating(size) for i in range(11)],
        "twenty-three rows": random_rows(23, size, 1),
    }


def _alternating(size: int) -> Tensor:
    return torch.tensor([1.0, -1.0]).repeat(size)[:size]
