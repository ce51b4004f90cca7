"""Carries out a sweep: every training a run of its own, those on the same data side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.backends.engines.choice import Choice
from fedward.backends.open import check_workers, open_backend
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Point, Sweep
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.rundir.store import open_run
from fedward.studies.sweep.shared_jobs import SharedJobs
from fedward.studies.time_left import TimeLeft
from fedward.studies.training.runner import Progress, run
from fedward.studies.training.setup import Setup, prepare


@dataclass(frozen=True, kw_only=True)
class SweepProgress:
    """Rounds that are done, of all; jobs of this session; seconds left, None while nobody can know.

    And of the training that went on last its name, its rounds and what was last measured of it.
    """

    done: int
    total: int
    asked: int
    run: int
    seconds_left: float | None
    name: str
    rounds: int
    metrics: dict[str, Any] | None


class SweepClock:
    """Counts rounds of all trainings. One of a training that was finished before takes no time."""

    def __init__(self, sweep: Sweep) -> None:
        self.left = {point.directory: point.experiment.rounds for point in sweep.points}
        self._total = sum(self.left.values())
        self._time = TimeLeft()
        self._last = time.monotonic()
        self.asked = self.run = 0

    def tick(
        self, point: Point, rounds: int, metrics: dict[str, Any] | None, measured: bool
    ) -> SweepProgress:
        """A training has had so many rounds; ``measured`` says whether the last of them took time."""
        now = time.monotonic()
        if measured:
            self._time.add("round", now - self._last)
        self._last = now
        self.left[point.directory] = point.experiment.rounds - rounds
        left = sum(self.left.values())
        return SweepProgress(
            done=self._total - left,
            total=self._total,
            asked=self.asked,
            run=self.run,
            seconds_left=self._time.estimate({"round": left}),
            name=point.combination,
            rounds=rounds,
            metrics=metrics,
        )


def prepare_sweep(sweep: Sweep, data_dir: Path | None = None) -> list[Setup]:
    """Makes every training ready, each data set loaded once; whatever does not fit together is said now."""
    loaded: dict[str, Federation] = {}
    setups: list[Setup] = []
    problems: dict[str, str] = {}
    for point in sweep.points:
        data = f"{point.seed} {point.experiment.data!r}"
        try:
            if data not in loaded:
                loaded[data] = point.experiment.load_data(data_dir)
            setups.append(prepare(point.experiment, federation=loaded[data]))
        except InvalidValue as error:
            # What is wrong with all of them is said of the first.
            problems.setdefault(str(error), point.combination)
    if problems:
        lines = [f"  {text} (with {where})" for text, where in list(problems.items())[:10]]
        raise InvalidValue("\n".join(["the sweep does not fit together:", *lines]))
    return setups


def run_sweep(
    sweep: Sweep,
    setups: Sequence[Setup],
    path: Path,
    *,
    workers: int | None = 0,
    device: str = "cpu",
    engine: Choice | None = None,
) -> Iterator[SweepProgress]:
    """Runs or resumes every training in a directory of its own under ``path``; yields after every round."""
    check_workers(workers, device)
    clock = SweepClock(sweep)
    together: dict[tuple[int, str], list[tuple[Point, Setup]]] = {}
    for point, setup in zip(sweep.points, setups, strict=True):
        # Attackers that hold examples back train on another federation.
        model = repr(point.experiment.model)
        together.setdefault((id(setup.federation), model), []).append((point, setup))
    for members in together.values():
        first = members[0][1]
        also = tuple(examples for _, setup in members for examples in setup.measured_on)
        with open_backend(
            first.model, first.federation, workers=workers, device=device, engine=engine, also=also
        ) as backend:
            shared = SharedJobs(backend)
            yield from _side_by_side(members, path, shared, clock, device, engine)


def _side_by_side(
    members: Sequence[tuple[Point, Setup]],
    path: Path,
    shared: SharedJobs,
    clock: SweepClock,
    device: str,
    engine: Choice | None,
) -> Iterator[SweepProgress]:
    """Always the trainings with the fewest rounds go on: a kill may have left some of them ahead."""
    with ExitStack() as stack:
        going: dict[str, Iterator[Progress]] = {}
        points = {point.directory: point for point, _ in members}
        for point, setup in members:
            directory = stack.enter_context(open_run(path / point.directory))
            going[point.directory] = run(setup, directory, device=device, engine=engine, backend=shared)
        done = dict.fromkeys(going, 0)
        while going:
            least = min(done[name] for name in going)
            behind = [name for name in going if done[name] == least]
            asked, ran = shared.asked, shared.run
            shared.next_round(len(behind))
            for name in behind:
                before = shared.asked
                metrics = None
                try:
                    step = next(going[name])
                    done[name], metrics = step.rounds, step.metrics
                except StopIteration:
                    del going[name]
                    done[name] = points[name].experiment.rounds
                except TrainingFailed as failure:
                    raise TrainingFailed(f"{points[name].combination}: {failure}") from failure
                clock.asked, clock.run = clock.asked + shared.asked - asked, clock.run + shared.run - ran
                asked, ran = shared.asked, shared.run
                yield clock.tick(points[name], done[name], metrics, measured=shared.asked > before)
