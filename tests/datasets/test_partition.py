from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets import partition
from fedward.datasets.partition import SPLITS, Split, dirichlet, iid, label_skew, natural, quantity_skew


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(users=st.integers(1, 40), more=st.integers(0, 60), seed=st.integers(0, 99))
def test_iid_sizes_differ_by_at_most_one_and_nobody_is_empty(users: int, more: int, seed: int) -> None:
    owners = iid(users + more, users, rng(seed))
    sizes = np.bincount(owners, minlength=users)
    assert owners.dtype == np.int64
    assert sizes.sum() == users + more
    assert len(sizes) == users
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


def test_iid_is_shuffled_and_depends_on_the_stream_alone() -> None:
    owners = iid(1000, 10, rng(1))
    assert np.array_equal(owners, iid(1000, 10, rng(1)))
    assert not np.array_equal(owners, iid(1000, 10, rng(2)))
    # Neighbours agree about one time in ten; dealt out in order they would never.
    assert 50 < (owners[1:] == owners[:-1]).sum() < 160


@given(
    users=st.integers(1, 8),
    alpha=st.floats(0.5, 50),
    classes=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_dirichlet_gives_every_example_one_owner_and_every_user_an_example(
    users: int, alpha: float, classes: int, seed: int
) -> None:
    owners = dirichlet(rng(seed).integers(0, classes, 200), users, alpha, rng(seed))
    assert owners.shape == (200,)
    assert owners.dtype == np.int64
    assert set(owners.tolist()) == set(range(users))


def largest_shares(alpha: float) -> float:
    labels = np.repeat(np.arange(10), 1000)
    owners = dirichlet(labels, 20, alpha, rng(3))
    table = np.zeros((10, 20))
    np.add.at(table, (labels, owners), 1)
    return float((table.max(axis=1) / 1000).mean())


def test_a_small_alpha_concentrates_a_class_and_a_large_one_spreads_it() -> None:
    assert largest_shares(0.1) > 0.4
    assert largest_shares(1e4) < 0.06  # 0.05 if all were equal


def test_dirichlet_shares_have_the_right_mean_and_variance() -> None:
    # So many examples and so large an alpha that drawing again for an empty user practically never happens.
    users, alpha, size, draws = 4, 2.0, 2000, 2000
    owners = [dirichlet(np.zeros(size), users, alpha, rng(seed)) for seed in range(draws)]
    shares = np.array([np.bincount(row, minlength=users) for row in owners]) / size
    mean, variance = 1 / users, (1 / users) * (1 - 1 / users) / (users * alpha + 1)
    assert np.abs(shares.mean(axis=0) - mean).max() < 4 * np.sqrt(variance / draws)
    assert np.abs(shares.var(axis=0) / variance - 1).max() < 4 * np.sqrt(2 / draws)


def test_dirichlet_shuffles_within_a_class() -> None:
    owners = dirichlet(np.zeros(1000), 2, 100.0, rng(0))
    assert 300 < np.count_nonzero(np.diff(owners)) < 700


def test_dirichlet_draws_again_when_a_user_stays_empty() -> None:
    # With 10 examples and 5 users most single draws leave somebody empty.
    for seed in range(30):
        assert np.bincount(dirichlet(np.zeros(10), 5, 1.0, rng(seed)), minlength=5).min() >= 1


def test_a_hopeless_dirichlet_split_ends_with_an_error_that_says_why() -> None:
    with pytest.raises(
        InvalidValue, match=r"alpha 0\.001 .* 50 users .* 100 examples; a larger alpha or fewer"
    ):
        dirichlet(np.arange(100) % 2, 50, 0.001, rng())


def test_a_hopeless_dirichlet_split_is_drawn_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partition, "DRAWS", 3)
    with pytest.raises(InvalidValue, match=r"^3 Dirichlet draws"):
        dirichlet(np.arange(100) % 2, 50, 0.001, rng())


@given(users=st.integers(1, 30), each=st.integers(1, 6), classes=st.integers(1, 6), seed=st.integers(0, 99))
def test_label_skew_gives_every_user_so_many_classes_and_every_class_its_users(
    users: int, each: int, classes: int, seed: int
) -> None:
    labels = rng(seed).permutation(np.repeat(np.arange(classes), 40))
    if each > classes or users * each < classes:
        with pytest.raises(InvalidValue, match=r"classes per user must be at most|every class needs a user"):
            label_skew(labels, users, each, rng(seed))
        return
    owners = label_skew(labels, users, each, rng(seed))
    table = np.zeros((classes, users), dtype=int)
    np.add.at(table, (labels, owners), 1)
    assert ((table > 0).sum(axis=0) == each).all()
    having = (table > 0).sum(axis=1)
    assert having.max() - having.min() <= 1
    for row in table:
        assert row[row > 0].max() - row[row > 0].min() <= 1


def test_label_skew_mixes_classes_anew_for_every_user_and_follows_its_stream() -> None:
    labels = np.repeat(np.arange(10), 100)
    owners = label_skew(labels, 50, 2, rng(1))
    assert np.array_equal(owners, label_skew(labels, 50, 2, rng(1)))
    pairs = {tuple(np.unique(labels[owners == user])) for user in range(50)}
    assert len(pairs) > 20  # of 45 there are


def test_a_class_that_cannot_be_dealt_out_to_its_users_is_refused() -> None:
    with pytest.raises(InvalidValue, match="a class of 1 examples cannot be dealt out to 2 users"):
        label_skew(np.array([0, 1, 1, 1]), 2, 2, rng())


def test_quantity_skew_differs_in_sizes_and_not_in_labels() -> None:
    labels = np.arange(20_000) % 2
    owners = quantity_skew(20_000, 10, 0.5, rng(2))
    sizes = np.bincount(owners, minlength=10)
    assert sizes.min() >= 1
    assert sizes.sum() == 20_000
    assert sizes.max() > 4 * np.median(sizes)
    large = sizes >= 400
    ones = np.bincount(owners, weights=labels, minlength=10) / sizes
    assert np.abs(ones[large] - 0.5).max() < 0.1


def test_natural_numbers_users_in_the_order_of_their_ids() -> None:
    assert natural(np.array([30, 10, 20, 10]), None, rng()).tolist() == [2, 0, 1, 0]


def test_natural_chooses_that_many_users_and_marks_the_rest() -> None:
    ids = np.repeat(np.arange(100, 120), 3)
    owners = natural(ids, 7, rng(0))
    chosen = np.unique(ids[owners >= 0])
    assert len(chosen) == 7
    assert np.array_equal(chosen[owners[owners >= 0]], ids[owners >= 0])
    assert np.count_nonzero(owners == -1) == 13 * 3
    assert not np.array_equal(chosen, np.unique(ids[natural(ids, 7, rng(1)) >= 0]))


@pytest.mark.parametrize("users", [0, -3])
def test_less_than_one_user_is_refused(users: int) -> None:
    for make in (
        lambda: iid(10, users, rng()),
        lambda: dirichlet(np.zeros(10), users, 1.0, rng()),
        lambda: natural(np.arange(10), users, rng()),
        lambda: Split(name="iid", users=users),
        lambda: Split(name="natural", users=users),
    ):
        with pytest.raises(InvalidValue, match=f"number of users must be at least 1, got {users}"):
            make()


def test_more_users_than_there_can_be_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at most the number of examples, 10, got 11"):
        iid(10, 11, rng())
    with pytest.raises(InvalidValue, match="at most the number of examples, 10, got 11"):
        dirichlet(np.zeros(10), 11, 1.0, rng())
    with pytest.raises(InvalidValue, match="at most the 2 that the data names, got 3"):
        natural(np.array([5, 6, 5]), 3, rng())


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_an_alpha_that_is_not_positive_is_refused(alpha: float) -> None:
    with pytest.raises(InvalidValue, match="alpha must be positive and finite"):
        dirichlet(np.zeros(10), 2, alpha, rng())
    with pytest.raises(InvalidValue, match="alpha must be positive and finite"):
        Split(name="dirichlet", users=2, alpha=alpha)


def test_a_split_refuses_what_it_does_not_use_and_asks_for_what_it_needs() -> None:
    with pytest.raises(InvalidValue, match=r"alpha must be left out with split iid, got 0\.5"):
        Split(name="iid", users=3, alpha=0.5)
    with pytest.raises(InvalidValue, match="alpha must be left out with split natural"):
        Split(name="natural", alpha=0.5)
    with pytest.raises(InvalidValue, match="split dirichlet needs an alpha"):
        Split(name="dirichlet", users=3)
    with pytest.raises(InvalidValue, match="split quantity_skew needs an alpha"):
        Split(name="quantity_skew", users=3)
    with pytest.raises(InvalidValue, match="split label_skew needs classes_per_user"):
        Split(name="label_skew", users=3)
    with pytest.raises(InvalidValue, match="classes_per_user must be left out with split iid, got 2"):
        Split(name="iid", users=3, classes_per_user=2)
    with pytest.raises(InvalidValue, match="split iid needs a number of users"):
        Split(name="iid")
    with pytest.raises(InvalidType, match=r"number of users must be a whole number, got 2\.5"):
        Split(name="iid", users=2.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="did you mean 'dirichlet'"):
        Split(name="dirichlett", users=3, alpha=1.0)


def test_a_split_uses_the_usual_number_of_users_unless_told_or_natural() -> None:
    assert Split.of("iid", None, None, usual_users=50).users == 50
    assert Split.of("iid", 7, None, usual_users=50).users == 7
    assert Split.of("natural", None, None, usual_users=50).users is None
    assert Split.of("natural", 7, None, usual_users=50).users == 7


def test_every_split_assigns_as_its_function_does() -> None:
    labels, ids = np.arange(60) % 3, np.arange(60) // 6
    made = {
        "iid": (Split(name="iid", users=4), iid(60, 4, rng(5))),
        "dirichlet": (Split(name="dirichlet", users=4, alpha=2.0), dirichlet(labels, 4, 2.0, rng(5))),
        "label_skew": (
            Split(name="label_skew", users=4, classes_per_user=2),
            label_skew(labels, 4, 2, rng(5)),
        ),
        "quantity_skew": (
            Split(name="quantity_skew", users=4, alpha=2.0),
            quantity_skew(60, 4, 2.0, rng(5)),
        ),
        "natural": (Split(name="natural", users=4), natural(ids, 4, rng(5))),
    }
    assert made.keys() == SPLITS.keys()
    for split, owners in made.values():
        assert np.array_equal(split.assign(labels, rng(5), ids), owners)


def test_a_natural_split_says_when_the_data_names_no_users_or_not_enough() -> None:
    with pytest.raises(InvalidValue, match="names the user of each example; this data does not"):
        Split(name="natural").assign(np.zeros(4), rng())
    with pytest.raises(InvalidValue, match=r"4 examples but natural users of shape \(3,\)"):
        Split(name="natural").assign(np.zeros(4), rng(), np.zeros(3))
