from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fedward.attacks.inference import Limit, Membership, Property, Roc, two_sided
from fedward.reports.terminal import inference_tables as report
from fedward.reports.terminal.live_progress import follow_inference
from fedward.studies.progress import Progress


def curve(shift: float, count: int = 600, seed: int = 0) -> Roc:
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(shift, 1.0, count), rng.normal(size=count)])
    return Roc.of(scores, np.arange(2 * count) < count)


def found(limit: Limit, shift: float = 0.5, count: int = 600) -> Membership:
    return Membership(
        unit="user",
        targets=2,
        shadows=8,
        attacks={"loss threshold": curve(0.0, count), "likelihood ratio": curve(shift, count)},
        limit=limit,
        member_loss=0.25,
        other_loss=0.5,
    )


def printed(capsys: pytest.CaptureFixture[str], show: Any) -> str:
    show(Console(width=200))
    return " ".join(capsys.readouterr().out.split())


def test_attacks_stand_above_what_privacy_allows(capsys: pytest.CaptureFixture[str]) -> None:
    limit = two_sided(2.0, 1e-3, "user level, by hand")
    text = printed(capsys, lambda console: report.result(console, found(limit)))
    ratio = curve(0.5)
    assert str(ratio.auc) in text
    point = ratio.at(0.01)
    assert point is not None
    assert f"{point.tpr.value:.2%} ({point.tpr.low:.2%} to {point.tpr.high:.2%})" in text
    assert f"{float(limit.most(0.01)):.2%}" in text
    assert f"{limit.auc:.3f}" in text
    assert "600 users that were trained on and 600 that were not, over 2 attacked trainings" in text
    assert "mean loss 0.2500 on users trained on, 0.5000 on others" in text
    assert "most that privacy allows: user level, by hand" in text
    assert "more than the guarantee allows" not in text


def test_what_cannot_be_resolved_is_said_instead_of_printed(capsys: pytest.CaptureFixture[str]) -> None:
    limit = Limit.none("no guarantee: no noise is added")
    text = printed(capsys, lambda console: report.result(console, found(limit)))
    assert "a false positive rate of 0.001 needs at least 1,000 users not trained on, got 600" in text
    assert "no guarantee: no noise is added" in text
    assert "most that privacy allows" not in text


def test_a_broken_guarantee_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    strict = two_sided(0.01, 1e-6, "too good to be true")
    text = printed(capsys, lambda console: report.result(console, found(strict, shift=1.5)))
    assert "likelihood ratio: more than the guarantee allows (AUC, TPR at 0.01 FPR, TPR at 0.1 FPR)" in text
    assert "loss threshold: more than" not in text
    seen = Property(rounds=1200, roc=curve(1.5), limit=strict)
    text = printed(capsys, lambda console: report.result(console, seen, None))
    assert "more than the guarantee allows (AUC" in text


def test_a_property_is_about_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    seen = Property(rounds=60, roc=curve(1.0, 30), limit=Limit.none("no guarantee: no noise is added"))
    text = printed(capsys, lambda console: report.result(console, seen, 0.9167))
    assert "30 rounds with the property and 30 without it" in text
    assert "accuracy of the model on its main task 91.67%" in text
    assert "a false positive rate of 0.01 needs at least 100 rounds without the property, got 30" in text
    silent = printed(capsys, lambda console: report.result(console, seen, None))
    assert "accuracy of the model" not in silent


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("limit", [two_sided(2.0, 1e-3, ""), Limit.none("nothing")])
def test_curves_are_drawn(tmp_path: Path, limit: Limit, logarithmic: bool) -> None:
    curves = {"loss threshold": curve(0.0), "likelihood ratio": curve(1.0)}
    found = report.picture(curves, limit, title="membership", logarithmic=logarithmic)
    found.save(tmp_path / "roc.png")
    assert (tmp_path / "roc.png").read_bytes().startswith(b"\x89PNG")


def test_progress_is_quiet_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [Progress(done=done, total=3) for done in (2, 3)]
    follow_inference(Console(), iter(steps))
    assert capsys.readouterr().out.strip() == ""
