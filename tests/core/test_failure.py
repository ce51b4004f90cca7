from __future__ import annotations

import pickle

from fedward.core.failure import TrainingFailed


def test_a_failure_goes_through_a_pipe_unchanged() -> None:
    failure = pickle.loads(pickle.dumps(TrainingFailed("no memory", user=3, round=1, replica=2)))
    assert isinstance(failure, TrainingFailed)
    assert str(failure) == "round 2, user 3, replica 2: no memory"


def test_what_is_not_known_is_not_named() -> None:
    assert str(TrainingFailed("no memory")) == "no memory"
    assert str(TrainingFailed("no memory", user=0).at(0)) == "round 1, user 0: no memory"
