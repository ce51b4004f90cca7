"""One training while it runs: rounds, accuracy, attack success, ε spent and left, time left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console

from fedward.report.terminal.live import Standing, follow
from fedward.report.terminal.spending_meter import SpendingMeter
from fedward.studies.time_left import TimeLeft, timed
from fedward.studies.training.runner import Progress
from fedward.studies.training.setup import Setup


def follow_run(console: Console, setup: Setup, rounds: Iterable[Progress]) -> None:
    """Follows a run on the terminal or in a notebook; quiet when nobody looks."""
    meter: SpendingMeter | None = None
    clock = TimeLeft()

    def standing(step: Progress) -> Standing:
        nonlocal meter
        # What the whole training spends can take a while to compute: only where somebody looks.
        meter = meter or SpendingMeter(setup)
        total = setup.experiment.rounds
        return Standing(
            done=step.rounds,
            total=total,
            title=f"round {step.rounds:,} of {total:,}",
            facts=(*measured(step.metrics), meter.words(step)),
            seconds_left=clock.estimate({"round": total - step.rounds}),
        )

    follow(console, timed(rounds, clock, lambda step: step.rounds), standing)


def measured(metrics: dict[str, Any] | None) -> tuple[str, ...]:
    """Accuracy and attack success as last measured.

    >>> measured({"round": 4, "accuracy": 0.9166, "attack_success": 0.5})
    ('accuracy 91.7 %', 'attack success 50.0 %')
    """
    if metrics is None:
        return ()
    found = [f"accuracy {100 * metrics['accuracy']:.1f} %"]
    if "attack_success" in metrics:
        found.append(f"attack success {100 * metrics['attack_success']:.1f} %")
    return tuple(found)
