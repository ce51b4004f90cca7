"""The manifest of a run, ``run.json``: what is run, on which data, computed by what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from fedward.base.validate import InvalidValue
from fedward.privacy.caveats import WEIGHTS
from fedward.rundir.file_record import FileRecord

NOT_COVERED = "are not covered: they must come from other, or public, data"


class RunData(FileRecord):
    """The data of a run: how many users, and digests of all that decides the result."""

    users: int | None = None
    digest: str | None = None
    initial_model: str | None = None
    target_model: str | None = None
    public_directions: str | None = None


class Divisor(FileRecord):
    """m̄, and whether it was declared."""

    size: float
    declared: bool


class ComputedBy(FileRecord):
    """The engine and versions that a run went on with."""

    engine: str
    versions: dict[str, str]


class Manifest(FileRecord):
    """What is run. ``experiment`` and ``data`` decide the result; the rest says how it came about.

    Args:
      experiment: its tables; of many replicas those of each variant, under ``variants``; of an inference
        attack what is asked under ``inference``, of an audit how it is done under ``audit``.
      code: a digest of each own class or function that it uses, by import path.
      weights: the file that the model starts from, in words.
      caveat: what every ε must be read with.
      divisor: None where no sum is divided by a constant.
      delta, accountant: that the run is accounted with; None for many replicas.
      accounting: who protects: see ``Algorithm.accounting``.
      versions, engine: that it was begun with.
      environment: where, when and by which command.
      went_on: every change of engine or versions since, in order.
      digests: which version of digests.jsonl lies beside it; 0 in runs of earlier versions, without any.
      extended: the rounds it was to have each time before it was given more, or a larger budget.
    """

    experiment: dict[str, Any] = Field(default_factory=dict)
    data: RunData = RunData()
    code: dict[str, str] = Field(default_factory=dict)
    weights: str | None = None
    caveat: str = ""
    divisor: Divisor | None = None
    delta: float | None = None
    accountant: str | None = None
    accounting: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    engine: str = ""
    environment: dict[str, Any] = Field(default_factory=dict)
    went_on: list[ComputedBy] = Field(default_factory=list)
    extended: list[int] = Field(default_factory=list)
    digests: int = 0

    @property
    def variants(self) -> dict[str, dict[str, Any]] | None:
        """The experiment of each variant, by name; None for a single run."""
        found = self.experiment.get("variants")
        return found if isinstance(found, dict) else None

    @property
    def inference(self) -> dict[str, Any] | None:
        """What an inference attack asks; None for other runs."""
        found = self.experiment.get("inference")
        return found if isinstance(found, dict) else None

    @property
    def audit(self) -> dict[str, Any] | None:
        """How an audit attacks; None for other runs."""
        found = self.experiment.get("audit")
        return found if isinstance(found, dict) else None

    def inference_kind(self, file: Path) -> str:
        """``membership`` or ``property``; raises if ``file``, which it was read from, says neither."""
        kind = (self.inference or {}).get("kind")
        if kind not in ("membership", "property"):
            raise InvalidValue(f"{file} is damaged: it does not say which attack it is of")
        return str(kind)

    @property
    def declared_users(self) -> int | None:
        """N as ``[privacy]`` declares it; None where it does not."""
        privacy = self.experiment.get("privacy")
        return privacy.get("users") if isinstance(privacy, dict) else None

    @property
    def all_caveats(self) -> str:
        """What every ε must be read with; empty if the run started from its seed."""
        # Runs of earlier versions say which weights they started from, and nothing about these.
        return self.caveat or (f"{WEIGHTS} {NOT_COVERED}" if self.weights else "")
