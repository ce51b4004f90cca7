"""The way in which a broken part must be caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fedward.testing import ConformanceError


def caught(check: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The one error of a part that breaks a promise: a promise, a value and a remedy."""
    with pytest.raises(ConformanceError) as error:
        check(*arguments, **options)
    message = str(error.value)
    assert message.count(" breaks a promise of a") >= 1, message
    assert message.endswith("."), message
    return message
