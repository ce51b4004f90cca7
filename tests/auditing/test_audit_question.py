from __future__ import annotations

import pytest

from fedward.auditing.audit_question import AuditQuestion


@pytest.mark.parametrize("runs", [100, 101, 500, 4000])
@pytest.mark.parametrize("stages", [1, 2])
def test_some_trainings_are_left_to_judge_by(runs: int, stages: int) -> None:
    pilot = AuditQuestion(runs=runs).pilot(stages)
    assert pilot % 4 == 0
    assert pilot >= 16
    assert runs - stages * pilot >= runs * 0.3 or runs < 1000
    assert runs - stages * pilot > 0
