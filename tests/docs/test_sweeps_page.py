from __future__ import annotations

import re
import tomllib
from pathlib import Path

from fedward.config.sweep_section import read_sweep
from fedward.studies.sweep.sweep_study import plan_sweep

PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf8")
WHOLE, DEFENCES = map(
    tomllib.loads, re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
)


def test_the_sweep_on_the_page_is_valid() -> None:
    sweep = read_sweep(WHOLE)
    assert len(sweep.points) == 5 * 4 * 3
    assert sweep.seeds == (1, 2, 3, 4, 5)
    assert sweep.axes[0].numeric


def test_the_defences_on_the_page_fit_together() -> None:
    sweep = read_sweep({**WHOLE, **DEFENCES, "sweep": {**DEFENCES["sweep"], "seeds": 1}})
    assert len(plan_sweep(sweep).setups) == 8
    krum = next(point for point in sweep.points if point.combination == "algorithm=krum, attack=none")
    # What the page warns of: a bound that the file's own table has stays.
    assert krum.experiment.algorithm.clip_bound == 1.0  # type: ignore[attr-defined]
    assert [point.combination for point in sweep.points][:2] == [
        "algorithm=no defence, attack=none",
        "algorithm=no defence, attack=count=10",
    ]
