from __future__ import annotations

import pytest

from fedward.studies.verification.verification import Contradiction, require_same


def test_the_first_difference_of_long_values_is_shown() -> None:
    stated, found = (["the same words, again and again", count] * 30 for count in (2, 3))
    stated, found = [*found[:40], *stated], [*found[:40], *found]
    with pytest.raises(Contradiction) as raised:
        require_same("that it spends", stated, found)
    said = str(raised.value)
    assert len(said) < 240
    one, other = said.split(", and ...")
    assert one != other
    assert ", 2" in one
    assert ", 2" not in other
