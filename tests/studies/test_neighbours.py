"""Neighbouring federations, built through the experiment file: what is printed must hold between them.

Accountants and algorithms had been tested with fixed algorithm objects. But a file makes its algorithm *from
the data*, and so what it makes of N is part of the mechanism.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.config.experiment import parse
from fedward.core.parameters import ParameterSpec
from fedward.core.round import plan_round
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.training.setup import Setup, prepare

USERS, FEATURES = 8, 300

ALGORITHMS = {
    "user_dp_fedavg": 'clip_bound = 0.5\nnoise_multiplier = 4.0\nsampler = { name = "everyone" }',
    "sampled": 'clip_bound = 0.5\nnoise_multiplier = 4.0\nsampler = { name = "poisson", rate = 0.5 }',
    "central_dp": 'clip_bound = 0.5\nnoise_multiplier = 4.0\nsampler = { name = "poisson", rate = 0.5 }',
    "clip_norm_decay": (
        'initial_bound = 0.5\ndecay = 0.9\nnoise_multiplier = 4.0\nsampler = { name = "poisson", rate = 0.5 }'
    ),
    "adaptive_clipping": 'noise_multiplier = 4.0\nsampler = { name = "poisson", rate = 0.5 }',
    "weak_dp": 'clip_bound = 0.5\nnoise_std = 0.5\nsampler = { name = "everyone" }',
}


def experiment(algorithm: str, declared: int | None) -> str:
    preset = "user_dp_fedavg" if algorithm == "sampled" else algorithm
    users = "" if declared is None else f"users = {declared}"
    return f"""
seed = 1
rounds = 1
data = {{ name = "table", file = "table.npz", split = "natural" }}
model = {{ name = "logistic_regression" }}
[algorithm]
preset = "{preset}"
{ALGORITHMS[algorithm]}
local = {{ name = "sgd", learning_rate = 1.0, batch_size = 10, epochs = 1 }}
[privacy]
delta = 1e-3
{users}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The data of all users, and of all but one."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(USERS), 4)
    x = rng.normal(size=(len(users), FEATURES)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    found = []
    for name, kept in (("with", users >= 0), ("without", users < USERS - 1)):
        folder = tmp_path_factory.mktemp(name)
        # Test rows of their own: a share of the users would follow N as well.
        arrays: dict[str, Any] = {
            "x": x[kept],
            "y": y[kept],
            "users": users[kept],
            "x_test": x[:4],
            "y_test": y[:4],
        }
        np.savez(folder / "table.npz", allow_pickle=False, **arrays)
        found.append(folder)
    return found[0], found[1]


def made(algorithm: str, declared: int | None, folder: Path) -> Setup:
    return prepare(parse(experiment(algorithm, declared)), folder)


def updates(setup: Setup) -> NDArray[np.float64]:
    """The clipped update of every user in the first round, by the training that a run would do."""
    everybody = prepare(
        setup.experiment.model_copy(
            update={
                "algorithm": setup.experiment.algorithm.model_copy(
                    update={"sampler": parse(experiment("user_dp_fedavg", None)).algorithm.sampler}  # type: ignore[attr-defined]
                )
            }
        ),
        federation=setup.federation,
    )
    algorithm = everybody.algorithm
    state = algorithm.init(ParameterSpec.of(setup.model).flatten(setup.model))
    plan = plan_round(algorithm, state, setup.federation.roster, None, 1)
    backend = InProcess(setup.model, setup.federation)
    try:
        rows = [row.update for row in backend.train(plan.jobs)]
    finally:
        backend.close()
    bounds = algorithm.bounds(state, None)
    clipped = [algorithm.norm.clip(row, algorithm.norm.measure(row), bounds) for row in rows]
    return np.stack([row.double().numpy() for row in clipped])


class Release:
    """The distribution of the noisy mean of one round: a mixture of Gaussians, one for each cohort."""

    def __init__(self, setup: Setup, rows: NDArray[np.float64]) -> None:
        algorithm = setup.algorithm
        bound = math.hypot(*algorithm.policy.bound(algorithm.policy.init(), 0, None))
        self.std = algorithm.noise_std(bound)
        q = getattr(algorithm.sampler, "rate", 1.0)
        divisor = algorithm.aggregator.divisor
        assert divisor is not None
        cohorts = [np.array(c, dtype=float) for c in itertools.product((0, 1), repeat=len(rows))]
        chances = np.array([q ** c.sum() * (1 - q) ** (len(rows) - c.sum()) for c in cohorts])
        self.means = np.stack([c @ rows / divisor for c in cohorts])[chances > 0]
        self.chances = chances[chances > 0]

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        cohort = rng.choice(len(self.means), size=count, p=self.chances)
        return self.means[cohort] + self.std * rng.normal(size=(count, self.means.shape[1]))

    def log_density(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        squared = ((points**2).sum(1)[:, None] - 2 * points @ self.means.T + (self.means**2).sum(1)) / 2
        exponents = np.log(self.chances) - squared / self.std**2
        largest = exponents.max(1)
        total = np.log(np.exp(exponents - largest[:, None]).sum(1)) + largest
        return np.asarray(total - points.shape[1] * math.log(self.std))


def delta_between(one: Release, other: Release, epsilon: float) -> float:
    """δ(ε) = E_one[(1 - exp(ε - loss))+], from draws: a lower estimate up to 4 standard errors."""
    points = one.draw(2000, np.random.default_rng(1))
    loss = one.log_density(points) - other.log_density(points)
    spent = np.maximum(0.0, -np.expm1(epsilon - loss))
    return float(spent.mean() - 4 * spent.std() / math.sqrt(len(spent)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_promised_to_a_user_who_leaves_holds(algorithm: str, folders: tuple[Path, Path]) -> None:
    """For a declared number of users, whether it is the true one or not, add/remove is printed, and holds."""
    for declared in (USERS, USERS + 5):
        with_user, without = (made(algorithm, declared, folder) for folder in folders)
        promise = with_user.planned
        assert promise == without.planned
        assert promise.adjacency == "add/remove"
        assert (
            promise.terms.declared,
            f"divisor m̄ = {promise.terms.divisor:g}, declared" in str(promise),
        ) == (
            True,
            True,
        )
        assert with_user.algorithm == without.algorithm
        rows = updates(with_user)
        releases = Release(with_user, rows), Release(without, rows[:-1])
        for one, other in (releases, releases[::-1]):
            assert delta_between(one, other, promise.epsilon) <= promise.delta


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_a_declaration_add_remove_is_not_promised(algorithm: str, folders: tuple[Path, Path]) -> None:
    """The noise follows N there: what is printed must be what holds, with a user's contribution or a zero."""
    with_user, without = (made(algorithm, None, folder) for folder in folders)
    promise = with_user.planned
    assert promise.adjacency == "zero-out"
    assert "zero-out" in str(promise)
    assert "add/remove" not in str(promise)
    rows = updates(with_user)
    zeroed = rows * (np.arange(USERS) < USERS - 1)[:, None]
    releases = Release(with_user, rows), Release(with_user, zeroed)
    for one, other in (releases, releases[::-1]):
        assert delta_between(one, other, promise.epsilon) <= promise.delta
    if algorithm in ("user_dp_fedavg", "sampled"):
        # And add/remove would have been a false promise, by far.
        gone = Release(without, rows[:-1])
        assert delta_between(gone, releases[0], promise.epsilon) > 10 * promise.delta


def test_inject_is_refused_without_a_declaration_and_says_the_line_to_add(
    folders: tuple[Path, Path],
) -> None:
    setup = made("sampled", None, folders[0])
    for threats in (("inject",), ("present", "inject"), ("inject", "present", "compromise")):
        claims: Any = Claims(replicas=10, threats=threats)
        with pytest.raises(InvalidValue, match=r"add the line 'users = 8' to the table \[privacy\]"):
            setting_of(claims, setup)
    setting = setting_of(Claims(replicas=10, threats=("present", "compromise")), setup)
    assert setting.ledger.adjacency == "zero-out"
    declared = setting_of(Claims(replicas=10), made("sampled", USERS, folders[0]))
    assert declared.ledger.terms.declared
    assert declared.ledger.terms.divisor == 4.0


def test_a_file_with_a_budget_declares_delta_where_examples_are_hidden(tmp_path: Path) -> None:
    text = """
seed = 1
rounds = 5
data = { name = "digits", users = 10 }
model = { name = "logistic_regression" }
[algorithm]
preset = "insdp_fedavg"
sampler = { name = "everyone" }
local = { name = "dp_sgd", learning_rate = 0.1, probability = 0.1, expected_batch = 15.0, steps = 2, \
noise_multiplier = 2.0, clip_bound = 1.0 }
[privacy]
budget = 3.0
"""
    with pytest.raises(InvalidValue, match=r"privacy\.delta must be given with a budget"):
        prepare(parse(text))
    assert prepare(parse(text + "delta = 1e-5\n")).delta == 1e-5


def test_local_dp_hides_an_example_that_counts_as_zero_since_sizes_are_public() -> None:
    text = """
seed = 1
rounds = 2
data = { name = "digits", users = 10 }
model = { name = "logistic_regression" }
[algorithm]
preset = "PRESET"
sampler = { name = "everyone" }
local = { name = "dp_sgd", learning_rate = 0.1, probability = 0.1, expected_batch = 15.0, steps = 2, \
noise_multiplier = 2.0, clip_bound = 1.0 }
"""
    public = prepare(parse(text.replace("PRESET", "local_dp"))).planned
    assert (public.unit, public.adjacency, public.terms.public_sizes) == ("example", "zero-out", True)
    apart = prepare(parse(text.replace("PRESET", "insdp_fedavg"))).planned
    assert (apart.unit, apart.adjacency, apart.terms.public_sizes) == ("example", "add/remove", False)
    assert apart.epsilon == public.epsilon


@pytest.mark.parametrize(("users", "delta"), [(2, 0.01), (3, 0.01), (65, 0.01), (200, 200**-1.1)])
def test_a_delta_that_nobody_chose_is_small(users: int, delta: float) -> None:
    text = experiment("user_dp_fedavg", users).replace("delta = 1e-3\n", "")
    text = text.replace('data = { name = "table", file = "table.npz", split = "natural" }', DIGITS)
    assert prepare(parse(text)).delta == pytest.approx(delta)


DIGITS = 'data = { name = "digits", users = 20 }'
