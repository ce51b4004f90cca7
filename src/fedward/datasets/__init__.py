"""Data sets, one a file: ``load(...)`` returns a federation. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from fedward.core.federation import Federation
from fedward.datasets import digits, mnist, synthetic

DATASETS: dict[str, Callable[..., Federation]] = {
    "digits": digits.load,
    "mnist": mnist.load,
    "synthetic": synthetic.load,
}
