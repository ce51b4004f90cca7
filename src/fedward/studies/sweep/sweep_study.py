"""A sweep: every training a run of its own in one directory, those on the same data side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.backends.ray.cluster_jobs import ClusterJobs
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Point, Sweep
from fedward.core.digest import data_digest
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.rundir.catalogue.facts import flat
from fedward.rundir.digest_log import VERSION as DIGESTS
from fedward.rundir.file_record import json_object
from fedward.rundir.part_record import PartRecord, begin_part
from fedward.rundir.place import SWEPT, kind_of
from fedward.rundir.run_files import RunFiles
from fedward.rundir.same_run import differences
from fedward.rundir.store import RunDirectory, open_run
from fedward.rundir.sweep_record import require_sweep_undamaged, sweep_has_digests
from fedward.studies.progress import Clock, Progress
from fedward.studies.sweep.cluster_trainings import ClusterTrainings, goes_there
from fedward.studies.sweep.shared_jobs import SharedJobs
from fedward.studies.sweep.sweep_results import Row, read_rows
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.training.training_study import TrainingStudy

# A seed more is no other sweep; and where files lie is not part of what is run, what is in them is.
_FREE = ("seed", "data.data_dir", "model.weights", "attack.target_model")


@dataclass(frozen=True, kw_only=True)
class SweepStudy:
    """All trainings of a sweep, made ready.

    Args:
      sweep: what varies.
      setups: one for each of its points.
      part: the points that are trained here, where others train the rest; None for all.
    """

    sweep: Sweep
    setups: Sequence[Setup]
    part: PartRecord | None = None

    @property
    def points(self) -> list[tuple[Point, Setup]]:
        """What is trained here."""
        found = list(zip(self.sweep.points, self.setups, strict=True))
        return found if self.part is None else found[self.part.start : self.part.stop]

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[RunDirectory]:
        check_place(path, self.sweep)
        with open_run(path) as directory:
            require_sweep_undamaged(path)
            begin_part(directory.files, self.part, begun=(path / SWEPT).exists())
            begin_sweep(path, self.sweep)
            yield directory

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Runs or resumes every training in a directory of its own there; yields after every round."""
        compute.check()
        points = self.points
        clock = Clock({"round": sum(point.experiment.rounds for point, _ in points)})
        asked = ran = 0
        together: dict[tuple[int, str], list[tuple[Point, Setup]]] = {}
        for point, setup in points:
            # Attackers that hold examples back train on another federation.
            model = repr(point.experiment.model)
            together.setdefault((id(setup.federation), model), []).append((point, setup))
        for members in together.values():
            first = members[0][1]
            also = tuple(examples for _, setup in members for examples in setup.measured_on)
            if compute.cluster is not None:
                there, members = _divide(members, place.path)
                about = {point.directory: setup for point, setup in there.values()}
                with closing(ClusterJobs(first.model, first.federation, compute, about=about)) as cluster:
                    trainings = ClusterTrainings(there, place.path, cluster, clock)
                    for progress in trainings.steps():
                        yield replace(progress, asked=asked + trainings.asked, run=ran + trainings.run)
                asked, ran = asked + trainings.asked, ran + trainings.run
            if not members:
                continue
            with open_backend(first.model, first.federation, compute, also=also) as backend:
                shared = SharedJobs(backend)
                for progress in _side_by_side(members, place.path, shared, clock, compute):
                    # Jobs of all trainings before these, and of these.
                    yield replace(progress, asked=asked + shared.asked, run=ran + shared.run)
                asked, ran = asked + shared.asked, ran + shared.run

    def result(self, place: RunDirectory) -> list[Row]:
        rows = read_rows(self.sweep, place.path)
        place.files.note_members([name for row in rows for name in row.directories])
        return rows


def plan_sweep(sweep: Sweep, data_dir: Path | None = None, range: str | None = None) -> SweepStudy:
    """Makes every training ready, each data set loaded once; whatever does not fit together is said now.

    ``range`` is ``A:B`` where only trainings A to B - 1 are run here.
    """
    names = [point.directory for point in sweep.points]
    part = None if range is None else PartRecord.parse(range, len(names), names)
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
    return SweepStudy(sweep=sweep, setups=setups, part=part)


def _divide(
    members: Sequence[tuple[Point, Setup]], path: Path
) -> tuple[dict[str, tuple[Point, Setup]], list[tuple[Point, Setup]]]:
    """Trainings that run on nodes as a whole, by their names, and those that go on round by round."""
    there = {
        point.directory: (point, setup)
        for point, setup in members
        if goes_there(path / point.directory, setup)
    }
    return there, [(point, setup) for point, setup in members if point.directory not in there]


def _side_by_side(
    members: Sequence[tuple[Point, Setup]], path: Path, shared: SharedJobs, clock: Clock, compute: Compute
) -> Iterator[Progress]:
    """Always the trainings with the fewest rounds go on: a kill may have left some of them ahead."""
    with ExitStack() as stack:
        going: dict[str, Iterator[Progress]] = {}
        points = {point.directory: point for point, _ in members}
        # All train on one federation, which may be gigabytes: it is read through once.
        data = data_digest(members[0][1].federation)
        for point, setup in members:
            directory = stack.enter_context(open_run(path / point.directory))
            study = TrainingStudy(setup=setup, data=data)
            going[point.directory] = study.steps(directory, compute, backend=shared)
        done = dict.fromkeys(going, 0)
        while going:
            least = min(done[name] for name in going)
            behind = [name for name in going if done[name] == least]
            shared.next_round(len(behind))
            for name in behind:
                asked, before, metrics = shared.asked, done[name], None
                begun, waited = time.perf_counter(), shared.seconds
                try:
                    step = next(going[name])
                    done[name], metrics = step.rounds, step.metrics
                except StopIteration:
                    del going[name]
                    done[name] = points[name].experiment.rounds
                except TrainingFailed as failure:
                    raise TrainingFailed(f"{points[name].combination}: {failure}") from failure
                apart = None
                if shared.asked > asked:
                    apart = time.perf_counter() - begun - (shared.seconds - waited)
                    clock.tick("round")
                    before += 1
                # Of an earlier session, or never to come as a budget is spent.
                clock.skip("round", done[name] - before)
                yield clock.progress(
                    name=points[name].combination, rounds=done[name], metrics=metrics, seconds_apart=apart
                )


def check_place(path: Path, sweep: Sweep) -> None:
    """Raises if the directory holds something else; values and seeds may have been added to a sweep."""
    kind, expected = kind_of(path), f"{path} must be empty or of this sweep"
    if kind not in ("", "a sweep"):
        raise InvalidValue(f"{expected}, got the directory of {kind}; choose another with --out")
    stored, wanted = json_object(path / SWEPT), _describe_sweep(sweep)
    if stored is None:
        return
    there, here = stored.get("keys"), wanted["keys"]
    if not isinstance(there, list) or not all(isinstance(key, str) for key in there):
        raise InvalidValue(f"{path / SWEPT} is damaged: it must list the keys that vary")
    if set(there) != set(here):
        other = f"it varies {_list_text(there)} there, {_list_text(here)} here"
    elif found := list(differences(stored.get("experiment"), wanted["experiment"], "experiment")):
        other = f"{', '.join(found)} differ"
    else:
        return
    raise InvalidValue(f"{expected}, got that of another: {other}; choose another directory with --out")


def begin_sweep(path: Path, sweep: Sweep) -> None:
    """Writes what is swept, before anything is trained, or checks that the directory is of this sweep."""
    check_place(path, sweep)
    # Of an earlier version it does not say that there are digests.
    if not sweep_has_digests(path):
        content = _describe_sweep(sweep) | {"digests": DIGESTS}
        RunFiles(path).write(SWEPT, (json.dumps(content, indent=1) + "\n").encode())


def _list_text(keys: list[str]) -> str:
    return ", ".join(sorted(keys)) or "nothing but seeds"


def _describe_sweep(sweep: Sweep) -> dict[str, Any]:
    """The keys that vary, and what all trainings have in common."""
    keys = [axis.key for axis in sweep.axes]
    shared = {
        key: value
        for key, value in flat(sweep.points[0].experiment.model_dump(mode="json"))
        if not any(key == each or key.startswith(f"{each}.") for each in (*_FREE, *keys))
    }
    return {"keys": keys, "experiment": shared}
