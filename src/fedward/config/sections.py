"""Tables of an experiment file: strict ones, and those that configure a part."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from fedward.base.validate import InvalidValue, nearest, shorten
from fedward.config.code_digest import is_own
from fedward.config.made_parts import require_kind
from fedward.config.own_code import where_it_failed

FOREIGN_KEYS = "foreign_keys"
"""The error of a table whose keys another part takes, but this one does not."""


class Section(BaseModel):
    """One table: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # Keys that are taken out before the table is checked, and yet belong to what somebody may have meant.
    apart: ClassVar[tuple[str, ...]] = ()
    # Keys that tables of other parts in the same place take.
    elsewhere: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        unknown = [key for key in content if key not in cls.model_fields]
        allowed = [*cls.model_fields, *cls.apart]
        if unknown and cls.elsewhere.issuperset(unknown) and not _misspelt(unknown, allowed):
            words = {"part": cls.__name__, "keys": ", ".join(unknown), "allowed": ", ".join(allowed)}
            raise PydanticCustomError(
                FOREIGN_KEYS, "{part} does not take {keys} (it takes {allowed})", words | {"names": unknown}
            )
        if unknown:
            hints = ", ".join(f"{shorten(key, 200)}{nearest(key[:200], allowed)}" for key in unknown[:20])
            hints += f" and {len(unknown) - 20:,} more" * (len(unknown) > 20)
            raise InvalidValue(f"unknown key {hints} (allowed: {', '.join(allowed)})")
        return {key: _as_tuples(value) for key, value in content.items()}


def _misspelt(unknown: list[str], allowed: list[str]) -> bool:
    """Whether one of these keys is nearly one that is allowed."""
    return any(difflib.get_close_matches(key, allowed, n=1, cutoff=0.8) for key in unknown)


def _as_tuples(value: Any) -> Any:
    """TOML has lists only; parts are values and take tuples."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def check_by(check: Callable[..., Any], name: str, *limits: Any) -> AfterValidator:
    """For an annotation: what a check of ``base.validate`` lets pass, under this name in its errors."""
    return AfterValidator(lambda value: check(name, value, *limits))


class PartSection(Section):
    """The table of one part: its name under ``tag``, and the arguments of its factory.

    Args:
      tag: the key that holds the name.
      factory: makes the part.
      makes: the classes or Protocols one of which the part must be of; anything goes if there are none.
      supplied: arguments of the factory that the file does not hold.
      options: keys that the factory is not called with.
      trial: what is supplied when the part is made once while the file is checked; None if that is real work.
    """

    tag: ClassVar[str]
    factory: ClassVar[Callable[..., Any]]
    makes: ClassVar[tuple[type, ...]] = ()
    supplied: ClassVar[frozenset[str]]
    options: ClassVar[frozenset[str]] = frozenset()
    trial: ClassVar[Mapping[str, Any] | None]

    @property
    def part(self) -> str:
        """The name of the part."""
        return str(getattr(self, self.tag))

    def arguments(self) -> dict[str, Any]:
        """What the file says that the part is made with."""
        left_out = {self.tag, *self.options}
        return {name: getattr(self, name) for name in type(self).model_fields if name not in left_out}

    def build(self, **supplied: Any) -> Any:
        """Makes the part; ``supplied`` are the arguments that the file does not hold."""
        built = {
            name: value.build(**supplied) if isinstance(value, PartSection) else value
            for name, value in self.arguments().items()
        }
        known = {name: value for name, value in supplied.items() if name in self.supplied}
        factory = type(self).factory
        try:
            made = factory(**built, **known)
        except InvalidValue:
            raise
        except Exception as error:
            if not is_own(factory):
                raise
            raise InvalidValue(f"{self.part} cannot be made: {where_it_failed(error)}") from error
        require_kind(made, self.makes, self.part)
        return made

    @model_validator(mode="after")
    def _part_accepts_its_arguments(self) -> PartSection:
        if self.trial is not None:
            self.build(**self.trial)
        return self
