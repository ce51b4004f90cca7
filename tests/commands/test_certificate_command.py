from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import pytest
import typer
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from command_line import output_of
from fedward.base.validate import InvalidValue
from fedward.certificates.attack_cost import cost_bounds, theorem_3
from fedward.certificates.paper import equation_6, theorem_2
from fedward.certificates.prediction import certified_k
from fedward.commands.certificate_command import attack_cost, attackers, k
from fedward.privacy import epsilon_of
from fedward.privacy.group import group_curve

app = typer.Typer(pretty_exceptions_enable=False)
app.command("k")(k)
app.command("attack-cost")(attack_cost)
app.command("attackers")(attackers)
run = partial(output_of, app)

TRAINING = ["--noise-multiplier", 3, "--sampling-rate", 0.1, "--rounds", 3, "--delta", 0.0029]
COST = ["--cost", 0.3, "--cost-bound", 0.5]
SPENT = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)]
EPSILON = epsilon_of(SPENT, 0.0029, "moments", "add/remove")


def answered(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.mark.parametrize(("top", "K", "k_paper", "k_compromise"), [(0.8, 2.41, 2, 1), (0.95, 4.97, 4, 2)])
def test_paper_mode_gives_the_published_k(top: float, K: float, k_paper: int, k_compromise: int) -> None:
    found = answered("k", "--top", top, "--runner-up", 1 - top, *TRAINING, "--mode", "paper")
    assert round(found["K"], 2) == K
    assert (found["k"], found["k_compromise"], found["unbounded"]) == (k_paper, k_compromise, False)
    assert round(found["epsilon"], 4) == 0.2808
    assert found["confidence"] == "none"
    replaced = answered(
        "k", "--top", top, "--runner-up", 1 - top, *TRAINING, "--mode", "paper", "--threat", "compromise"
    )
    assert replaced["k"] == k_compromise


@pytest.mark.parametrize(("threat", "wanted"), [("inject", 14), ("compromise", 7)])
def test_tight_mode_gives_the_ks_of_a_whole_curve(threat: str, wanted: int) -> None:
    options = ["k", "--top", 0.8, "--runner-up", 0.2, *TRAINING, "--mode", "tight", "--threat", threat]
    found = answered(*options)
    assert (found["k"], found["at_least"]) == (wanted, False)
    text = run(*options)
    assert f"k = {wanted}: certified against {wanted}" in text
    assert "expected confidence" in text


def test_paper_mode_says_what_its_epsilon_is_about() -> None:
    options = ["k", "--top", 0.8, *TRAINING, "--mode", "paper"]
    assert "from ε = 0.2808 at δ = 0.0029 (user level, add/remove, papers' moments accountant)" in run(
        *options
    )
    assert answered(*options)["adjacency"] == "add/remove"
    assert "(user level, add/remove, rdp accountant)" in run(*options, "--accountant", "rdp")


def test_where_the_search_ends_k_is_at_least_that(monkeypatch: pytest.MonkeyPatch) -> None:
    # Thousands of attackers would take long; eight are as good.
    monkeypatch.setattr("fedward.certificates.prediction.MOST", 8)
    monkeypatch.setattr(
        "fedward.certificates.prediction.certified_k", lambda *given: certified_k(*given, most=8)
    )
    options = ["k", "--top", 1, *TRAINING]
    assert answered(*options)["at_least"] is True
    assert "k is at least 8, where the search ends: certified against 8 injected users" in run(*options)


def test_hoeffdings_correction_is_labelled_as_the_papers() -> None:
    options = ["k", "--top", 0.8, "--runner-up", 0.2, *TRAINING, "--mode", "paper"]
    found = answered(*options, "--replicas", 1000, "--psi", 0.01)
    assert found["confidence"] == "paper, 2ψ"
    assert found["K"] == pytest.approx(theorem_2(*equation_6(0.8, 0.2, 1000, 0.01), EPSILON, 0.0029))
    assert "paper, 2ψ" in run(*options, "--replicas", 1000, "--psi", 0.01)


def test_without_a_runner_up_all_the_rest_counts_as_one() -> None:
    paper = answered("k", "--top", 0.8, *TRAINING, "--mode", "paper")
    assert paper["runner_up"] == pytest.approx(0.2)
    assert round(paper["K"], 2) == 2.41


def test_a_prediction_that_does_not_hold_says_so() -> None:
    options = ["k", "--top", 0.4, "--runner-up", 0.5, *TRAINING]
    assert answered(*options)["k"] == -1
    assert "not certified" in run(*options)


def test_attackers_in_every_round_are_certified_without_sampling() -> None:
    often = answered("k", "--top", 0.95, *TRAINING, "--attendance", "every-round")
    plain = answered(
        "k", "--top", 0.95, "--noise-multiplier", 3, "--sampling-rate", 1, "--rounds", 3, "--delta", 0.0029
    )
    # Φ^-1(0.95) = 1.645 in units of σ/sqrt(3) = 1.732: two attackers fit, three do not.
    assert often["k"] == plain["k"] == math.floor(1.6449 * 3 / math.sqrt(3)) == 2


def test_examples_are_named_as_such() -> None:
    assert "injected examples" in run("k", "--top", 0.8, *TRAINING, "--unit", "example")


def test_attack_cost_in_both_modes() -> None:
    paper = answered("attack-cost", *COST, "--attackers", 2, *TRAINING, "--mode", "paper")
    assert (paper["lower"], paper["upper"]) == pytest.approx(theorem_3(0.3, 0.5, EPSILON, 0.0029, 2))
    assert paper["proven"] is False
    assert "proves nothing" in paper["note"]
    tight = answered("attack-cost", *COST, "--attackers", 2, *TRAINING)
    assert (tight["lower"], tight["upper"]) == pytest.approx(
        cost_bounds(0.3, 0.5, group_curve(SPENT, 2), "inject")
    )
    assert tight["proven"] is True
    assert paper["lower"] < tight["lower"] < 0.3 < tight["upper"] < paper["upper"]
    assert run("attack-cost", *COST, "--attackers", 2, *TRAINING).count("fixed beforehand") == 1


def test_attack_cost_below_zero_is_the_mirror_image() -> None:
    mirrored = ["--cost", -0.3, "--cost-bound", 0.5, "--negative", "--attackers", 2, *TRAINING]
    for mode in ("paper", "tight"):
        above = answered("attack-cost", *COST, "--attackers", 2, *TRAINING, "--mode", mode)
        below = answered("attack-cost", *mirrored, "--mode", mode)
        assert (below["lower"], below["upper"]) == pytest.approx((-above["upper"], -above["lower"]))


def test_paper_mode_counts_a_compromised_user_twice() -> None:
    four = answered("attack-cost", *COST, "--attackers", 4, *TRAINING, "--mode", "paper")
    two = answered(
        "attack-cost", *COST, "--attackers", 2, *TRAINING, "--mode", "paper", "--threat", "compromise"
    )
    assert two["lower"] == four["lower"]


def test_attackers_in_both_modes() -> None:
    paper = answered("attackers", *COST, "--tau", 2, *TRAINING, "--mode", "paper")
    assert paper["attackers"] == math.ceil(paper["bound"])
    tight = answered("attackers", *COST, "--tau", 2, *TRAINING)
    assert tight["attackers"] >= paper["attackers"]
    assert f"at least {tight['attackers']} attackers" in run("attackers", *COST, "--tau", 2, *TRAINING)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["k", "--top", 1.2, *TRAINING], "top confidence must be from 0 to 1, got 1.2"),
        (["k", "--top", "nan", *TRAINING], "top confidence must be from 0 to 1, got nan"),
        (["k", "--top", 0.8, "--runner-up", 0.4, *TRAINING], "add up to at most 1"),
        (["k", "--top", 0.8, *TRAINING, "--mode", "papr"], "did you mean 'paper'"),
        (["k", "--top", 0.8, *TRAINING, "--threat", "present!"], "did you mean 'present'"),
        (["k", "--top", 0.8, *TRAINING, "--attendance", "chosen"], "q = 1"),
        (["k", "--top", 0.8, *TRAINING, "--psi", 0.01, "--mode", "paper"], "both --replicas and --error"),
        (["k", "--top", 0.8, *TRAINING, "--psi", 0.01], "belong to paper mode"),
        (["k", "--top", 0.8, *TRAINING, "--accountant", "rdp"], "belongs to paper mode"),
        (
            ["k", "--top", 0.8, *TRAINING, "--replicas", 0, "--psi", 0.1, "--mode", "paper"],
            "at least 1, got 0",
        ),
        (["k", "--top", 0.8, *TRAINING[:-2], "--mode", "paper"], "--delta is missing"),
        (["k", "--top", 0.8, *TRAINING[:4], "--rounds", 0], "rounds must be at least 1, got 0"),
        (["k", "--top", 0.8, *TRAINING, "--sampling-rate", 1.5], "sampling rate must be above 0"),
        (["k", "--top", 0.8, *TRAINING, "--noise-multiplier", -1], "noise multiplier must be positive"),
        (["attack-cost", *COST, "--attackers", -1, *TRAINING], "attackers must be at least 0, got -1"),
        (["attack-cost", "--cost", 2, "--cost-bound", 1, "--attackers", 1, *TRAINING], "cost must be from 0"),
        (["attackers", *COST, "--tau", 0.5, *TRAINING], "tau must be at least 1, got 0.5"),
    ],
)
def test_impossible_options_are_refused_in_words(arguments: list[object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        run(*arguments)
