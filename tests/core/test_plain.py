from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from core.hostile_tensors import READABLE, UNFIT, Small
from fedward.base.validate import InvalidType
from fedward.core.plain import as_plain, as_plain_or_none, plain_number

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about kinds of tensors that it is leaving
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)
CONTENTS = st.lists(NUMBERS, min_size=1, max_size=5).map(lambda numbers: torch.tensor((numbers * 23)[:23]))


@pytest.mark.parametrize("kind", READABLE)
@given(content=CONTENTS)
def test_whatever_a_tensor_says_its_memory_is_read_into_a_plain_one(kind: str, content: Tensor) -> None:
    like, before = torch.zeros(23), content.clone()
    sent = READABLE[kind](content)
    taken = as_plain_or_none(sent, like)
    assert type(taken) is Tensor
    assert torch.equal(taken, before)
    assert (taken.dtype, taken.requires_grad, taken.is_inference()) == (torch.float32, False, False)
    content.fill_(7.0)  # whoever sent it writes there later
    assert torch.equal(taken, before)


@pytest.mark.parametrize("kind", UNFIT)
@given(content=CONTENTS)
def test_what_cannot_be_made_plain_is_none(kind: str, content: Tensor) -> None:
    assert as_plain_or_none(UNFIT[kind](content), torch.zeros(23)) is None


@pytest.mark.parametrize("sent", [None, 1.0, [1.0] * 23, np.ones(23, dtype=np.float32), "update", Tensor])
def test_what_is_no_tensor_is_none(sent: Any) -> None:
    assert as_plain_or_none(sent, torch.zeros(23)) is None


def test_it_takes_the_type_of_the_model() -> None:
    for given_as in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        taken = as_plain_or_none(torch.ones(3, dtype=given_as), torch.zeros(3, dtype=torch.float64))
        assert taken is not None
        assert taken.dtype == torch.float64
        assert taken.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", READABLE)
def test_without_its_class_a_tensor_lies_in_the_same_memory(kind: str) -> None:
    sent = READABLE[kind](torch.arange(23.0))
    found = as_plain("weight", sent)
    assert type(found) is Tensor
    assert found.tolist() == list(range(23))


def test_a_class_that_cannot_be_taken_off_is_refused_in_words() -> None:
    for kind in ("computes by its own code", "a wrapper", "a fake", "a parameter without a shape"):
        with pytest.raises(InvalidType, match=r"weight must be a plain tensor, got [A-Z]\w+"):
            as_plain("weight", UNFIT[kind](torch.ones(23)))


def test_a_number_is_read_not_asked() -> None:
    found = plain_number(Small(1e9))
    assert type(found) is float
    assert found == 1e9
    assert type(plain_number(np.float64(0.5))) is float
    assert plain_number(7) == 7.0
    assert plain_number(math.inf) == math.inf
    for sent in (None, "7", [7.0], torch.tensor(7.0), 10**400, 1j):
        assert plain_number(sent) is None
