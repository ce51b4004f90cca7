from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fedward.attacks.inference.auc import auc
from fedward.attacks.inference.evidence import Evidence, scaled_confidence
from fedward.attacks.inference.membership import MEMBERSHIP_ATTACKS, LikelihoodRatio, LossThreshold
from fedward.base.validate import InvalidType, InvalidValue


def played(
    shadows: int, shift: float, seed: int = 0, records: int = 600, spread: float = 1.0
) -> tuple[Evidence, Any]:
    """Records of very different difficulty; having been trained on lifts the confidence a little."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, 5.0, records)
    inside = np.concatenate([half := rng.random((shadows // 2, records)) < 0.5, ~half])
    truth = rng.random(records) < 0.5

    def confidence(seen: Any) -> Any:
        return difficulty + shift * seen + rng.normal(0.0, spread, seen.shape)

    return Evidence(target=confidence(truth), shadows=confidence(inside), inside=inside), truth


def area(attack: Any, evidence: Evidence, truth: Any) -> float:
    return auc(attack.scores(evidence), truth).value


def test_a_likelihood_ratio_knows_what_is_easy_and_a_threshold_does_not() -> None:
    evidence, truth = played(shadows=64, shift=2.0)
    assert area(LossThreshold(), evidence, truth) < 0.7
    best = norm.cdf(2.0 / np.sqrt(2))  # of an attacker that knows every record's means
    for mode in ("online", "offline"):
        for variance in ("global", "record"):
            attack = LikelihoodRatio(mode=mode, variance=variance)
            assert best - 0.03 < area(attack, evidence, truth) < best + 0.03


def test_scores_are_log_likelihood_ratios_where_the_means_are_known() -> None:
    evidence, _ = played(shadows=2000, shift=1.0, records=50)
    scores = LikelihoodRatio(shrink=False).scores(evidence)
    within = np.array([evidence.shadows[seen, i].mean() for i, seen in enumerate(evidence.inside.T)])
    without = np.array([evidence.shadows[~seen, i].mean() for i, seen in enumerate(evidence.inside.T)])
    wanted = norm.logpdf(evidence.target, within) - norm.logpdf(evidence.target, without)
    np.testing.assert_allclose(scores, wanted, atol=0.3, rtol=0.1)
    np.testing.assert_allclose(
        LikelihoodRatio(mode="offline").scores(evidence), evidence.target - without, atol=0.3, rtol=0.1
    )


def test_with_few_shadows_shrinking_finds_what_chance_would_hide() -> None:
    found = {"shrunk": [], "published": []}  # type: dict[str, list[float]]
    for seed in range(10):
        evidence, truth = played(shadows=4, shift=0.5, seed=seed)
        found["shrunk"].append(area(LikelihoodRatio(), evidence, truth))
        found["published"].append(area(LikelihoodRatio(shrink=False), evidence, truth))
    assert np.mean(found["shrunk"]) > np.mean(found["published"]) + 0.03
    assert np.mean(found["shrunk"]) > 0.58


def test_with_many_shadows_nothing_is_shrunk() -> None:
    rng = np.random.default_rng(3)
    evidence, _ = played(shadows=4000, shift=0.0, records=40)
    lifted = evidence.shadows + evidence.inside * rng.normal(1.0, 2.0, 40)  # each record by its own shift
    evidence = replace(evidence, shadows=lifted)
    np.testing.assert_allclose(
        LikelihoodRatio().scores(evidence), LikelihoodRatio(shrink=False).scores(evidence), atol=0.05
    )


def test_the_variance_of_each_record_counts_once_there_are_enough_shadows() -> None:
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(400) < 200, 0.1, 10.0)
    inside = np.concatenate([half := rng.random((40, 400)) < 0.5, ~half])
    truth = rng.random(400) < 0.5
    evidence = Evidence(
        target=truth + spread * rng.normal(size=400),
        shadows=inside + spread * rng.normal(size=(80, 400)),
        inside=inside,
    )
    each = area(LikelihoodRatio(variance="record"), evidence, truth)
    assert area(LikelihoodRatio(), evidence, truth) == each  # 80 shadows: auto
    assert each > area(LikelihoodRatio(variance="global"), evidence, truth) + 0.05
    few = replace(evidence, shadows=evidence.shadows[:4], inside=np.concatenate([half[:2], ~half[:2]]))
    np.testing.assert_array_equal(
        LikelihoodRatio().scores(few), LikelihoodRatio(variance="global").scores(few)
    )


def test_a_target_that_has_seen_nothing_gives_nothing_away() -> None:
    evidence, truth = played(shadows=16, shift=2.0, seed=1)
    rng = np.random.default_rng(5)
    nobody = replace(evidence, target=rng.normal(0.0, 5.0, len(truth)))
    for attack in MEMBERSHIP_ATTACKS.values():
        found = auc(attack.scores(nobody), truth)
        assert found.low < 0.5 < found.high


def test_a_user_is_the_mean_over_its_examples() -> None:
    offsets = np.array([0, 1, 4])
    inside = np.array([[True, False], [False, True]] * 2)
    shadows = np.arange(16.0).reshape(4, 4)
    evidence = Evidence(
        target=np.array([3.0, 1.0, 2.0, 6.0]), shadows=shadows, inside=inside, offsets=offsets
    )
    users = evidence.of_records()
    assert users.target.tolist() == [3.0, 3.0]
    assert users.shadows.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0], [12.0, 14.0]]
    losses = np.log1p(np.exp(-evidence.target))
    assert evidence.losses().tolist() == pytest.approx([losses[0], losses[1:].mean()])
    np.testing.assert_allclose(LossThreshold().scores(evidence), -evidence.losses())
    np.testing.assert_allclose(LikelihoodRatio().scores(evidence), LikelihoodRatio().scores(users))


def test_confidence_is_scaled_from_the_other_classes_where_it_has_become_one() -> None:
    logits = torch.tensor([[30.0, 0.0, -1.0], [0.0, 5.0, 0.0], [200.0, 0.0, 0.0]])
    labels = np.array([0, 0, 1])
    found = scaled_confidence(torch.softmax(logits, 1).numpy(), labels)
    others = torch.logsumexp(logits[:1, 1:], 1)
    assert found[0] == pytest.approx(float(logits[0, 0] - others), rel=1e-5)
    assert found[1] == pytest.approx(float(0 - torch.logsumexp(logits[1, 1:], 0)), rel=1e-5)
    assert np.isfinite(found).all()
    loss = torch.nn.functional.cross_entropy(logits[1:2], torch.tensor([0]))
    assert np.logaddexp(0, -found[1]) == pytest.approx(float(loss), rel=1e-5)


def test_models_that_are_all_the_same_do_not_divide_by_zero() -> None:
    evidence, truth = played(shadows=4, shift=0.0)
    flat = replace(evidence, target=np.zeros(len(truth)), shadows=np.zeros_like(evidence.shadows))
    for attack in MEMBERSHIP_ATTACKS.values():
        assert len(set(attack.scores(flat).tolist())) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda e: LikelihoodRatio(mode="both"), InvalidValue, "mode must be one of online, offline"),  # type: ignore[arg-type]
        (lambda e: LikelihoodRatio(variance="own"), InvalidValue, "variance must be one of"),  # type: ignore[arg-type]
        (lambda e: LikelihoodRatio(shrink=1), InvalidType, "shrink must be true or false"),  # type: ignore[arg-type]
        (
            lambda e: LikelihoodRatio().scores(replace(e, shadows=e.shadows[:2], inside=e.inside[:2])),
            InvalidValue,
            "inside at least 2 shadows and outside at least 2, got [01]",
        ),
        (lambda e: replace(e, inside=e.inside[:, :5]), InvalidValue, "inside must be \\[shadows, records\\]"),
        (lambda e: replace(e, shadows=e.shadows[:, :5]), InvalidValue, "of the same examples"),
        (lambda e: replace(e, inside=e.inside.astype(int)), InvalidType, "inside must be true or false"),
        (
            lambda e: replace(e, offsets=np.array([0, 3]), inside=e.inside[:, :1]),
            InvalidValue,
            "offsets of records must rise from 0 to the number of examples, 600",
        ),
        (
            lambda e: scaled_confidence(np.ones((3, 2), np.float32), np.zeros(2, int)),
            InvalidValue,
            "one label for each",
        ),
    ],
)
def test_errors_are_told_in_words(make: Any, error: type[Exception], message: str) -> None:
    evidence, _ = played(shadows=4, shift=1.0)
    with pytest.raises(error, match=message):
        make(evidence)
