"""A sweep: every training a run of its own, those on the same data side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Point, Sweep
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Clock, Progress
from fedward.studies.sweep.shared_jobs import SharedJobs
from fedward.studies.sweep.sweep_place import begin_sweep, check_place
from fedward.studies.sweep.sweep_results import Row, read_rows
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.training.training_study import TrainingStudy


@dataclass(frozen=True, kw_only=True)
class SweepStudy:
    """All trainings of a sweep, made ready."""

    sweep: Sweep
    setups: Sequence[Setup]

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[RunDirectory]:
        check_place(path, self.sweep)
        with open_run(path) as directory:
            begin_sweep(path, self.sweep)
            yield directory

    def steps(self, place: RunDirectory, compute: Compute) -> Iterator[Progress]:
        return run_sweep(self.sweep, self.setups, place.path, compute)

    def result(self, place: RunDirectory) -> list[Row]:
        return read_rows(self.sweep, place.path)


def plan_sweep(sweep: Sweep, data_dir: Path | None = None) -> SweepStudy:
    """Makes every training ready; whatever does not fit together is an error here."""
    return SweepStudy(sweep=sweep, setups=prepare_sweep(sweep, data_dir))


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
    compute: Compute = IN_PROCESS,
) -> Iterator[Progress]:
    """Runs or resumes every training in a directory of its own under ``path``; yields after every round."""
    compute.check()
    clock = Clock({"round": sum(point.experiment.rounds for point in sweep.points)})
    asked = ran = 0
    together: dict[tuple[int, str], list[tuple[Point, Setup]]] = {}
    for point, setup in zip(sweep.points, setups, strict=True):
        # Attackers that hold examples back train on another federation.
        model = repr(point.experiment.model)
        together.setdefault((id(setup.federation), model), []).append((point, setup))
    for members in together.values():
        first = members[0][1]
        also = tuple(examples for _, setup in members for examples in setup.measured_on)
        with open_backend(first.model, first.federation, compute, also=also) as backend:
            shared = SharedJobs(backend)
            for progress in _side_by_side(members, path, shared, clock, compute):
                # Jobs of all trainings before these, and of these.
                yield replace(progress, asked=asked + shared.asked, run=ran + shared.run)
            asked, ran = asked + shared.asked, ran + shared.run


def _side_by_side(
    members: Sequence[tuple[Point, Setup]], path: Path, shared: SharedJobs, clock: Clock, compute: Compute
) -> Iterator[Progress]:
    """Always the trainings with the fewest rounds go on: a kill may have left some of them ahead."""
    with ExitStack() as stack:
        going: dict[str, Iterator[Progress]] = {}
        points = {point.directory: point for point, _ in members}
        for point, setup in members:
            directory = stack.enter_context(open_run(path / point.directory))
            going[point.directory] = TrainingStudy(setup=setup).steps(directory, compute, backend=shared)
        done = dict.fromkeys(going, 0)
        while going:
            least = min(done[name] for name in going)
            behind = [name for name in going if done[name] == least]
            shared.next_round(len(behind))
            for name in behind:
                asked, before, metrics = shared.asked, done[name], None
                try:
                    step = next(going[name])
                    done[name], metrics = step.rounds, step.metrics
                except StopIteration:
                    del going[name]
                    done[name] = points[name].experiment.rounds
                except TrainingFailed as failure:
                    raise TrainingFailed(f"{points[name].combination}: {failure}") from failure
                if shared.asked > asked:
                    clock.tick("round")
                    before += 1
                # Of an earlier session, or never to come as a budget is spent.
                clock.skip("round", done[name] - before)
                yield clock.progress(name=points[name].combination, rounds=done[name], metrics=metrics)
