"""Equal jobs have one name; whatever else an update depends on makes another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from core.rounds import FEDERATION, MODEL
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.lockstep.sharing import Keys
from support import tiny_sgd

JOB = Job(
    parameters=ParameterSpec.of(MODEL).flatten(MODEL),
    user=3,
    num_examples=5,
    trainer=tiny_sgd(),
    seed=11,
    version="poisoned",
    examples=FEDERATION.user(3),
)


def test_jobs_of_the_same_content_have_one_name() -> None:
    keys = Keys()
    copied = replace(JOB, parameters=JOB.parameters.clone(), examples=FEDERATION.user(3), trainer=tiny_sgd())
    assert keys.of(JOB) == keys.of(copied)


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": torch.nextafter(JOB.parameters, torch.tensor(9.0))},
        {"user": 4},
        {"seed": 12},
        {"version": "poisoned otherwise"},
        {"examples": FEDERATION.user(4)},
        {"examples": None},
        {"trainer": tiny_sgd(learning_rate=0.2)},
        {"private": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_an_update_depends_on_makes_another_job(change: dict[str, Any]) -> None:
    keys = Keys()
    assert keys.of(JOB) != keys.of(replace(JOB, **change))


def test_a_private_job_is_not_even_equal_to_itself() -> None:
    private = replace(JOB, private=True)
    assert Keys().of(private) != Keys().of(private)
