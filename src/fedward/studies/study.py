"""A study: one thing that a user asks for, carried out where it can be killed and gone on with.

study = plan_training(experiment)                # all that can be refused is refused here
with study.open(path, compute) as place:         # locked, begun or gone on with
    for progress in study.steps(place, compute): # each step is durable before the next
        ...
    result = study.result(place)                 # from what is stored
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from fedward.backends.compute import Compute
from fedward.backends.ray.connection import Cluster, joined
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Progress

Place = TypeVar("Place")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
Watch = Callable[[Iterable[Progress]], object]


class Study(Protocol[Place, Result_co]):
    """What is asked for, made ready: data loaded, parts made and checked, nothing trained yet."""

    def open(self, path: Path, compute: Compute) -> AbstractContextManager[Place]:
        """Keeps other processes out of the place where results go, for as long as it is open."""
        ...

    def steps(self, place: Place, compute: Compute) -> Iterator[Progress]:
        """Does what is left to do. What is stored there of another study is refused before the first step."""
        ...

    def result(self, place: Place) -> Result_co:
        """What came out, once all steps are done; it is stored too."""
        ...


def open_run_directory(study: object, path: Path, compute: Compute) -> AbstractContextManager[RunDirectory]:
    """``open`` of every study whose results go into a run directory of its own."""
    return open_run(path)


def carry_out(
    study: Study[Place, Result],
    path: Path,
    compute: Compute,
    watch: Watch,
    draw: Callable[[Place, Result], object] | None = None,
) -> Result:
    """Carries out a study, or goes on with it where it was left.

    Args:
      path: where results go: a run directory, or a file of weights.
      compute: where and how jobs run.
      watch: goes through the steps, and may show them.
      draw: draws pictures of the result, while the place is still locked.
    """
    with study.open(path, compute.check()) as place, joined(compute) as cluster:
        steps = study.steps(place, compute)
        watch(steps if cluster is None else _with_size(steps, cluster))
        result = study.result(place)
        if draw is not None:
            draw(place, result)
    return result


def _with_size(steps: Iterable[Progress], cluster: Cluster) -> Iterator[Progress]:
    """The progress of a study with the size that its cluster has at the moment."""
    for step in steps:
        nodes, cores = cluster.size
        yield replace(step, nodes=nodes, cores=cores)
