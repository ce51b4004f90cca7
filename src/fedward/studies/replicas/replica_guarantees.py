"""The guarantees of releasing one replica alone, and of releasing all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedward.privacy import Guarantee
from fedward.privacy.caveats import add_caveat
from fedward.privacy.pld import NoiseTooSmall
from fedward.rundir.replica_ledgers import OneTraining
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.training.setup import Setup


def guarantees(wanted: ReplicaRun, replicas: int) -> dict[str, dict[str, Any]]:
    """For every variant the guarantee of one replica and of that many, as plain values and in words."""
    return {
        name: {
            "one_replica": _as_json(setup.planned),
            "all_replicas": _as_json(guarantee_of_all(setup, replicas)),
        }
        for name, setup in wanted.variants.items()
    }


def guarantee_of_all(setup: Setup, replicas: int) -> Guarantee:
    """What releasing that many trainings, or anything computed from them, guarantees."""
    one = setup.algorithm.spent(setup.federation.num_users, setup.experiment.rounds)
    spent = replace(one, entries=())
    for event, count in one.spending:
        spent = spent.charged(event, count * replicas)
    try:
        found = spent.guarantee(setup.delta, setup.accountant)
    except NoiseTooSmall:
        found = spent.guarantee(setup.delta, "rdp")
    return add_caveat(add_caveat(found, f"all {replicas:,} replicas together"), setup.caveat)


def _as_json(guarantee: Guarantee) -> dict[str, Any]:
    return {"guarantee": guarantee.to_json(), "statement": str(guarantee)}


def one_training(setup: Setup) -> OneTraining:
    """What one training of an experiment spends, and how that is stated."""
    ledger = setup.algorithm.spent(setup.federation.num_users, setup.experiment.rounds)
    return OneTraining(ledger=ledger, delta=setup.delta, accountant=setup.accountant)
