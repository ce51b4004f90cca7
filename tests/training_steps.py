"""The rounds of a training in a run directory that is open."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Progress
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import TrainingStudy


def run(setup: Setup, directory: RunDirectory) -> Iterator[Progress]:
    """Runs or resumes an experiment."""
    return TrainingStudy(setup=setup).steps(directory)
