"""The table ``[compute]``: where and how a file is computed unless the command says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, model_validator

from fedward.backends.compute import Compute, Place
from fedward.base.validate import InvalidValue
from fedward.config.sections import Section


class ComputeSection(Section):
    """Where and how jobs run; never part of a result, so machines that share one may differ in it."""

    workers: int | None = Field(
        default=None, description="threads or processes that train, 0 for neither. One a core if not given."
    )
    backend: Place | None = Field(
        default=None, description="auto, in-process, threads or processes. auto if not given."
    )
    device: str | None = Field(default=None, description="cpu, or cuda. cpu if not given.")
    engine: str | None = Field(
        default=None, description="auto, native or generic. `FEDWARD_ENGINE`, or auto, if not given."
    )
    cluster: str | None = Field(
        default=None, description="a Ray cluster: HOST:PORT, auto, or local:N. This machine if not given."
    )
    instructions: str | None = Field(
        default=None, description="avx512, avx2 or portable, here and on every node. The widest if not given."
    )
    gpus: float | None = Field(
        default=None, description="GPUs of a task on a cluster, with device cuda. 1 if not given."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> ComputeSection:
        self.compute()
        return self

    def compute(self, **given: Any) -> Compute:
        """What the file says, under what is given beside it: that counts, and what it rules out does not."""
        given = {name: value for name, value in given.items() if value is not None}
        told = {name: value for name, value in vars(self).items() if value is not None and name not in given}
        for name in _ruled_out(told, given):
            told.pop(name, None)
        return Compute(**told, **given)


def compute_of(content: Mapping[str, Any], **given: Any) -> Compute:
    """What an experiment's content says, under what is given beside it.

    A table with something wrong in it counts as none: it is refused with all else that is wrong in the file,
    before anything is done.
    """
    table = content.get("compute")
    try:
        section = ComputeSection.model_validate(table) if isinstance(table, dict) else ComputeSection()
    except (ValidationError, InvalidValue):
        section = ComputeSection()
    return section.compute(**given)


def refuse_as_axis(key: str) -> None:
    """Raises for a key of the table: no result depends on it, so there is nothing to compare."""
    if key.split(".")[0] == "compute":
        raise InvalidValue(f"compute cannot vary, results do not depend on it, got {key}")


def _ruled_out(told: Mapping[str, Any], given: Mapping[str, Any]) -> set[str]:
    """What a file cannot mean beside what is given."""
    found: set[str] = set()
    if "cluster" in given:
        found |= {"workers", "backend"}
    if "workers" in given:
        found |= {"cluster", "gpus"}
        wrong = ("threads", "processes") if given["workers"] == 0 else ("in-process",)
        found |= {"backend"} if told.get("backend") in wrong else set()
    if "device" in given:
        found |= {"gpus"} if given["device"] == "cpu" else {"workers", "backend"}
    return found
