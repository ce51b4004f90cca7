from __future__ import annotations

import pytest

from fedward.testing import Conformance, ConformanceError
from fedward.testing.conformance import (
    Promise,
    broken,
    check_promises,
    function_name,
    not_applicable,
    promises_of,
)


def _is_even(number: int) -> None:
    if number % 2:
        broken(f"{number} is odd", "Add one to it")


def _is_small(number: int) -> None:
    if number > 9:
        not_applicable("it is large, and says so")
    if number < 0:
        raise KeyError("negative")


PROMISES = (Promise(says="is even", check=_is_even), Promise(says="is small", check=_is_small))


def test_a_report_lists_what_was_kept_and_what_does_not_apply() -> None:
    report = check_promises("even number", 12, PROMISES)
    assert report.passed == ("is even",)
    assert [(each.promise, each.reason) for each in report.skipped] == [
        ("is small", "it is large, and says so")
    ]
    assert str(report) == (
        "12 keeps the promises of an even number\n"
        "  passed: is even\n"
        "  not applicable: is small (it is large, and says so)"
    )
    assert report == check_promises("even number", 12, PROMISES)
    assert isinstance(report, Conformance)


def test_an_error_names_promise_value_and_remedy() -> None:
    with pytest.raises(AssertionError) as error:
        check_promises("number", 3, PROMISES, name="three")
    assert isinstance(error.value, ConformanceError)
    assert str(error.value) == 'three breaks a promise of a number, "is even": 3 is odd. Add one to it.'


def test_an_error_of_the_part_is_a_broken_promise_and_stays_its_cause() -> None:
    with pytest.raises(ConformanceError, match="it raised KeyError: 'negative'") as error:
        check_promises("number", -2, PROMISES)
    assert isinstance(error.value.__cause__, KeyError)


def test_promises_of_a_part_are_put_to_what_holds_it() -> None:
    lifted = promises_of(len, PROMISES)
    assert check_promises("list", [1, 2], lifted).passed == ("is even", "is small")
    with pytest.raises(ConformanceError, match="3 is odd"):
        check_promises("list", [1, 2, 3], lifted)


def test_functions_have_a_name_in_reports() -> None:
    assert function_name(_is_even, "it") == "_is_even"
    assert function_name(lambda: None, "it") == "it"
