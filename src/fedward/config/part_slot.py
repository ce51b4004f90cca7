"""The places of a file where a part is named, and the tables made from the signatures of parts.

A part is configured by the keyword arguments that its factory takes, so a new part needs no code here, and
neither does one of a user's own: ``name`` is a name of ours, the name that an installed package registers, or
the class or function itself (of which a trusted file has the import path).
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, GetCoreSchemaHandler, PydanticSchemaGenerationError, create_model
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from fedward.aggregation import RULES, Mean, Rule, WeightedMean
from fedward.attacks.poisoning.features import FEATURES, Feature
from fedward.attacks.poisoning.patterns import PATTERNS, Pattern
from fedward.base.validate import InvalidType, InvalidValue, nearest
from fedward.clipping import CLIP_POLICIES
from fedward.config.code_digest import is_own
from fedward.config.installed_parts import installed, load_installed
from fedward.config.made_parts import require_kind
from fedward.config.object_section import ObjectSection
from fedward.config.own_code import import_path
from fedward.config.sections import PartSection
from fedward.core.types import Aggregator, ClipPolicy, LocalTrainer, Mechanism, Sampler, ServerOptimizer
from fedward.local import DPSGD, LOCAL_TRAINERS, SGD
from fedward.mechanisms import MECHANISMS
from fedward.sampling import SAMPLERS
from fedward.server import SERVERS

Registry = Mapping[str, Callable[..., Any]]

_FROM_FILES = (bool, int, float, str, bytes, list, tuple, type(None))


@dataclass(frozen=True, kw_only=True, eq=False)
class OneOf:
    """Stands in an annotation for the table of one part.

    Args:
      registry: our parts by name.
      makes: what a part must be, one of these: classes or Protocols.
      group: the entry points under which installed packages register such parts.
      tag: the key that holds the name.
      supplied: arguments that do not come from the file.
      trial: values of these with which a part is made once while the file is checked, so that its own
        errors name the table; None if making it is real work.
      more: keys of the table that the part is not made with: their types and defaults.
    """

    registry: Registry
    makes: tuple[type, ...] = ()
    group: str = ""
    tag: str = "name"
    supplied: tuple[str, ...] = ()
    trial: Mapping[str, Any] | None = None
    more: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(
            lambda section, info: section.model_dump(mode=info.mode), info_arg=True
        )
        return core_schema.no_info_plain_validator_function(self.read, serialization=dump)

    def read(self, content: Any) -> PartSection:
        """The table of the part that is named, or the section of an object that is given."""
        if isinstance(content, PartSection):
            return content
        if not isinstance(content, dict):
            return self._section_of_object(content)
        if self.tag not in content:
            allowed = ", ".join(self.names())
            raise InvalidValue(f"the key {self.tag!r} is missing; it must be one of {allowed}")
        named = content[self.tag]
        factory = self.factory(named)
        if callable(named):
            content = content | {self.tag: import_path(named)}
        return table_of(content[self.tag], factory, self).model_validate(content)

    def _section_of_object(self, value: object) -> PartSection:
        if isinstance(value, _FROM_FILES) or not self.makes:
            raise PydanticKnownError("model_type", {"class_name": "table"})
        if isinstance(value, type):
            raise InvalidType(
                f"a part must be made, or named in a table, got the class {value.__name__}: write "
                f"{{{self.tag!r}: {value.__name__}, ...}} with its arguments"
            )
        require_kind(value, self.makes, type(value).__name__)
        return ObjectSection.model_construct(value=value, key=self.tag)

    def names(self) -> list[str]:
        """Ours, and those of installed packages."""
        return [*self.registry, *(installed(self.group, self.registry) if self.group else ())]

    def factory(self, named: Any) -> Callable[..., Any]:
        """What makes the part of that name."""
        if callable(named):
            return named  # type: ignore[no-any-return]
        if not isinstance(named, str):
            raise InvalidType(f"{self.tag} must be one of {', '.join(self.names())}, got {named!r}")
        if named in self.registry:
            return self.registry[named]
        points = installed(self.group, self.registry) if self.group else {}
        if named in points:
            return load_installed(points[named])
        raise InvalidValue(
            f"{self.tag} must be one of {', '.join(self.names())}, got {named!r}"
            f"{nearest(named, self.names())} (own code is named 'module:Name')"
        )


# Arguments of these types are tables of their own.
_SLOTS: dict[Any, OneOf] = {
    Sampler: OneOf(registry=SAMPLERS, makes=(Sampler,), group="fedward.samplers", trial={}),
    LocalTrainer: OneOf(
        registry=LOCAL_TRAINERS, makes=(LocalTrainer,), group="fedward.local_trainers", trial={}
    ),
    SGD: OneOf(registry={"sgd": SGD}, makes=(SGD,), trial={}),
    DPSGD: OneOf(registry={"dp_sgd": DPSGD}, makes=(DPSGD,), trial={}),
    ServerOptimizer: OneOf(registry=SERVERS, makes=(ServerOptimizer,), group="fedward.servers", trial={}),
    Rule: OneOf(registry=RULES, makes=(Rule,), group="fedward.rules", trial={}),
    Pattern: OneOf(registry=PATTERNS, makes=(Pattern,), group="fedward.patterns", trial={}),
    Feature: OneOf(registry=FEATURES, makes=(Feature,), group="fedward.features", trial={}),
    Mechanism: OneOf(registry=MECHANISMS, makes=(Mechanism,), group="fedward.mechanisms", trial={}),
    # The declared cohort follows from the sampler and the number of users: nobody has to write it twice.
    Aggregator: OneOf(
        registry={"mean": Mean, "weighted_mean": WeightedMean},
        makes=(Aggregator,),
        group="fedward.aggregators",
        supplied=("expected_cohort",),
        trial={"expected_cohort": 1.0},
    ),
    ClipPolicy: OneOf(
        registry=CLIP_POLICIES,
        makes=(ClipPolicy,),
        group="fedward.clip_policies",
        supplied=("expected_cohort",),
        trial={"expected_cohort": 1.0},
    ),
}


@cache
def table_of(name: str, factory: Callable[..., Any], slot: OneOf) -> type[PartSection]:
    """The class of a part's table: a key for each argument of its factory."""
    parameters, hints = _parameters(name, factory)
    fields: dict[str, Any] = {slot.tag: (Literal[name], ...)}
    for argument, parameter in parameters.items():
        if argument in slot.supplied:
            continue
        if argument in vars(PartSection) or argument in (slot.tag, *slot.more):
            raise InvalidValue(
                f"{name} has an argument called {argument!r}, which no table can have as a key"
            )
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[argument] = (_field_type(hints.get(argument, Any)), default)
    try:
        section = create_model(
            name, __base__=_OwnSection if is_own(factory) else PartSection, **fields | dict(slot.more)
        )
    except PydanticSchemaGenerationError as error:
        raise InvalidValue(f"the arguments of {name} cannot be keys of a table: {error.message}") from error
    section.tag, section.factory, section.trial = slot.tag, staticmethod(factory), slot.trial
    section.supplied = frozenset(slot.supplied) & frozenset(parameters)
    section.makes, section.options = slot.makes, frozenset(slot.more)
    section.elsewhere = _keys_of_all(slot)
    return section


class _OwnSection(PartSection):
    """The table of a user's own part, whose arguments may be of any type."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


def _parameters(
    name: str, factory: Callable[..., Any]
) -> tuple[dict[str, inspect.Parameter], dict[str, Any]]:
    """The arguments that a factory can be called with by name, and their types."""
    try:
        signature = inspect.signature(factory)
        # A dataclass has its types as fields; of other classes the constructor has them.
        plain = isinstance(factory, type) and not dataclasses.is_dataclass(factory)
        hints = typing.get_type_hints(factory.__init__ if plain else factory)
    except (NameError, TypeError, ValueError) as error:
        if not is_own(factory):
            raise
        raise InvalidValue(f"the signature of {name} cannot be read: {error}") from error
    found = {}
    for argument, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise InvalidValue(f"arguments of {name} must have names, and {argument!r} is positional only")
        if parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            found[argument] = parameter
    return found, hints


@cache
def _keys_of_all(slot: OneOf) -> frozenset[str]:
    """The keys that our parts of a slot take between them."""
    return frozenset(
        key
        for factory in slot.registry.values()
        for key in inspect.signature(factory).parameters
        if key not in slot.supplied
    )


def _field_type(hint: Any) -> Any:
    """The type in the file for an argument: a table for a part, the argument's own type otherwise."""
    if hint in _SLOTS:
        return Annotated[PartSection, _SLOTS[hint]]
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return reduce(or_, map(_field_type, members))
    if origin is tuple and len(members) == 2 and members[1] is ...:
        return tuple[_field_type(members[0]), ...]  # type: ignore[misc]  # a type that is made here
    return hint
