from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fedward.attacks.model_poisoning import Collude, Scale
from fedward.attacks.poisoning import BoldDigit, PatternBackdoor, Pixels, SemanticBackdoor, SinglePixel
from fedward.attacks.who import NamedUsers
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content, parse
from studies.attacked import CONTENT, KRUM, TOML, content, setup_for


def test_a_table_in_a_file_becomes_the_attack_that_it_describes() -> None:
    section = parse(TOML).attack
    assert section is not None
    attack = section.build()
    assert attack.who == NamedUsers(users=(3, 5))
    feature = BoldDigit(label=7, ink=0.33)
    assert attack.data == (SemanticBackdoor(feature=feature, target=1, rate=0.5), SinglePixel())
    assert attack.model == (Collude(), Scale(factor=3))
    assert (attack.knowledge, attack.rounds) == ("cohort", (0, 1))


def test_pixels_and_values_can_be_written_as_lists_of_lists() -> None:
    pattern = {"name": "pixels", "places": [[0, 0], [-1, -1]]}
    made = from_content(
        content(attack__data=[{"name": "pattern", "pattern": pattern, "target": 2, "value": [[0.2, 0.9]]}])
    )
    assert made.attack is not None
    (backdoor,) = made.attack.build().data
    assert isinstance(backdoor, PatternBackdoor)
    assert backdoor.pattern == Pixels(places=((0, 0), (-1, -1)))
    assert backdoor.value == ((0.2, 0.9),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attack__data": [{"name": "single_pixle"}]},
            r"attack\.data\.0: name must be one of .*, got 'single_pixle'; did you mean 'single_pixel'\?",
        ),
        (
            {"attack__model": [{"name": "scale", "factor": 2.0}, {"name": "sign_flop"}]},
            r"attack\.model\.1: name must be one of .* did you mean 'sign_flip'\?",
        ),
        ({"attack__who": {"name": "randon", "count": 2}}, r"attack\.who: name .* did you mean 'random'\?"),
        ({"attack__who": {"count": 2}}, r"attack\.who: the key 'name' is missing"),
        ({"attack__who": {"name": "random"}}, r"attack\.who\.count is missing"),
        (
            {"attack__who": {"name": "random", "cuont": 2}},
            r"attack\.who: unknown key 'cuont'; did you mean 'count'\?",
        ),
        ({"attack__whom": {}}, r"attack: unknown key 'whom'; did you mean 'who'\?"),
        ({"attack": {"data": [{"name": "single_pixel"}]}}, r"attack\.who is missing"),
        ({"attack__data": {"name": "single_pixel"}}, r"attack\.data must be a list in brackets"),
        ({"attack__data": []}, "attack: an attack needs a poisoning of data or of updates, got neither"),
        (
            {"attack__data": [{"name": "single_pixel", "fraction": 1.5}]},
            r"attack\.data\.0: poison fraction must be from 0 to 1, got 1.5",
        ),
        (
            {"attack__data": [{"name": "single_pixel", "fraction": -0.1}]},
            r"attack\.data\.0: poison fraction must be from 0 to 1, got -0.1",
        ),
        (
            {"attack__data": [{"name": "label_flip", "target": 1}, {"name": "single_pixel", "rate": 0.0}]},
            r"attack\.data\.1: poisoning rate must be above 0 and at most 1, got 0.0",
        ),
        (
            {"attack__who": {"name": "per_cohort", "count": 2, "each": 3}},
            r"attack\.who: attackers in every cohort must be at most the number of attackers, 2, got 3",
        ),
        (
            {"attack__model": [{"name": "inner_product", "factor": 1.0}]},
            "attack: InnerProduct.* needs to know the cohort and all honest rows, but knowledge = 'own'",
        ),
        ({"attack__knowledge": "cohrt"}, r"attack\.knowledge must be one of 'own', 'cohort', got 'cohrt'"),
        ({"attack__test_share": 1.0}, "attack: share of triggered test examples must be above 0 and below 1"),
        ({"attack__rounds": [4]}, r"attack\.rounds must lie below the number of rounds, 4, got 4"),
        ({"attack__rounds": [-1]}, "attack: round of the attack must be at least 0, got -1"),
        (
            {"attack__rounds": []},
            r"attack: rounds of the attack must be one or more different ones, got \[\]",
        ),
        ({"attack__cost_bound": 0.0}, r"attack\.cost_bound: bound of the attack cost must be positive"),
        ({"attack__target_model": 3}, r"attack\.target_model: must be a path in quotes, got 3"),
    ],
)
def test_what_is_wrong_in_the_table_is_said_with_its_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        from_content(content(**changes))


BAD_FOR_THE_DATA: list[tuple[dict[str, Any], str]] = [
    (
        {
            "attack__data": [
                {"name": "pattern", "target": 0, "pattern": {"name": "square", "size": 3, "row": 6}}
            ]
        },
        "attack: trigger must lie inside the image of 8 x 8 pixels, got .*8, .*5",
    ),
    (
        {"attack__data": [{"name": "single_pixel", "target": 10}]},
        "attack: target label must be below the number of classes, 10, got 10",
    ),
    (
        {"attack__who": {"name": "random", "count": 13}},
        "attack: number of attackers must be at most the number of users, 12, got 13",
    ),
    (
        {"attack__who": {"name": "per_cohort", "count": 8, "each": 7}},
        "attack: attackers in every cohort must be at most the size of a cohort, 6, got 7",
    ),
    (
        {
            "attack__who": {"name": "per_cohort", "count": 4, "each": 1},
            "algorithm__sampler": {"name": "everyone"},
        },
        "attack: attackers in every cohort need fixed-size or Poisson sampling, got everyone in every round",
    ),
    (
        {"attack__who": {"name": "named", "users": [3, 40]}},
        "attack: attacker 40 is not among the 12 users",
    ),
    (
        {"attack__test_share": 1e-4},
        "attack: no test example can show whether single_pixel succeeds: 0 are set aside for it, because "
        "share of triggered test examples is 0.0001 and there are 359 to be shared out among 1 attack$",
    ),
    ({"attack__target_model": "none.pt"}, r"attack: target model: there is no file none\.pt"),
    (
        {
            "attack__model": [
                {"name": "constrain_and_scale", "factor": 5.0, "local": CONTENT["algorithm"]["local"]}
            ]
        },
        "attack: constrain-and-scale needs a norm",
    ),
    (
        {"attack__model": [{"name": "skip_local_privacy"}]},
        "attack: only users that protect themselves can skip their clipping and noise, got SGD",
    ),
    # Where nobody could train, the attack is not to blame.
    (
        {
            "algorithm": {
                "preset": "user_dp_fedavg",
                "noise_multiplier": 1.0,
                "policy": {"name": "raw_median"},
                "sampler": CONTENT["algorithm"]["sampler"],
                "local": {"name": "projected_sgd", "sgd": CONTENT["algorithm"]["local"]},
            },
            "attack__model": [{"name": "skip_local_privacy"}],
        },
        "^projected SGD needs one clip bound",
    ),
    (
        {"algorithm": KRUM | {"malicious": 2}},
        r"Krum\(malicious=2\) needs cohorts of at least 7 users",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_FOR_THE_DATA)
def test_an_attack_that_does_not_fit_is_refused_before_training(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        setup_for(**changes)


@pytest.mark.parametrize(("key", "value"), [("cost_bound", 2.0), ("target_model", "wanted.pt")])
def test_what_is_measured_on_test_examples_is_refused_without_any(key: str, value: object) -> None:
    setup = setup_for()
    untested = replace(setup.federation, test=None)
    plain = from_content(content()).attack
    asked = from_content(content(**{f"attack__{key}": value})).attack
    assert plain is not None
    assert asked is not None
    assert plain.stage(setup.algorithm, untested, 1).goal is None
    assert asked.stage(setup.algorithm, setup.federation, 1).goal is not None
    with pytest.raises(InvalidValue, match=f"{key} needs test examples: attacks are measured on them"):
        asked.stage(setup.algorithm, untested, 1)
