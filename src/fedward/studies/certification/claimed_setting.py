"""The setting of a certificate: what the claims are about in an experiment."""

from __future__ import annotations

from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.certificates.setting import Setting
from fedward.certificates.threat import certifiable_algorithm, why_no_guarantee
from fedward.core.digest import data_digest, tensor_digest
from fedward.privacy.ledger import Ledger
from fedward.studies.certification.noise_advice import advise_noise
from fedward.studies.training.setup import Setup


def setting_of(claims: Claims, setup: Setup, data: str | None = None) -> Setting:
    """What a certificate of this experiment is about; raises, with the reason, if there can be none.

    ``data`` is the digest of its data, where it has been computed before.
    """
    ledger = planned_ledger(setup)
    # Poisoned examples can only be certified against users that keep to the protocol: see `certifiable`.
    behaviour = claims.behaviour or ("data" if ledger.unit == "example" else "anything")
    return Setting(
        ledger=ledger,
        users=setup.federation.num_users,
        confidence=claims.confidence,
        delta=setup.delta,
        initial_model=tensor_digest(setup.parameters),
        data=data or data_digest(setup.federation),
        threats=claims.threats,
        attendance=claims.attendance,
        behaviour=behaviour,
        accountant="rdp" if setup.accountant == "rdp" else "pld",
    )


def planned_ledger(setup: Setup) -> Ledger:
    """What one training spends: the server's ledger, or that of a user who is drawn in every round."""
    algorithm, rounds = setup.algorithm, setup.experiment.rounds
    if setup.experiment.make_budget(algorithm, setup.federation) is not None:
        raise InvalidValue("a certificate needs trainings of the same length, got a budget that may end them")
    if algorithm.accounting != "users":
        if reason := why_no_guarantee(algorithm):
            raise InvalidValue(f"{reason}. {advise_noise(setup)}")
        certifiable_algorithm(algorithm)
    return algorithm.spent(setup.federation.num_users, rounds)
