"""The ceiling of a certification that is planned: the largest k that its replicas could certify."""

from __future__ import annotations

from fedward.base.validate import InvalidValue
from fedward.certificates.ceiling import Ceiling, ceilings
from fedward.certificates.claims import Claims
from fedward.certificates.setting import Setting
from fedward.studies.certification.claimed_setting import setting_of
from fedward.studies.training.setup import Setup


def planned_ceilings(setting: Setting, setup: Setup) -> tuple[Ceiling, ...]:
    """The ceiling of each threat, before anything is trained."""
    test = setup.federation.test
    assert test is not None  # replicas are asked about test examples
    return ceilings(setting, classes=setup.federation.num_classes, examples=len(test))


def forecast_ceilings(setup: Setup, replicas: int) -> tuple[Ceiling, ...]:
    """The same for ``fedward certify -m M`` as it is without options; nothing where it would be refused."""
    if setup.federation.test is None or setup.attack is not None:
        return ()
    # Where the number of users is not declared, nothing is certified about users who join.
    for threats in (Claims(replicas=replicas).threats, ("present", "compromise")):
        try:
            setting = setting_of(Claims(replicas=replicas, threats=threats), setup, data="forecast")
        except InvalidValue:
            continue
        return planned_ceilings(setting, setup)
    return ()
