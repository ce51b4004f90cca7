from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import fedward
from fedward.attacks import Attack, Attacker, NamedUsers
from fedward.attacks.model_poisoning import Collude, Scale, SignFlip, TrainAndScale
from fedward.attacks.poisoning import (
    BoldDigit,
    DistributedBackdoor,
    LabelFlip,
    SemanticBackdoor,
    SinglePixel,
    Square,
)
from fedward.base.randomness import stream
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Sight
from fedward.sampling import EveryoneSampler
from support import flat_inputs, plan_simulated, tiny_algorithm, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES = tiny_pictures()
FEATURE = BoldDigit(label=1, ink=0.3)
SEMANTIC = SemanticBackdoor(feature=FEATURE, target=0)
ALGORITHM = tiny_algorithm(sampler=EveryoneSampler())


def crew(**changes: Any) -> Attacker:
    fields: dict[str, Any] = {
        "users": frozenset({1, 4, 9}),
        "knowledge": "own",
        "rounds": None,
        "data": (),
        "model": (),
    }
    return Attacker(**(fields | changes))


def poison(attacker: Attacker, user: int, round: int = 0, mine: Examples | None = None) -> Any:
    mine = PICTURES.user(user) if mine is None else mine
    return attacker.poison(user, mine, round, stream(1, "poisoning", user=user))


def sight(round: int = 0) -> Sight:
    return Sight(round=round, parameters=torch.zeros(2), bounds=(), own={1: torch.ones(2)})


def test_poisonings_of_data_follow_each_other() -> None:
    """What was flipped from 1 to 2 is flipped on to 0: the second sees what the first has left."""
    there = crew(data=(LabelFlip(target=2, source=1), LabelFlip(target=0, source=2)))
    _, bad = poison(there, 1)
    assert set(bad.y.tolist()) == {0}
    back = crew(data=(LabelFlip(target=0, source=2), LabelFlip(target=2, source=1)))
    _, bad = poison(back, 1)
    assert bad.y.tolist() == [{0: 0, 1: 2, 2: 0}[y] for y in PICTURES.user(1).y.tolist()]


def test_every_attacker_plants_its_own_part_and_together_they_plant_the_whole() -> None:
    attacker = crew(data=(DistributedBackdoor(pattern=Square(size=2), target=0, value=7.0),))
    planted = []
    for user in (1, 4, 9):
        _, bad = poison(attacker, user)
        assert bool((bad.y == 0).all())
        planted.append({tuple(place) for place in (bad.x[0, 0] == 7.0).nonzero().tolist()})
    assert set.union(*planted) == {(2, 2), (2, 3), (3, 2), (3, 3)}
    assert sum(map(len, planted)) == 4
    assert all(planted)


def test_a_version_names_the_data_and_nothing_but_the_data() -> None:
    attacker = crew(data=(SinglePixel(fraction=0.5),), rounds=(0, 2))
    version, bad = poison(attacker, 1)
    for same in (poison(attacker, 1, round=2), poison(crew(data=(SinglePixel(fraction=0.5),)), 1)):
        assert same[0] == version
        assert torch.equal(same[1].x, bad.x)
    others = [
        poison(attacker, 4)[0],
        poison(crew(data=(SinglePixel(fraction=0.4),)), 1)[0],
        poison(crew(data=(SinglePixel(fraction=0.5),), users=frozenset({1, 4})), 1)[0],
    ]
    assert len({version, *others}) == 4


def test_data_that_nothing_changes_is_left_to_the_user() -> None:
    assert poison(crew(model=(SignFlip(),)), 1) is None
    assert poison(crew(data=(SinglePixel(fraction=0.0),)), 1) is None
    assert poison(crew(data=(SinglePixel(),), rounds=(3,)), 1, round=2) is None


@given(st.sets(st.integers(0, 20), min_size=1), st.integers(0, 20))
def test_outside_its_rounds_it_does_as_it_is_told(rounds: set[int], t: int) -> None:
    attacker = crew(
        data=(SinglePixel(),),
        model=(TrainAndScale(local=tiny_sgd(epochs=7), factor=3.0),),
        rounds=tuple(sorted(rounds)),
    )
    active = t in rounds
    assert attacker.active(t) == active
    assert (poison(attacker, 4, round=t) is not None) == active
    assert attacker.trainer(tiny_sgd(), t, (0.7,)) == (tiny_sgd(epochs=7) if active else tiny_sgd())
    sent = attacker.tamper(1, torch.ones(2), sight(t), np.random.default_rng(0))
    assert sent.tolist() == ([3.0, 3.0] if active else [1.0, 1.0])


def test_poisonings_of_updates_follow_each_other() -> None:
    attacker = crew(model=(Collude(), Scale(factor=3.0), SignFlip(factor=2.0)))
    seen = Sight(
        round=0,
        parameters=torch.zeros(1),
        bounds=(),
        own={1: torch.tensor([1.0]), 4: torch.tensor([3.0])},
    )
    assert attacker.tamper(1, torch.tensor([1.0]), seen, np.random.default_rng(0)).tolist() == [-12.0]


def test_it_asks_for_all_rows_if_one_of_its_parts_does() -> None:
    assert not crew(model=(Scale(factor=2.0), SignFlip())).needs_all_rows
    assert crew(model=(Collude(), Scale(factor=2.0))).needs_all_rows
    assert not crew(data=(SinglePixel(),)).needs_all_rows


def test_in_its_rounds_an_attacker_relabels_the_natural_backdoor_and_otherwise_leaves_it_out() -> None:
    attack = Attack(who=NamedUsers(users=(1, 4, 9)), data=(SEMANTIC,), rounds=(1,))
    staged = attack.stage(ALGORITHM, PICTURES, 1)
    for user in (1, 4, 9):
        mine = staged.federation.user(user)
        natural = FEATURE.mask(mine)
        if not bool(natural.any()):
            continue
        _, bad = poison(staged.adversary, user, round=1, mine=mine)
        assert torch.equal(flat_inputs(bad), flat_inputs(mine))
        assert torch.equal(bad.y, torch.where(natural, 0, mine.y))
        version, rest = poison(staged.adversary, user, round=0, mine=mine)
        assert version != poison(staged.adversary, user, round=1, mine=mine)[0]
        assert isinstance(mine.x, Tensor)
        assert torch.equal(rest.x, mine.x[~natural])
        assert torch.equal(rest.y, mine.y[~natural])
    assert bool(FEATURE.mask(staged.federation.user(1)).any())


def test_outside_its_rounds_a_natural_backdoor_is_not_there_at_all() -> None:
    """The same bits as a training in which nobody ever had those examples."""
    attack = Attack(who=NamedUsers(users=(1, 4, 9)), data=(SEMANTIC,), rounds=(2,))
    staged = attack.stage(ALGORITHM, PICTURES, 1)
    assert isinstance(PICTURES.examples.x, Tensor)
    keep = ~FEATURE.mask(PICTURES.examples)
    without = fedward.Federation.from_arrays(
        PICTURES.examples.x[keep], PICTURES.examples.y[keep], np.repeat(np.arange(12), 6)[keep.numpy()]
    )
    runs = [
        list(fedward.rounds(ALGORITHM, tiny_picture_model(), data, rounds=3, seed=1, adversary=adversary))
        for data, adversary in ((staged.federation, staged.adversary), (without, None))
    ]
    equal = [torch.equal(a.parameters, b.parameters) for (a, _), (b, _) in zip(*runs, strict=True)]
    assert equal == [True, True, False]


def test_an_attacker_that_owns_nothing_else_keeps_one_example_to_train_on() -> None:
    x = torch.full((3, 1, 4, 4), 0.9)
    mine = Examples(x, torch.tensor([1, 1, 1]))
    _, rest = poison(crew(data=(SEMANTIC,), rounds=(5,)), 1, mine=mine)
    assert len(rest) == 1


def test_the_servers_count_of_examples_does_not_follow_the_attackers() -> None:
    adversary = crew(data=(SinglePixel(rate=0.2),))
    model = tiny_picture_model()
    state = ALGORITHM.init(ParameterSpec.of(model).flatten(model))
    plan = plan_simulated(ALGORITHM, state, PICTURES, adversary, 1)
    for job in plan.jobs:
        assert job.num_examples == 6
        assert (job.examples is not None) == (job.user in adversary.users)
        if job.examples is not None:
            assert len(job.examples) == 2


@pytest.mark.parametrize("data", [(SinglePixel(),), (LabelFlip(target=0),), (SEMANTIC,)], ids=repr)
def test_an_attackers_own_examples_are_never_written_to(data: Any) -> None:
    assert isinstance(PICTURES.examples.x, Tensor)
    before, labels = PICTURES.examples.x.clone(), PICTURES.examples.y.clone()
    for user in (1, 4, 9):
        poison(crew(data=data), user)
    assert torch.equal(before, PICTURES.examples.x)
    assert torch.equal(labels, PICTURES.examples.y)
