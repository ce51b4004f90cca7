"""The live display of each study: what its progress says, in words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from fedward.reports.numbers import many, measures_in_words
from fedward.reports.terminal.live import follow
from fedward.reports.terminal.spending_meter import SpendingMeter
from fedward.studies.pretraining.pretraining_study import Pretraining
from fedward.studies.progress import Progress
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.training.setup import Setup


def follow_run(console: Console, setup: Setup, steps: Iterable[Progress]) -> None:
    """Follows a training: rounds, accuracy, attack success, ε spent and left."""
    meter = SpendingMeter(setup)

    def words(step: Progress) -> list[str]:
        title = f"round {step.done:,} of {step.total:,}"
        return [title, *measures_in_words(step.metrics), meter.words(step), *_cluster(step)]

    follow(console, steps, words)


def follow_replicas(console: Console, wanted: ReplicaRun, steps: Iterable[Progress]) -> None:
    """Follows many replicas: how many are finished, their accuracy, the work that was shared."""

    def words(step: Progress) -> list[str]:
        title = f"{step.finished:,} of {max(wanted.replicas, step.finished):,} replicas"
        return [title, *_mean_accuracy(step), f"{step.run:,} jobs run for {step.asked:,}", *_cluster(step)]

    follow(console, steps, words)


def follow_retraining(console: Console, replicas: int, steps: Iterable[Progress]) -> None:
    """Follows replicas that are trained again: how many were compared, the work that was shared."""

    def words(step: Progress) -> list[str]:
        title = f"{step.finished:,} of {replicas:,} replicas compared"
        return [title, f"{step.run:,} jobs run for {step.asked:,}"]

    follow(console, steps, words)


def follow_sweep(console: Console, steps: Iterable[Progress]) -> None:
    """Follows a sweep: rounds of all trainings, the last one measured; says at the end what was shared."""

    def words(step: Progress) -> list[str]:
        known = ", ".join(measures_in_words(step.metrics))
        latest = [f"{step.name}, round {step.rounds:,}: {known}"] if known else []
        return [
            _in_all_trainings(step),
            f"{step.run:,} local trainings for {step.asked:,}",
            *latest,
            *_cluster(step),
        ]

    last = follow(console, steps, words)
    if last is not None and last.asked:
        console.print(
            f"{last.run:,} local trainings run for {last.asked:,} that were asked for", highlight=False
        )


def follow_inference(console: Console, steps: Iterable[Progress]) -> None:
    """Follows the trainings of an inference attack."""
    follow(console, steps, lambda step: [_in_all_trainings(step), *_cluster(step)])


def follow_audit(console: Console, steps: Iterable[Progress]) -> None:
    """Follows the trainings of an audit, which go through their rounds in blocks."""
    follow(
        console, steps, lambda step: [f"{step.done / max(1, step.total):.0%} of all rounds", *_cluster(step)]
    )


def follow_pretraining(console: Console, wanted: Pretraining, steps: Iterable[Progress]) -> None:
    """Follows a pre-training: epochs, and the accuracy after the last of them."""

    def words(step: Progress) -> list[str]:
        title = f"epoch {step.done // wanted.parts} of {wanted.file.epochs}"
        return [title, *(f"accuracy {value:.1%}" for value in step.accuracy.values())]

    follow(console, steps, words)


def _cluster(step: Progress) -> tuple[str, ...]:
    """The cluster that it runs on, and what is under way there."""
    if not step.nodes:
        return ()
    size = f"{many(step.nodes, 'node')} with {many(step.cores, 'core')}"
    return (f"{size}, {many(step.blocks, 'block')} under way" if step.blocks else size,)


def _in_all_trainings(step: Progress) -> str:
    return f"round {step.done:,} of {step.total:,} in all trainings"


def _mean_accuracy(step: Progress) -> tuple[str, ...]:
    means = step.accuracy.values()
    if len(means) > 1:
        between = f"{100 * min(means):.1f} to {100 * max(means):.1f} %"
        return (f"mean accuracy {between} over {len(means)} variants",)
    return tuple(f"mean accuracy {100 * mean:.1f} %" for mean in means)
