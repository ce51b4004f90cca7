"""A finished object in the place of a table: what Python programs put where files name a part."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, model_serializer

from fedward.config.made_parts import describe, short_name
from fedward.config.sections import PartSection


class ObjectSection(PartSection):
    """One object; a run stores its description."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    value: Any
    key: str

    @property
    def part(self) -> str:
        return str(short_name(self.value))

    def build(self, **supplied: Any) -> Any:
        """The object itself."""
        return self.value

    @model_serializer(mode="plain")
    def _describe(self) -> dict[str, Any]:
        return {self.key: self.part, **describe(self.value)}

    def __repr__(self) -> str:
        # Two sections are of the same data only if they hold the same object.
        return f"{self.part}, object {id(self.value)}"
