"""The nine broken mechanisms, and a sound one; the docs have what ``fedward audit --self-test`` finds."""

from __future__ import annotations

import pytest

from fedward.config.experiment import from_content
from fedward.studies.audit.audited_claim import UNCHANGED, plan_claim
from fedward.studies.audit.self_test import (
    SOUND,
    SelfTestResult,
    Tried,
    mutants,
    try_mutant,
    try_sound,
    with_changes,
)

# Those take thousands of trainings, or audits of six rounds.
SLOW = ("noise of a wrong bound", "realised cohort size")
QUICK = tuple(each for each in mutants() if each.name not in SLOW)


@pytest.mark.parametrize("mutant", QUICK, ids=[each.name for each in QUICK])
def test_a_broken_mechanism_is_caught_with_few_trainings(mutant: object) -> None:
    found = try_mutant(mutant, (500, 1000, 2000))  # type: ignore[arg-type]
    assert found.caught, found


def test_there_are_nine_and_none_of_them_admits_what_it_does() -> None:
    assert len(mutants()) == 9
    for each in mutants():
        content = from_content(with_changes(SOUND, each.changes))
        broken, sound = (plan_claim(content, change=change) for change in (each.change, UNCHANGED))
        if each.name != "divisor that follows N":
            assert broken.guarantee.epsilon <= sound.guarantee.epsilon * 1.001, each.name


def test_a_sound_mechanism_passes() -> None:
    assert list(try_sound(3, runs=200)).count(True) <= 1


def test_the_self_test_fails_if_a_mutant_escapes_or_alarms_are_frequent() -> None:
    caught = Tried(name="", caught=True, claimed=1.0, lower_bound=2.0, runs=1, seconds=1.0, attack="")
    escaped = Tried(name="", caught=False, claimed=1.0, lower_bound=0.5, runs=1, seconds=1.0, attack="")
    assert SelfTestResult(mutants=(caught,), sound=200, false_alarms=15).passed
    assert not SelfTestResult(mutants=(caught,), sound=200, false_alarms=25).passed
    assert not SelfTestResult(mutants=(caught, escaped), sound=200, false_alarms=5).passed
