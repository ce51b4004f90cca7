"""The table ``data.public_features`` of an experiment file: features, and what public users are for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from fedward.config.object_section import ObjectSection
from fedward.config.part_slot import OneOf
from fedward.config.sections import PartSection
from fedward.core.federation import Federation
from fedward.features import PUBLIC_FEATURES, Preparation, PublicFeature, apply_features

FEATURES = OneOf(
    registry=PUBLIC_FEATURES,
    makes=(PublicFeature,),
    group="fedward.public_features",
    trial={},
    more={
        "public_users": (int | tuple[int | str, ...], 0),
        "whiten": (float | None, None),
        "rank": (int | None, None),
        "neighbours": (int | None, None),
        "dimensions": (int | None, None),
    },
)


def _named(value: Any) -> Any:
    """``public_features = "hog"`` is short for a table with nothing but the name."""
    return {FEATURES.tag: value} if isinstance(value, str) else value


def _prepared(section: PartSection) -> PartSection:
    _preparation(section)
    return section


Features = Annotated[PartSection, FEATURES, AfterValidator(_prepared), BeforeValidator(_named)]


def with_features(federation: Federation, section: PartSection | None, seed: int) -> Federation:
    """The federation as its table of features says; as it is without one."""
    if section is None:
        return federation
    name = section.value.__class__.__name__ if isinstance(section, ObjectSection) else section.part
    return apply_features(federation, section.build(), _preparation(section), seed=seed, name=name)


def _preparation(section: PartSection) -> Preparation:
    if isinstance(section, ObjectSection):
        return Preparation()
    return Preparation(**{key: getattr(section, key) for key in FEATURES.more})
