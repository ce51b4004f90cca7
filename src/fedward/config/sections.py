"""Tables of an experiment file, made from the signatures of the parts that they configure.

A part is configured by the keyword arguments that its factory takes, so a new part needs no code here.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema

from fedward.aggregation import RULES, Rule
from fedward.attacks.poisoning.features import FEATURES, Feature
from fedward.attacks.poisoning.patterns import PATTERNS, Pattern
from fedward.base.validate import InvalidValue, nearest, one_of
from fedward.clipping import CLIP_POLICIES
from fedward.core.types import ClipPolicy, LocalTrainer, Sampler, ServerOptimizer
from fedward.local import DPSGD, LOCAL_TRAINERS, SGD
from fedward.sampling import SAMPLERS
from fedward.server import SERVERS

Registry = Mapping[str, Callable[..., Any]]


class Section(BaseModel):
    """One table: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # Keys that are taken out before the table is checked, and yet belong to what somebody may have meant.
    apart: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, content: Any) -> Any:
        if isinstance(content, dict):
            unknown = [key for key in content if key not in cls.model_fields]
            if unknown:
                allowed = [*cls.model_fields, *cls.apart]
                hints = ", ".join(f"{key!r}{nearest(key, allowed)}" for key in unknown)
                raise InvalidValue(f"unknown key {hints} (allowed: {', '.join(allowed)})")
            return {key: _as_tuples(value) for key, value in content.items()}
        return content


def _as_tuples(value: Any) -> Any:
    """TOML has lists only; parts are values and take tuples."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def check_by(check: Callable[..., Any], name: str, *limits: Any) -> AfterValidator:
    """For an annotation: what a check of ``base.validate`` lets pass, under this name in its errors."""
    return AfterValidator(lambda value: check(name, value, *limits))


class PartSection(Section):
    """The table of one part: its name under ``tag``, and the arguments of its factory."""

    tag: ClassVar[str]
    factory: ClassVar[Callable[..., Any]]
    supplied: ClassVar[frozenset[str]]
    trial: ClassVar[Mapping[str, Any] | None]

    @property
    def part(self) -> str:
        """The name of the part."""
        return str(getattr(self, self.tag))

    def build(self, **supplied: Any) -> Any:
        """Makes the part; ``supplied`` are the arguments that the file does not hold."""
        arguments = {name: getattr(self, name) for name in type(self).model_fields if name != self.tag}
        built = {
            name: value.build(**supplied) if isinstance(value, PartSection) else value
            for name, value in arguments.items()
        }
        known = {name: value for name, value in supplied.items() if name in self.supplied}
        return type(self).factory(**built, **known)

    @model_validator(mode="after")
    def _part_accepts_its_arguments(self) -> PartSection:
        if self.trial is not None:
            self.build(**self.trial)
        return self


@dataclass(frozen=True, kw_only=True, eq=False)
class OneOf:
    """Stands in an annotation for the table of one part of a registry.

    Args:
      registry: the parts by name.
      tag: the key that holds the name.
      supplied: arguments that do not come from the file.
      trial: values of these with which a part is made once while the file is checked, so that its own
        errors name the table; None if making it is real work.
      more: keys of the table that the part is not made with: their types and defaults.
    """

    registry: Registry
    tag: str = "name"
    supplied: tuple[str, ...] = ()
    trial: Mapping[str, Any] | None = None
    more: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        sections = tuple(_section(name, factory, self) for name, factory in self.registry.items())
        alternatives: Any = reduce(or_, sections)
        if len(sections) > 1:
            alternatives = Annotated[alternatives, Field(discriminator=self.tag)]
        return handler.generate_schema(Annotated[alternatives, BeforeValidator(self._name_is_known)])

    def _name_is_known(self, content: Any) -> Any:
        if isinstance(content, dict):
            if self.tag not in content:
                allowed = ", ".join(self.registry)
                raise InvalidValue(f"the key {self.tag!r} is missing; it must be one of {allowed}")
            one_of(self.tag, content[self.tag], self.registry)
        return content


# Arguments of these types are tables of their own.
_SLOTS: dict[Any, OneOf] = {
    Sampler: OneOf(registry=SAMPLERS, trial={}),
    LocalTrainer: OneOf(registry=LOCAL_TRAINERS, trial={}),
    SGD: OneOf(registry={"sgd": SGD}, trial={}),
    DPSGD: OneOf(registry={"dp_sgd": DPSGD}, trial={}),
    ServerOptimizer: OneOf(registry=SERVERS, trial={}),
    Rule: OneOf(registry=RULES, trial={}),
    Pattern: OneOf(registry=PATTERNS, trial={}),
    Feature: OneOf(registry=FEATURES, trial={}),
    # The declared cohort follows from the sampler and the number of users: nobody has to write it twice.
    ClipPolicy: OneOf(registry=CLIP_POLICIES, supplied=("expected_cohort",), trial={"expected_cohort": 1.0}),
}


def _section(name: str, factory: Callable[..., Any], slot: OneOf) -> type[PartSection]:
    parameters = inspect.signature(factory).parameters
    hints = typing.get_type_hints(factory)
    fields: dict[str, Any] = {slot.tag: (Literal[name], ...)}
    for argument, parameter in parameters.items():
        if argument not in slot.supplied:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[argument] = (_field_type(hints[argument]), default)
    section = create_model(name, __base__=PartSection, **fields | dict(slot.more))
    section.tag, section.factory, section.trial = slot.tag, staticmethod(factory), slot.trial
    section.supplied = frozenset(slot.supplied) & frozenset(parameters)
    return section


def _field_type(hint: Any) -> Any:
    """The type in the file for an argument: a table for a part, the argument's own type otherwise."""
    if hint in _SLOTS:
        return Annotated[PartSection, _SLOTS[hint]]
    if isinstance(hint, types.UnionType):
        return reduce(or_, (_field_type(member) for member in typing.get_args(hint)))
    return hint
