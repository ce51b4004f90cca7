"""The base of all records that are read from files: typed, frozen, and checked when they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, PlainSerializer, ValidationError

from fedward.base import json_lines as lines
from fedward.base.limited_files import read_text
from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee


def _guarantee(content: Any) -> Guarantee:
    try:
        return content if isinstance(content, Guarantee) else Guarantee.from_json(content)
    except TypeError as error:  # which pydantic would take for an error of ours
        raise InvalidValue(str(error)) from error


StoredGuarantee = Annotated[
    InstanceOf[Guarantee], BeforeValidator(_guarantee), PlainSerializer(Guarantee.to_json)
]


class FileRecord(BaseModel):
    """A record of a file. Keys that it does not know are kept: a later version may have written them."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    @classmethod
    def read(cls, content: Any, file: Path, remedy: str, where: str = "") -> Self:
        """The record that a file holds.

        Args:
          content: of the file.
          file: its path, for errors.
          remedy: what to do if it is damaged.
          where: in the file, for errors.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            told = _in_words(error, content)
            raise InvalidValue(f"{file} is damaged, {where}{told}: {remedy}") from error

    def to_json(self) -> dict[str, Any]:
        """As it stands in a file: what was never set is left out, what is not finite is null."""
        content: dict[str, Any] = lines.replace_non_finite(self.model_dump(exclude_unset=True))
        return content

    def says(self, name: str) -> bool:
        """Whether the file says anything about it, be it null."""
        return name in self.model_fields_set


def _in_words(error: ValidationError, content: Any) -> str:
    """What is wrong with the first key that is."""
    first = error.errors(include_url=False)[0]
    if not first["loc"] or not isinstance(content, dict):
        return str(first.get("ctx", {}).get("error") or first["msg"])
    key = first["loc"][0]
    if key not in content:
        return f"it does not say {key!r}"
    if isinstance(first["input"], dict) and (cause := first.get("ctx", {}).get("error")):
        return str(cause)
    return f"{key!r} is {content[key]!r:.60}"


def json_object(file: Path) -> dict[str, Any] | None:
    """The content of a JSON file; None if there is none."""
    if not file.is_file():
        return None
    try:
        content = parse(read_text(file), str(file))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} is damaged and cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} must hold one JSON object")
    return content
