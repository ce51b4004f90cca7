from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom

from fedward.base.validate import InvalidType, InvalidValue
from fedward.certificates.confidence import (
    METHODS,
    OF_COUNTS,
    Confidence,
    betting,
    betting_sequence,
    clopper_pearson,
    empirical_bernstein,
    hoeffding,
)
from fedward.certificates.confidence import top_class as top_class_module
from fedward.certificates.replica_scores import Replicas

Array = np.ndarray[Any, np.dtype[Any]]
Law = Callable[[np.random.Generator, int], Array]
ERROR, TRIALS, M = 0.1, 3000, 120


def votes_at(p: float) -> Law:
    return lambda rng, m: (rng.random((m, TRIALS)) < p).astype(float)


def beta_values(a: float, b: float) -> Law:
    return lambda rng, m: rng.beta(a, b, (m, TRIALS))


# Name, how to draw [M, trials] values, and their true mean.
LAWS: list[tuple[str, Law, float]] = [
    (f"votes at {p}", votes_at(p), p) for p in (0.0, 0.004, 0.1, 0.5, 0.9, 0.996, 1.0)
] + [
    (f"beta {a}, {b}", beta_values(a, b), a / (a + b))
    for a, b in ((2.0, 2.0), (0.05, 0.05), (0.5, 50.0), (40.0, 0.3))
]


def most_misses(trials: int, error: float) -> int:
    """No more than this many of independent trials fail, but for one run in a million."""
    return int(binom.isf(1e-6, trials, error))


def replicas_of(scores: Array, **changes: Any) -> Replicas:
    arguments: dict[str, Any] = {"scores": scores, "numbers": np.arange(len(scores)), "seed": 1}
    return Replicas(**(arguments | changes))


def votes_of(rng: np.random.Generator, means: list[float], m: int, trials: int) -> Array:
    """One-hot votes [m, trials, classes]."""
    drawn = rng.choice(len(means), size=(m, trials), p=means)
    votes: Array = (drawn[:, :, None] == np.arange(len(means))).astype(np.uint8)
    return votes


CASES = [
    pytest.param(method, draw, mean, id=f"{method}, {name}")
    for method in METHODS
    for name, draw, mean in LAWS
    if method not in OF_COUNTS or name.startswith("votes")
]


@pytest.mark.parametrize(("method", "draw", "mean"), CASES)
def test_a_bound_fails_no_more_often_than_stated(method: str, draw: Any, mean: float) -> None:
    values = draw(np.random.default_rng(5), M)
    low, high = (METHODS[method](values, ERROR, side) for side in ("lower", "upper"))
    assert (low > mean).sum() <= most_misses(TRIALS, ERROR)
    assert (high < mean).sum() <= most_misses(TRIALS, ERROR)
    # A bound that says nothing would be right as well.
    assert (high - low).mean() < 0.5


@pytest.mark.parametrize(("bound", "at_least"), [(clopper_pearson, 0.08), (betting, 0.02)])
def test_the_narrow_bounds_nearly_use_up_their_error(bound: Any, at_least: float) -> None:
    values = (np.random.default_rng(6).random((1000, TRIALS)) < 0.5).astype(float)
    assert (bound(values, ERROR, "lower") > 0.5).mean() > at_least


def test_hoeffding_is_equation_6_of_the_paper() -> None:
    values = np.random.default_rng(0).random((1000, 3))
    width = math.sqrt(math.log(1 / 0.01) / 2000)
    np.testing.assert_allclose(hoeffding(values, 0.01, "lower"), values.mean(0) - width)
    np.testing.assert_allclose(hoeffding(values, 0.01, "upper"), values.mean(0) + width)


def test_empirical_bernstein_by_hand() -> None:
    values = [0.2, 0.4, 0.6, 0.8] * 25
    variance = sum((x - 0.5) ** 2 for x in values) / 99
    width = math.sqrt(2 * variance * math.log(20) / 100) + 7 * math.log(20) / (3 * 99)
    assert float(empirical_bernstein(values, 0.1, "upper")) == pytest.approx(0.5 + width)
    assert float(empirical_bernstein(values, 0.1, "lower")) == pytest.approx(0.5 - width)


@pytest.mark.parametrize("votes", [0, 1, 7, 19, 20])
def test_clopper_pearson_inverts_the_binomial(votes: int) -> None:
    values = [1] * votes + [0] * (20 - votes)
    low, high = (float(clopper_pearson(values, 0.05, side)) for side in ("lower", "upper"))
    assert low == 0 if votes == 0 else binom.sf(votes - 1, 20, low) == pytest.approx(0.05)
    assert high == 1 if votes == 20 else binom.cdf(votes, 20, high) == pytest.approx(0.05)


@pytest.mark.parametrize("any_time", [False, True])
def test_betting_is_the_largest_mean_that_the_capital_refutes(any_time: bool) -> None:
    values = np.random.default_rng(3).beta(4, 1, 50)
    error = 0.05

    def capital(m: float) -> float:
        total, largest, variance, seen, squares = 1.0, 1.0, 0.25, 0.5, 0.25
        for t, x in enumerate(values, start=1):
            horizon = t * math.log(t + 1) if any_time else len(values)
            bet = min(math.sqrt(2 * math.log(1 / error) / (horizon * variance)), 0.75 / m)
            total *= 1 + bet * (x - m)
            largest = max(largest, total)
            seen += x
            squares += (x - seen / (t + 1)) ** 2
            variance = squares / (t + 1)
        return largest

    grid = np.linspace(0.001, 0.999, 999)
    refuted = np.array([capital(m) >= 1 / error for m in grid])
    found = float((betting_sequence if any_time else betting)(values, error, "lower"))
    assert refuted.any()
    assert (np.diff(refuted.astype(int)) <= 0).all()
    assert grid[refuted].max() <= found < grid[~refuted].min()


@pytest.mark.parametrize("method", ["hoeffding", "empirical_bernstein", "betting", "betting_sequence"])
def test_upper_mirrors_lower_and_shapes_are_kept(method: str) -> None:
    values = np.random.default_rng(1).random((40, 5, 3))
    low, high = METHODS[method](values, 0.1, "lower"), METHODS[method](1 - values, 0.1, "upper")
    assert low.shape == (5, 3)
    np.testing.assert_allclose(low, 1 - high, atol=1e-7)
    np.testing.assert_allclose(low[2, 1], METHODS[method](values[:, 2, 1], 0.1, "lower"), atol=1e-12)


def test_more_columns_than_a_block_give_the_same_bounds() -> None:
    values = np.random.default_rng(1).random((5, 4100))
    whole = betting(values, 0.1, "lower")
    np.testing.assert_array_equal(whole[4090:], betting(values[:, 4090:], 0.1, "lower"))


def test_the_betting_sequence_may_be_looked_at_again_and_again() -> None:
    values = (np.random.default_rng(8).random((400, 1000)) < 0.5).astype(float)
    ever = np.zeros((2, 1000), dtype=bool)
    for look in range(20, 401, 20):
        ever[0] |= betting_sequence(values[:look], ERROR, "lower") > 0.5
        ever[1] |= clopper_pearson(values[:look], ERROR, "lower") > 0.5
    assert ever[0].sum() <= most_misses(1000, ERROR)
    # And a bound for one fixed M may not: that is why going on after a look is refused with it.
    assert ever[1].sum() > most_misses(1000, ERROR)


TOP_CLASS = [
    ("one clear winner", [0.7, 0.2, 0.1]),
    ("two level", [0.5, 0.5]),
    ("two close", [0.52, 0.48]),
    ("two level of three", [0.36, 0.36, 0.28]),
    ("all level", [0.1] * 10),
    ("near certain", [0.996, 0.003, 0.001]),
    ("certain", [1.0, 0.0, 0.0]),
]


def misses(found: Any, means: list[float]) -> int:
    """How often the statement about the class that was chosen is wrong."""
    truth = np.array(means)
    others = np.where(np.arange(len(truth)) == found.top[:, None], -1.0, truth).max(axis=1)
    return int(((found.lower > truth[found.top]) | (found.upper < others)).sum())


@pytest.mark.parametrize("means", [m for _, m in TOP_CLASS], ids=[n for n, _ in TOP_CLASS])
@pytest.mark.parametrize("method", ["betting", "clopper_pearson", "hoeffding"])
def test_bounds_hold_for_a_top_class_chosen_from_the_same_votes(method: str, means: list[float]) -> None:
    trials, error = 1500, 0.2
    votes = votes_of(np.random.default_rng(11), means, 200, trials)
    rule = Confidence(looks=(200,), method=method, error=error)
    assert misses(rule.bounds(replicas_of(votes, score="vote")), means) <= most_misses(trials, error)


@pytest.mark.parametrize("weights", [[3.0, 3.0, 2.0], [0.4, 0.4], [60.0, 0.1, 0.1, 0.1]])
def test_bounds_hold_for_a_top_class_chosen_from_the_same_confidences(weights: list[float]) -> None:
    trials, error = 1000, 0.2
    scores = np.random.default_rng(12).dirichlet(weights, (150, trials))
    found = Confidence(looks=(150,), error=error).bounds(replicas_of(scores))
    assert misses(found, [w / sum(weights) for w in weights]) <= most_misses(trials, error)


def test_an_equal_share_for_each_class_would_not_be_enough() -> None:
    """At error / C for each bound the pair fails more often than stated; at error / (C + 2) it does not."""
    means, m, trials, error = np.array([0.36, 0.36, 0.28]), 20_000, 40_000, 0.2
    votes = np.random.default_rng(13).multinomial(m, means, size=trials)
    rows, top = np.arange(trials), votes.argmax(axis=1)
    others = np.where(np.arange(3) == top[:, None], -1.0, means).max(axis=1)
    wrong = {}
    for ways in (3, 5):
        lower = beta.ppf(error / ways, votes, m - votes + 1)[rows, top]
        upper = beta.isf(error / ways, votes + 1, m - votes)
        upper[rows, top] = 0.0
        best = np.minimum(upper.max(axis=1), 1 - lower)
        wrong[ways] = int(((lower > means[top]) | (best < others)).sum())
    assert wrong[3] > most_misses(trials, error)
    assert wrong[5] <= error * trials
    assert Confidence(looks=(m,), error=error).each(classes=3, examples=1) == error / 5


def test_simultaneous_bounds_hold_for_all_examples_together() -> None:
    examples, trials, error, means = 20, 300, 0.3, [0.55, 0.45]
    votes = votes_of(np.random.default_rng(14), means, 100, examples * trials)
    each, together = (
        Confidence(looks=(100,), method="clopper_pearson", error=error, simultaneous=simultaneous)
        for simultaneous in (False, True)
    )
    failed = [0, 0]
    for start in range(0, examples * trials, examples):
        part = replicas_of(votes[:, start : start + examples], score="vote")
        for i, rule in enumerate((each, together)):
            failed[i] += misses(rule.bounds(part), means) > 0
    assert failed[1] <= most_misses(trials, error)
    assert failed[0] > most_misses(trials, error)


def test_two_classes_need_one_bound() -> None:
    scores = np.random.default_rng(0).dirichlet([5, 2], (100, 4))
    found = Confidence(looks=(100,), method="hoeffding", error=0.02).bounds(replicas_of(scores))
    np.testing.assert_array_equal(found.upper, 1 - found.lower)
    np.testing.assert_allclose(found.lower, hoeffding(scores[:, :, 0], 0.01, "lower"))


def test_blocks_of_examples_give_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = replicas_of(np.random.default_rng(0).dirichlet([5, 2, 1], (30, 11)))
    rule = Confidence(looks=(30,))
    whole = rule.bounds(replicas)
    monkeypatch.setattr(top_class_module, "_BLOCK", 30 * 3 * 4)
    for a, b in zip(whole, rule.bounds(replicas), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding([], 0.1, "lower"), "number of replicas must be at least 1, got 0"),
        (lambda: hoeffding([0.5, math.nan], 0.1, "lower"), r"values must lie in \[0, 1\], got nan"),
        (lambda: betting([0.5, 1.1], 0.1, "lower"), r"values must lie in \[0, 1\], got 1.1"),
        (lambda: betting([-0.1], 0.1, "lower"), r"values must lie in \[0, 1\], got -0.1"),
        (lambda: betting([0.5], 0.0, "lower"), "error must be above 0 and below 1, got 0.0"),
        (lambda: betting([0.5], 0.1, "left"), "side must be one of lower, upper, got 'left'"),  # type: ignore[arg-type]
        (lambda: betting(0.5, 0.1, "lower"), "one value for each replica"),
        (lambda: empirical_bernstein([0.5], 0.1, "lower"), "at least 2 for the empirical Bernstein bound"),
        (
            lambda: clopper_pearson([0, 0.4], 0.1, "upper"),
            "votes must be 0 or 1 for Clopper-Pearson, got 0.4",
        ),
        (lambda: Confidence(looks=()), "looks must be rising numbers of replicas"),
        (lambda: Confidence(looks=(0,)), "number of replicas must be at least 1, got 0"),
        (lambda: Confidence(looks=(5, 5), method="betting_sequence"), "looks must be rising"),
        (lambda: Confidence(looks=(5,), method="beting"), "did you mean 'betting'?"),
        (lambda: Confidence(looks=(5,), error=1.0), "error must be above 0 and below 1, got 1.0"),
        (
            lambda: Confidence(looks=(5,)).extended(9),
            "or betting_votes to go on after a look",
        ),
    ],
)
def test_bad_input_is_refused_with_the_reason(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()


def test_texts_are_not_values() -> None:
    with pytest.raises(InvalidType, match="values must be numbers"):
        hoeffding(["a"], 0.1, "lower")


def test_other_than_the_planned_number_of_replicas_is_refused() -> None:
    replicas = replicas_of(np.random.default_rng(0).dirichlet([5, 2], (30, 2)))
    with pytest.raises(InvalidValue, match="must be 40, as fixed beforehand, got 30"):
        Confidence(looks=(40,)).bounds(replicas)


def test_going_on_after_a_look_is_recorded() -> None:
    rule = Confidence(looks=(100,), method="betting_sequence").extended(250)
    assert (rule.looks, rule.replicas) == ((100, 250), 250)
