"""Events that are imported alone are those of the whole package, whichever is first; one is our own."""

from __future__ import annotations

import subprocess
import sys

import pytest

EVENTS_FIRST = """
import sys
from fedward.privacy import accounting_events as events
assert "dp_accounting" not in sys.modules
import dp_accounting
"""
PACKAGE_FIRST = """
import dp_accounting
from fedward.privacy import accounting_events as events
"""
SAME = """
import pickle
import dp_accounting.dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

theirs = [name for name in events.__all__ if name != "RandomAllocationDpEvent"]
assert len(theirs) == len(events.__all__) - 1 and not hasattr(dp_accounting, "RandomAllocationDpEvent")
for name in theirs:
    assert getattr(events, name) is getattr(dp_accounting, name) is getattr(dp_accounting.dp_event, name)
own = events.RandomAllocationDpEvent(4, events.GaussianDpEvent(3.0))
assert pickle.loads(pickle.dumps(own)) == own and isinstance(own, dp_accounting.DpEvent)
event = events.PoissonSampledDpEvent(0.1, events.GaussianDpEvent(3.0))
assert pickle.loads(pickle.dumps(event)) == event == dp_accounting.PoissonSampledDpEvent(
    0.1, dp_accounting.GaussianDpEvent(3.0)
)
for accountant in (RdpAccountant, PLDAccountant):
    assert 0 < accountant().compose(event, 3).get_epsilon(1e-3) < 1
print("same")
"""


@pytest.mark.parametrize("first", [EVENTS_FIRST, PACKAGE_FIRST], ids=["events first", "package first"])
def test_both_have_the_same_classes(first: str) -> None:
    ended = subprocess.run([sys.executable, "-c", first + SAME], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("same\n", 0), ended.stderr
