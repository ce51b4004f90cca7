from __future__ import annotations

import pytest
import torch

from fedward.attacks.poisoning import LabelFlip
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from support import flat_inputs


def table(labels: list[int], classes: int = 3) -> Federation:
    return Federation.from_arrays(
        [[float(label)] for label in labels], labels, list(range(len(labels))), num_classes=classes
    )


def test_the_source_becomes_the_target() -> None:
    examples = table([0, 1, 2, 1]).examples
    flip = LabelFlip(target=0, source=1)
    assert flip.eligible(examples).tolist() == [False, True, False, True]
    bad = flip.poison(examples.select(torch.tensor([1, 3])))
    assert bad.y.tolist() == [0, 0]
    assert flat_inputs(bad).tolist() == [[1.0], [1.0]]


def test_without_a_source_every_other_label_becomes_the_target() -> None:
    assert LabelFlip(target=1).eligible(table([0, 1, 2, 1]).examples).tolist() == [True, False, True, False]


def test_nobody_is_held_out() -> None:
    assert not LabelFlip(target=1).held_out(table([0, 1, 2]).examples).any()


def test_text_keeps_its_words() -> None:
    words = Ragged.from_sequences([[5, 3], [7]])
    bad = LabelFlip(target=0).poison(Examples.from_arrays(words, [1, 2]))
    assert isinstance(bad.x, Ragged)
    assert bad.x.values.tolist() == [5, 3, 7]
    assert bad.y.tolist() == [0, 0]


def test_flipping_a_label_to_itself_is_refused() -> None:
    with pytest.raises(InvalidValue, match="source label must differ from the target label, got 1 for both"):
        LabelFlip(target=1, source=1)


def test_a_source_that_is_no_label_is_refused() -> None:
    with pytest.raises(InvalidValue, match="source label must be at least 0, got -1"):
        LabelFlip(target=1, source=-1)


def test_a_source_that_does_not_exist_is_refused_before_training() -> None:
    LabelFlip(target=0, source=2).check(table([0, 1, 2]), 1)
    with pytest.raises(InvalidValue, match="source label must be below the number of classes, 3, got 3"):
        LabelFlip(target=0, source=3).check(table([0, 1, 2]), 1)


def test_nothing_to_flip_is_refused_before_training() -> None:
    with pytest.raises(InvalidValue, match=r"must hold one to flip \(label 2\), got none"):
        LabelFlip(target=0, source=2).check(table([0, 1, 1]), 1)
    with pytest.raises(InvalidValue, match=r"must hold one to flip \(all but the target label\), got none"):
        LabelFlip(target=0).check(table([0, 0]), 1)
