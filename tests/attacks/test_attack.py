from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import fedward
from attacks.staged_training import train_under
from fedward.attacks import Attack, Conduct, NamedUsers, PerCohort, RandomUsers, Staged
from fedward.attacks.model_poisoning import (
    ALittleIsEnough,
    Collude,
    ConstrainAndScale,
    GaussianUpdate,
    InnerProductManipulation,
    Scale,
    SignFlip,
    TrainAndScale,
)
from fedward.attacks.poisoning import (
    BoldDigit,
    DistributedBackdoor,
    LabelFlip,
    PatternBackdoor,
    SemanticBackdoor,
    SinglePixel,
    Square,
)
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.types import Knowledge, ServerState
from fedward.presets import fedavg, insdp_fedavg
from fedward.sampling import EveryoneSampler, PoissonSampler
from part_examples import TINY_DP_SGD
from support import tiny_algorithm, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES = tiny_pictures()
SOME = NamedUsers(users=(1, 4, 9))
FEATURE = BoldDigit(label=1, ink=0.3)
SEMANTIC = SemanticBackdoor(feature=FEATURE, target=0)


def trained(
    staged: Staged | None, algorithm: Algorithm, rounds: int = 3, federation: Federation = PICTURES
) -> ServerState:
    """The end of a training under attack, or of a clean one."""
    return train_under(staged, algorithm, tiny_picture_model(), federation, rounds=rounds)[-1][0]


def test_an_attack_is_a_value() -> None:
    one, same = (
        Attack(who=SOME, data=(SinglePixel(), SEMANTIC), model=(Collude(), Scale(factor=2.0)))
        for _ in range(2)
    )
    assert one == same
    assert hash(one) == hash(same)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InvalidValue, "an attack needs a poisoning of data or of updates, got neither"),
        (
            {"model": (InnerProductManipulation(factor=0.5),)},
            InvalidValue,
            "needs to know the cohort and all honest rows, but knowledge = 'own' says that attackers know "
            "their own data and rows only",
        ),
        ({"model": (ALittleIsEnough(),)}, InvalidValue, "needs to know the cohort and all honest rows"),
        (
            {"model": (Scale(factor=2.0), Collude())},
            InvalidValue,
            "must come first among the poisonings of updates, got it after Scale",
        ),
        (
            {"model": (Scale(factor=2.0),), "knowledge": "all"},
            InvalidValue,
            "knowledge must be one of own, cohort, got 'all'",
        ),
        (
            {"data": (SinglePixel(),), "test_share": 0.0},
            InvalidValue,
            "share of triggered test examples must be above 0 and below 1, got 0.0",
        ),
        ({"data": (SinglePixel(),), "test_share": 1.0}, InvalidValue, "above 0 and below 1, got 1.0"),
        ({"data": (SinglePixel(),), "test_share": math.nan}, InvalidValue, "above 0 and below 1, got nan"),
        ({"data": SinglePixel()}, InvalidType, r"data must be a tuple of data poisonings, got SinglePixel"),
        ({"data": [SinglePixel()]}, InvalidType, r"data must be a tuple of data poisonings, got \[Single"),
        (
            {"data": (Scale(factor=2.0),)},
            InvalidType,
            r"a tuple of data poisonings, got \(Scale",
        ),
        ({"model": (SinglePixel(),)}, InvalidType, "model must be a tuple of model poisonings, got"),
        ({"data": (SinglePixel(),), "who": 3}, InvalidType, "who must say which users attack, got 3"),
        ({"data": (SinglePixel(),), "rounds": ()}, InvalidValue, r"one or more different ones, got \[\]"),
        ({"data": (SinglePixel(),), "rounds": (2, 2)}, InvalidValue, r"different ones, got \[2, 2\]"),
        ({"data": (SinglePixel(),), "rounds": [2]}, InvalidType, r"must be a tuple of rounds, got \[2\]"),
        ({"data": (SinglePixel(),), "rounds": 2}, InvalidType, "must be a tuple of rounds, got 2"),
        ({"data": (SinglePixel(),), "rounds": (-1,)}, InvalidValue, "round of the attack must be at least 0"),
        ({"data": (SinglePixel(),), "rounds": (1.5,)}, InvalidType, "must be a whole number, got 1.5"),
    ],
)
def test_an_attack_that_cannot_be_is_refused_when_it_is_made(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Attack(**({"who": SOME} | arguments))


def test_an_attack_may_know_more_than_it_needs() -> None:
    attack = Attack(who=SOME, model=(Scale(factor=2.0),), knowledge="cohort")
    assert attack.stage(tiny_algorithm(), PICTURES, 1).adversary.knowledge == "cohort"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"data": (PatternBackdoor(pattern=Square(size=2, row=3, column=0), target=0),)},
            "trigger must lie inside the image of 4 x 4 pixels, got .*4, .*0",
        ),
        (
            {"data": (SinglePixel(target=3),)},
            "target label must be below the number of classes, 3, got 3",
        ),
        ({"data": (LabelFlip(target=0, source=7),)}, "source label must be below .* 3, got 7"),
        (
            {"who": RandomUsers(count=13), "data": (SinglePixel(),)},
            "number of attackers must be at most the number of users, 12, got 13",
        ),
        (
            {"who": PerCohort(count=7, each=7), "data": (SinglePixel(),)},
            "attackers in every cohort must be at most the size of a cohort, 6, got 7",
        ),
        ({"who": NamedUsers(users=(40,)), "data": (SinglePixel(),)}, "attacker 40 is not among the 12 users"),
        (
            {"data": (DistributedBackdoor(pattern=Square(size=1), target=0),)},
            "number of attackers must be at most the number of pixels .* 1, got 3",
        ),
        (
            {"data": (SemanticBackdoor(feature=BoldDigit(label=1, ink=0.99), target=0),)},
            "must hold some with the feature .* got none",
        ),
        ({"data": (SinglePixel(),), "test_share": 0.001}, "no test example can show whether single_pixel"),
        ({"data": (SinglePixel(),), "test_share": 0.999}, "no test example is left for the main task"),
    ],
)
def test_an_attack_that_does_not_fit_the_data_is_refused_when_it_is_staged(
    arguments: dict[str, Any], message: str
) -> None:
    attack = Attack(**({"who": SOME} | arguments))
    with pytest.raises(InvalidValue, match=message):
        attack.stage(tiny_algorithm(), PICTURES, 1)


def test_a_number_in_every_cohort_needs_cohorts_that_are_drawn() -> None:
    attack = Attack(who=PerCohort(count=4, each=2), model=(SignFlip(),))
    with pytest.raises(InvalidValue, match="need fixed-size or Poisson sampling, got everyone"):
        attack.stage(tiny_algorithm(sampler=EveryoneSampler()), PICTURES, 1)


def test_only_what_the_attack_changes_is_staged() -> None:
    attack = Attack(who=RandomUsers(count=3), data=(SinglePixel(),))
    algorithm = tiny_algorithm()
    staged = attack.stage(algorithm, PICTURES, 1)
    assert staged.federation is PICTURES
    assert staged.algorithm == algorithm
    assert staged.notes == ()
    assert staged.adversary.users == attack.stage(algorithm, PICTURES, 1).adversary.users
    assert len({attack.stage(algorithm, PICTURES, seed).adversary.users for seed in range(8)}) > 1


def test_without_test_examples_there_is_no_goal() -> None:
    attack = Attack(who=SOME, data=(SEMANTIC, SinglePixel(fraction=0.5)))
    assert attack.stage(tiny_algorithm(), replace(PICTURES, test=None), 1).goal is None


def test_a_goal_names_every_poisoning_as_files_do_and_numbers_equal_ones() -> None:
    attack = Attack(
        who=SOME,
        data=(
            LabelFlip(target=0, fraction=0.5),
            SinglePixel(fraction=0.5),
            LabelFlip(target=2, fraction=0.5),
        ),
    )
    goal = attack.stage(tiny_algorithm(), PICTURES, 1).goal
    assert goal is not None
    assert [name for name, _ in goal.triggered] == ["label_flip 1", "single_pixel", "label_flip 2"]


@pytest.mark.parametrize("first", [SinglePixel(), LabelFlip(target=1)], ids=repr)
def test_a_poisoning_that_another_one_leaves_nothing_is_refused(first: Any) -> None:
    attack = Attack(who=SOME, data=(first, LabelFlip(source=2, target=0)))
    with pytest.raises(InvalidValue, match="would change nothing: another poisoning takes all examples"):
        attack.stage(tiny_algorithm(), PICTURES, 1)


def test_two_own_ways_to_train_and_an_update_thrown_away_are_refused() -> None:
    own = TrainAndScale(local=tiny_sgd(), factor=2.0)
    with pytest.raises(InvalidValue, match="one way of their own"):
        Attack(who=SOME, model=(own, own))
    with pytest.raises(InvalidValue, match="throws away what came before it"):
        Attack(who=SOME, model=(Scale(factor=2.0), GaussianUpdate(std=1.0)))
    (note,) = (
        Attack(who=SOME, data=(SinglePixel(),), model=(GaussianUpdate(std=1.0),))
        .stage(tiny_algorithm(), PICTURES, 1)
        .notes
    )
    assert "the poisoned data has no effect" in note


def test_attackers_that_are_shown_updates_leave_no_guarantee() -> None:
    # What they send may depend on an honest user's row, so one user moves the mean by more than its own.
    attack = Attack(who=SOME, model=(InnerProductManipulation(factor=0.5),), knowledge="cohort")
    staged = attack.stage(tiny_algorithm(), PICTURES, 1).algorithm
    assert not staged.guarantee(12, 3, 1e-3, "rdp").private
    assert "attackers are shown all honest updates" in staged.unproven
    nobody = replace(attack, who=RandomUsers(count=0))
    assert nobody.stage(tiny_algorithm(), PICTURES, 1).algorithm == tiny_algorithm()
    without = fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd())
    assert attack.stage(without, PICTURES, 1).algorithm == without


def owned(federation: Federation, user: int) -> list[tuple[bytes, int]]:
    mine = federation.user(user)
    assert isinstance(mine.x, Tensor)
    return [(x.numpy().tobytes(), int(y)) for x, y in zip(mine.x, mine.y, strict=True)]


def held_out(federation: Federation, user: int) -> list[tuple[bytes, int]]:
    mask = FEATURE.mask(federation.user(user)).tolist()
    return [example for example, held in zip(owned(federation, user), mask, strict=True) if held]


def test_examples_of_a_natural_backdoor_go_to_attackers_and_nothing_else_moves() -> None:
    federation = Attack(who=SOME, data=(SEMANTIC,)).stage(tiny_algorithm(), PICTURES, 1).federation
    assert federation.num_users == 12
    assert federation.names.tolist() == PICTURES.names.tolist()
    assert federation.num_classes == PICTURES.num_classes
    assert federation.test is PICTURES.test
    everything = [example for user in range(12) for example in held_out(PICTURES, user)]
    assert everything
    attackers = [example for user in (1, 4, 9) for example in held_out(federation, user)]
    assert sorted(attackers) == sorted(everything)
    for user in range(12):
        if user not in (1, 4, 9):
            assert held_out(federation, user) == []
        natural = set(everything)
        before, after = (
            [example for example in owned(f, user) if example not in natural] for f in (PICTURES, federation)
        )
        assert before == after


def test_who_gets_the_examples_of_a_natural_backdoor_follows_the_seed() -> None:
    attack = Attack(who=SOME, data=(SEMANTIC,))
    sizes = [attack.stage(tiny_algorithm(), PICTURES, s).federation.sizes.tolist() for s in (1, 1, 2, 3, 4)]
    assert sizes[0] == sizes[1]
    assert len({tuple(size) for size in sizes}) > 1


def test_names_of_users_survive_the_handing_out() -> None:
    names = np.array([f"user {i:02}" for i in range(12)])
    named = replace(PICTURES, names=names[::-1].copy())
    attack = Attack(who=NamedUsers(users=("user 10",)), data=(SEMANTIC,))
    staged = attack.stage(tiny_algorithm(), named, 1)
    assert staged.adversary.users == {1}
    assert staged.federation.names.tolist() == named.names.tolist()
    assert len(held_out(staged.federation, 1)) == sum(len(held_out(PICTURES, user)) for user in range(12))


def test_an_honest_user_left_without_examples_is_an_error_in_words() -> None:
    mask = FEATURE.mask(PICTURES.examples).numpy()
    owner = np.repeat(np.arange(12), 6)
    owner[mask] = 7  # it owns all examples with the feature, and nothing else
    owner[(owner == 7) & ~mask] = 8
    assert isinstance(PICTURES.examples.x, Tensor)
    lopsided = Federation.from_arrays(
        PICTURES.examples.x, PICTURES.examples.y, owner, test=PICTURES.test, names=list(range(12))
    )
    with pytest.raises(InvalidValue, match="user 7 would own no example: all that it owns are held"):
        Attack(who=SOME, data=(SEMANTIC,)).stage(tiny_algorithm(), lopsided, 1)


@pytest.mark.parametrize("who", [RandomUsers(count=0), NamedUsers(users=()), PerCohort(count=0, each=0)])
def test_an_attack_by_nobody_is_a_clean_training_bit_for_bit(who: Any) -> None:
    attack = Attack(
        who=who, data=(SinglePixel(), SEMANTIC), model=(Collude(), Scale(factor=9.0)), knowledge="cohort"
    )
    algorithm = tiny_algorithm()
    staged = attack.stage(algorithm, PICTURES, 1)
    assert staged.federation is PICTURES
    assert torch.equal(trained(staged, algorithm).parameters, trained(None, algorithm).parameters)


def test_outside_its_rounds_an_attack_is_an_honest_training_bit_for_bit() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    attack = Attack(who=SOME, data=(SinglePixel(),), model=(Scale(factor=9.0),), rounds=(2,))
    staged = attack.stage(algorithm, PICTURES, 1)
    runs = [
        list(fedward.rounds(algorithm, tiny_picture_model(), PICTURES, rounds=4, seed=1, adversary=adversary))
        for adversary in (staged.adversary, None)
    ]
    for t, ((attacked, _), (clean, _)) in enumerate(zip(*runs, strict=True)):
        assert torch.equal(attacked.parameters, clean.parameters) == (t < 2)
    # An honest round after the attack, from the same model, is the same honest round.
    state = runs[0][2][0]
    for adversary in (staged.adversary, None):
        after = next(
            fedward.rounds(
                algorithm, tiny_picture_model(), PICTURES, rounds=4, seed=1, state=state, adversary=adversary
            )
        )[0]
        assert torch.equal(after.parameters, runs[0][3][0].parameters)


def test_an_epsilon_says_that_a_natural_backdoor_rearranged_the_federation() -> None:
    """Examples of honest users are the attackers' then: ε is not about the federation they came from."""
    attack = Attack(who=SOME, data=(SEMANTIC,))
    algorithm = tiny_algorithm()
    named = replace(PICTURES, class_names=("no", "yes"))
    staged = attack.stage(algorithm, named, 1)
    assert staged.federation.class_names == named.class_names
    moved = int((staged.federation.sizes - PICTURES.sizes).clamp(min=0).sum())
    assert staged.algorithm.handed_out == moved > 0
    told = f"about the federation after {moved} examples of honest users were handed to the attackers"
    assert told in str(staged.algorithm.guarantee(12, 2, 1e-3, "rdp"))
    state = list(
        fedward.rounds(
            staged.algorithm, tiny_picture_model(), staged.federation, rounds=1, seed=1,
            adversary=staged.adversary,
        )
    )[-1][0]  # fmt: skip
    assert told in str(state.ledger.guarantee(1e-3, "rdp"))
    assert any("handed to the attackers" in note for note in staged.notes)
    clean = attack.stage(algorithm, PICTURES, 1).algorithm
    assert "handed" not in str(replace(clean, handed_out=0).guarantee(12, 2, 1e-3, "rdp"))


class Ordinary:
    """An attack of somebody's own, with the documented answers."""

    needs: Knowledge = "own"
    conduct = Conduct(needs_all_rows=False)

    def tamper(self, update: Tensor, sight: Any, rng: np.random.Generator) -> Tensor:
        return -update


FLAGS = ("discards_update", "trains_its_own_way", "skips_local_privacy")


def variant(name: str, **answers: Any) -> Any:
    """An attack that does otherwise than the ordinary one, and says so."""
    return type(name, (Ordinary,), {"conduct": replace(Ordinary.conduct, **answers)})()


@pytest.mark.parametrize("missing", ["needs", "conduct"])
def test_an_attack_that_leaves_out_an_answer_is_refused_in_words(missing: str) -> None:
    """Silence was taken for a no: an attack that skipped local privacy without saying so had no note."""
    said = {"needs": "own", "conduct": Ordinary.conduct, "tamper": Ordinary.tamper}
    whole = type("Mine", (), said)()
    assert Attack(who=SOME, model=(whole,)).model == (whole,)
    partial = type("Mine", (), {name: value for name, value in said.items() if name != missing})()
    with pytest.raises(InvalidType, match=rf"{missing} must be declared by Mine, got nothing"):
        Attack(who=SOME, model=(partial,))


@pytest.mark.parametrize("answer", [None, "no", 0])
@pytest.mark.parametrize("flag", ["needs_all_rows", *FLAGS])
def test_an_answer_is_yes_or_no(flag: str, answer: Any) -> None:
    with pytest.raises(InvalidType, match=rf"{flag} must be True or False, got {answer!r}"):
        replace(Ordinary.conduct, **{flag: answer})


def test_what_an_attack_does_is_declared_as_one_value() -> None:
    part = type("Mine", (Ordinary,), {"conduct": {"needs_all_rows": False}})()
    with pytest.raises(InvalidType, match=r"conduct of Mine must be a Conduct\(...\), got {"):
        Attack(who=SOME, model=(part,))


def test_an_attack_has_the_documented_answers_and_may_give_others() -> None:
    part = Ordinary()
    assert [getattr(part.conduct, flag) for flag in FLAGS] == [False, False, False]
    Attack(who=SOME, model=(Scale(factor=2.0), part))
    with pytest.raises(InvalidValue, match="throws away what came before it"):
        Attack(who=SOME, model=(Scale(factor=2.0), variant("Blind", discards_update=True)))
    with pytest.raises(InvalidValue, match="reads rows as they were trained"):
        Attack(who=SOME, model=(Scale(factor=2.0), variant("Nosy", needs_all_rows=True)))
    stubborn = TrainAndScale(local=tiny_sgd(), factor=3.0)
    with pytest.raises(InvalidValue, match="in one way of their own"):
        Attack(who=SOME, model=(stubborn, TrainAndScale(local=tiny_sgd(), factor=2.0)))


def test_an_attack_trains_its_own_way_exactly_if_it_says_how() -> None:
    """A method that nobody calls, or a promise without a method, would be another attack than was meant."""
    with pytest.raises(InvalidType, match="got True and it has no method of that name"):
        Attack(who=SOME, model=(variant("Lazy", trains_its_own_way=True),))

    class Secret(Ordinary):
        def trainer(self, trainer: Any, round: int, bounds: Any) -> Any:
            return tiny_sgd()

    with pytest.raises(InvalidType, match="got False and it has a method of that name"):
        Attack(who=SOME, model=(Secret(),))


def test_a_fault_inside_an_attack_is_not_taken_for_a_missing_answer() -> None:
    class Broken(Ordinary):
        @property
        def conduct(self) -> Conduct:  # type: ignore[override]
            return Conduct(needs_all_rows=bool(self.elsewhere))  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="elsewhere"):
        Attack(who=SOME, model=(Broken(),))


@pytest.mark.parametrize(
    ("part", "noted"),
    [
        (ConstrainAndScale(local=tiny_sgd(), factor=3.0, norm=0.4), True),
        (TrainAndScale(local=tiny_sgd(), factor=3.0), True),
        (TrainAndScale(local=TINY_DP_SGD, factor=3.0), False),
        (Scale(factor=3.0), False),
        (Ordinary(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_attackers_who_train_without_their_own_noise_are_noted(part: Any, noted: bool) -> None:
    algorithm = insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=TINY_DP_SGD)
    notes = Attack(who=SOME, model=(part,)).stage(algorithm, PICTURES, 1).notes
    assert any("skip their own clipping and noise" in note for note in notes) == noted
