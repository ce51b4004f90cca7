from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue

KIND = "example 1"
GOOD = seal(KIND, {"parameters": torch.arange(5.0), "round": 3})


def test_what_was_sealed_comes_back() -> None:
    found = unseal(KIND, GOOD, "file", "")
    assert found["round"] == 3
    assert torch.equal(found["parameters"], torch.arange(5.0))


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(place: int, change: int) -> None:
    bad = bytearray(GOOD)
    bad[place] ^= change
    with pytest.raises(InvalidValue, match=r"the file is damaged .*: throw it away"):
        unseal(KIND, bytes(bad), "the file", "throw it away")


@given(st.integers(0, len(GOOD) - 1))
def test_no_missing_end_goes_unnoticed(length: int) -> None:
    with pytest.raises(InvalidValue, match="damaged"):
        unseal(KIND, GOOD[:length], "file", "")


def test_another_format_is_refused() -> None:
    with pytest.raises(InvalidValue, match="not of the format 'example 2'"):
        unseal("example 2", GOOD, "file", "")
