"""The setting of a certificate by another proof: what the claims are about in an experiment."""

from __future__ import annotations

from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, RandomGroups
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.others.parameter_smoothing import SmoothedRound
from fedward.clipping import FixedBound
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.types import total_bound
from fedward.server.model_clipping import ServerModelClipping
from fedward.studies.certification.claimed_setting import planned_ledger
from fedward.studies.replicas.group_trainings import group_ledger, require_apart
from fedward.studies.training.setup import Setup


def other_setting_of(claims: Claims, setup: Setup, data: str | None = None) -> OtherSetting:
    """What such a certificate of this experiment is about; raises, with the reason, if there can be none.

    ``data`` is the digest of its data, where it has been computed before.
    """
    by = claims.by
    assert by is not None
    step = None
    if isinstance(by, DisjointGroups | RandomGroups):
        require_apart(setup)
        ledger = group_ledger(setup)
    else:
        ledger = planned_ledger(setup)
        step = smoothed_round(by, setup)
    return OtherSetting(
        by=by,
        ledger=ledger,
        users=setup.federation.num_users,
        confidence=claims.rule,
        delta=setup.delta,
        initial_model=tensor_digest(setup.parameters),
        data=data or data_digest(setup.federation),
        threats=claims.threats,
        accountant="rdp" if setup.accountant == "rdp" else "pld",
        step=step,
    )


def smoothed_round(by: ParameterSmoothing, setup: Setup) -> SmoothedRound:
    """What a round without attackers does to two models of this experiment.

    Its kernel adds noise of standard deviation η z S / m̄ to a model of norm at most ρ + η S N / m̄, and
    clips the sum, which takes no two laws apart.
    """
    server, algorithm = setup.algorithm.server, setup.algorithm
    if not isinstance(server, ServerModelClipping):
        raise InvalidValue(
            "a certificate by smoothed parameters needs a server that clips the model "
            f'([algorithm] server = {{ name = "model_clipping", norm = ... }}), got {server}'
        )
    divisor, policy = algorithm.aggregator.divisor, algorithm.policy
    if divisor is None or not isinstance(policy, FixedBound):
        raise InvalidValue(
            "a certificate by smoothed parameters needs one clip bound for all rounds and a mean that is "
            f"divided by a declared number, got {policy} and {algorithm.aggregator}"
        )
    if algorithm.mechanism.whole_training is not None:
        raise InvalidValue(
            "a certificate by smoothed parameters needs fresh noise in every round, got "
            f"{algorithm.mechanism}"
        )
    bound = total_bound(algorithm.bounds(algorithm.init(setup.parameters), None))
    return SmoothedRound(
        reach=server.norm + server.learning_rate * bound * setup.federation.num_users / divisor,
        noise=server.learning_rate * algorithm.noise_std(bound),
    )
