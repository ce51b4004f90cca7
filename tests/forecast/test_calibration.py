from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from fedward.backends import InProcess
from fedward.backends.compute import Compute
from fedward.config.experiment import from_content
from fedward.core.types import Job, Row
from fedward.forecast import calibration
from fedward.forecast.calibration import calibrate
from fedward.local import SGD
from fedward.studies.training.training_study import prepare
from tiny_experiment import CONTENT, changed


class Recorded:
    """Measures like the real one, and keeps what it measured."""

    seconds: ClassVar[list[float]] = []

    def __init__(self, real: Callable[[InProcess, Job], tuple[float, Row]]) -> None:
        self._real = real

    def __call__(self, backend: InProcess, job: Job) -> tuple[float, Row]:
        found = self._real(backend, job)
        self.seconds.append(found[0])
        return found


def test_a_million_epochs_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = prepare(from_content(changed(CONTENT, algorithm__local__epochs=10**6)))
    shortened, times = calibration._shortened(setup.algorithm)
    assert isinstance(shortened.local, SGD)
    assert (shortened.local.epochs, times) == (20, 50_000)
    monkeypatch.setattr(calibration, "_time_job", Recorded(calibration._time_job))
    found = calibrate(setup, Compute(workers=0), seconds=0.01)
    assert found is not None
    assert found.job == pytest.approx(50_000 * np.mean(Recorded.seconds[1:] or Recorded.seconds))


@pytest.mark.parametrize("local", [{"epochs": 20}, {"epochs": None, "steps": 200}])
def test_usual_local_trainings_are_measured_as_they_are(local: dict[str, int | None]) -> None:
    table = {key: each for key, each in (CONTENT["algorithm"]["local"] | local).items() if each is not None}
    setup = prepare(from_content(changed(CONTENT, algorithm__local=table)))
    assert calibration._shortened(setup.algorithm) == (setup.algorithm, 1.0)
