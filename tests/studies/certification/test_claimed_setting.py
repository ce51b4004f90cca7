from __future__ import annotations

import tomllib

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.certified import averages, certify_setting
from fedward.certificates.claims import Claims
from fedward.certificates.paper import largest_k
from fedward.certificates.prediction import certified_k
from fedward.certificates.replica_scores import Replicas
from fedward.config import experiment as config
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.training.setup import Setup, prepare

FILE = """
seed = 1
rounds = 3
[data]
name = "digits"
users = 20
[model]
name = "logistic_regression"
[algorithm]
preset = "{preset}"
{options}
[privacy]
users = 20
delta = 0.0029
"""
USER = """clip_bound = 0.7
noise_multiplier = 3.0
sampler = { name = "poisson", rate = 0.1 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 1 }"""
INSTANCE = """sampler = { name = "poisson", rate = 0.5 }
local = { name = "dp_sgd", learning_rate = 0.1, probability = 0.1, expected_batch = 5, steps = 4, \
noise_multiplier = 3.0, clip_bound = 1.0 }"""


def setup(preset: str = "user_dp_fedavg", options: str = USER) -> Setup:
    return prepare(config.from_content(tomllib.loads(FILE.format(preset=preset, options=options)), "test"))


def replicas(count: int = 200, examples: int = 12, classes: int = 3, seed: int = 0) -> Replicas:
    """Some examples nearly sure, some in doubt, one for the wrong class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(examples) % classes
    strength = np.linspace(0.5, 12.0, examples)
    logits = rng.normal(size=(count, examples, classes)) * 0.3
    logits[:, np.arange(examples), labels] += strength
    logits[:, 3, (labels[3] + 1) % classes] += 10.0
    scores = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    return Replicas(scores=scores.astype(np.float32), numbers=np.arange(count), seed=1, labels=labels)


@pytest.fixture(scope="module")
def user_level() -> Setup:
    return setup()


def test_the_curves_are_the_certificate_with_labels(user_level: Setup) -> None:
    found = certify_setting(setting_of(Claims(replicas=200), user_level), replicas())
    for attack in found.certificate.attacks:
        curve = found.curve(attack.threat, sure=True)
        assert curve is not None
        assert curve.accuracy == attack.accuracy
        assert list(curve.accuracy) == sorted(curve.accuracy, reverse=True)


def test_curves_without_confidence_take_the_means_as_they_are(user_level: Setup) -> None:
    own = replicas()
    setting = setting_of(Claims(replicas=200), user_level)
    found = certify_setting(setting, own)
    means = own.scores.mean(axis=0, dtype=np.float64)
    order = np.sort(means, axis=1)
    k = certified_k(order[:, -1], order[:, -2], setting.spending, "inject", most=setting.most("inject"))
    right = means.argmax(axis=1) == own.labels
    curve = found.curve("inject", sure=False)
    assert curve is not None
    assert curve.accuracy == tuple(float((k[right] >= j).sum() / 12) for j in range(len(curve.accuracy)))
    sure = found.curve("inject", sure=True)
    assert sure is not None
    assert len(sure.accuracy) < len(curve.accuracy)  # confidence has its price
    assert sure.accuracy[0] <= curve.accuracy[0]


def test_paper_mode_is_theorem_2_at_the_papers_epsilon(user_level: Setup) -> None:
    own = replicas()
    found = certify_setting(setting_of(Claims(replicas=200), user_level), own)
    assert found.papers_epsilon is not None
    assert found.papers_epsilon == pytest.approx(0.2808, abs=5e-5)  # σ = 3, q = 0.1, T = 3: table 2
    top, best, second = averages(own)
    expected = [largest_k(a, b, found.papers_epsilon, 0.0029).k for a, b in zip(best, second, strict=True)]
    reached = np.array([k for k, right in zip(expected, top == own.labels, strict=True) if right], dtype=int)
    curve = found.curve("paper", sure=False)
    assert curve is not None
    assert curve.accuracy == tuple(float((reached >= j).sum() / 12) for j in range(len(curve.accuracy)))
    tight = found.curve("inject", sure=False)
    assert tight is not None
    assert len(tight.accuracy) > len(curve.accuracy)


def test_the_largest_k_at_a_share_of_examples(user_level: Setup) -> None:
    found = certify_setting(setting_of(Claims(replicas=200), user_level), replicas())
    curve = found.curve("inject", sure=False)
    assert curve is not None
    for share in (0.1, 0.5, 0.9):
        k = curve.largest(share)
        assert k is not None
        assert curve.accuracy[k] >= share
        assert k + 1 == len(curve.accuracy) or curve.accuracy[k + 1] < share
    assert curve.largest(1.0) is None  # one example is wrong


def test_a_wrong_top_class_is_never_certified_accuracy(user_level: Setup) -> None:
    found = certify_setting(setting_of(Claims(replicas=200), user_level), replicas())
    assert all(curve.accuracy[0] <= 11 / 12 for curve in found.curves)


def test_instance_level_is_certified_against_poisoned_data_only() -> None:
    own = setup("insdp_fedavg", INSTANCE)
    setting = setting_of(Claims(replicas=200), own)
    assert setting.ledger.unit == "example"
    assert setting.behaviour == "data"
    assert sum(count for _, count in setting.spending) == 12  # 4 steps in each of 3 rounds
    with pytest.raises(InvalidValue, match="only poison their data"):
        setting_of(Claims(replicas=200, behaviour="anything"), own)


@pytest.mark.parametrize(
    ("preset", "options", "why"),
    [
        ("fedavg", 'sampler = { name = "everyone" }\n' + USER.splitlines()[-1], "guarantee|sensitivity"),
        ("krum", "malicious = 2\n" + "\n".join(USER.splitlines()[2:]).replace("0.1", "0.9"), "sensitivity"),
        (
            "user_dp_fedavg",
            USER.replace('"poisson", rate = 0.1', '"fixed_size", size = 5'),
            "added or removed",
        ),
    ],
)
def test_what_has_no_proof_is_refused_before_any_training(preset: str, options: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        setting_of(Claims(replicas=200), setup(preset, options))


def test_a_budget_that_may_end_trainings_early_is_refused() -> None:
    own = FILE.format(preset="user_dp_fedavg", options=USER) + "epsilon = 5.0\n"
    with pytest.raises(InvalidValue, match="budget"):
        setting_of(Claims(replicas=200), prepare(config.from_content(tomllib.loads(own), "test")))


def test_another_number_of_replicas_than_planned_is_refused(user_level: Setup) -> None:
    with pytest.raises(InvalidValue, match="fixed beforehand"):
        certify_setting(setting_of(Claims(replicas=199), user_level), replicas())


def test_labels_are_needed(user_level: Setup) -> None:
    own = replicas()
    bare = Replicas(scores=own.scores, numbers=own.numbers, seed=1)
    with pytest.raises(InvalidValue, match="labels"):
        certify_setting(setting_of(Claims(replicas=200), user_level), bare)


def test_added_examples_are_not_certified_where_their_number_weighs() -> None:
    """With 128 more examples one user's weight, and with it the noise of the mean, is another one."""
    own = setup("local_dp", INSTANCE)
    for threats in (("inject",), ("compromise", "inject")):
        with pytest.raises(InvalidValue, match="threat must be present or compromise where data sizes are"):
            setting_of(Claims(replicas=10, threats=threats), own)
    setting = setting_of(Claims(replicas=10, threats=("present", "compromise")), own)
    assert setting.ledger.adjacency == "zero-out"
