"""A pilot from a run directory: the replicas that are there, and the noise that they had."""

from __future__ import annotations

from pathlib import Path

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.tally import Scores
from fedward.privacy.ledger import Ledger
from fedward.privacy.spending import mechanisms
from fedward.rundir.replica_store import finished_blocks
from fedward.rundir.run_record import ReplicasRecord, load
from fedward.studies.replicas.replica_results import load_replicas, load_tally


def pilot_of_run(path: Path) -> Pilot:
    """What the finished replicas of ``fedward replicas`` or ``fedward certify`` say.

    Args:
      path: the run directory, of one variant.
    """
    record = load(path)
    if not isinstance(record, ReplicasRecord):
        raise InvalidValue(
            f"a pilot must be a run of fedward replicas or certify, or an experiment file, got {path}: it "
            "holds one training, and from one nobody sees how much they differ"
        )
    if len(record.experiments) != 1 or record.trainings.keys() != record.experiments.keys():
        raise InvalidValue(
            f"a pilot must be a run of one variant with its ledger, got {path} with "
            f"{', '.join(record.experiments)}"
        )
    ((name, training),) = record.trainings.items()
    if record.experiments[name].get("attack") is not None:
        raise InvalidValue(f"a pilot must be without an attack, got {path}")
    return Pilot.of(_scores(path, name), noise_of(training.ledger))


def noise_of(ledger: Ledger) -> Noise:
    """z, q, T and N of a training that adds noise to means of clipped updates; any other is refused."""
    parts = mechanisms(ledger.spending)
    divisor = ledger.terms.divisor
    if ledger.reason or ledger.unit != "user" or len(parts) != 1 or divisor is None:
        raise InvalidValue(
            "a pilot must add the same noise to the mean of clipped updates in every round, as the preset "
            f"user_dp_fedavg with a clip_bound does; got {ledger.reason or 'another spending'}"
        )
    ((event, rounds),) = parts
    q = event.sampling_probability if isinstance(event, PoissonSampledDpEvent) else 1.0
    gaussian = event.event if isinstance(event, PoissonSampledDpEvent) else event
    if not isinstance(gaussian, GaussianDpEvent):
        raise InvalidValue(f"a pilot must sample by Poisson, or everyone, got {ledger.sampling}")
    return Noise(
        noise_multiplier=gaussian.noise_multiplier, sampling_rate=q, rounds=rounds, users=round(divisor / q)
    )


def _scores(path: Path, variant: str) -> Scores:
    return load_replicas(path, variant) if finished_blocks(path) else load_tally(path, variant)
