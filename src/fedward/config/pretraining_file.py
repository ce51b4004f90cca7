"""The pre-training file: TOML, checked as a whole before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from fedward.base.validate import whole
from fedward.config.compute_section import ComputeSection
from fedward.config.experiment import DATA, Seed, load
from fedward.config.file_content import read_content
from fedward.config.file_errors import validate
from fedward.config.model_section import MODEL
from fedward.config.overrides import source_of
from fedward.config.sections import PartSection, Section, check_by
from fedward.core.federation import Federation
from fedward.local import SGD


class TrainingSection(Section):
    """Plain SGD; the learning rate is multiplied by ``learning_rate_decay`` after every epoch."""

    learning_rate: float
    batch_size: int
    momentum: float = 0.0
    weight_decay: float = 0.0
    learning_rate_decay: float = 1.0

    @model_validator(mode="after")
    def _sgd_accepts_it(self) -> TrainingSection:
        self.build()
        return self

    def build(self) -> SGD:
        """One pass over some examples."""
        return SGD(epochs=1, **self.model_dump())


class PretrainingFile(Section):
    """One pre-training, as its file describes it."""

    seed: Seed
    epochs: Annotated[int, check_by(whole, "epochs")]
    data: Annotated[PartSection, DATA]
    model: Annotated[PartSection, MODEL]
    training: TrainingSection
    compute: ComputeSection = Field(default=ComputeSection(), exclude=True, repr=False)

    def load_data(self, data_dir: Path | None = None) -> Federation:
        """The data; ``data_dir`` is where it lies, whatever the file says."""
        return load(self.data, self.seed, data_dir)


def from_content(content: dict[str, Any], source: str = "pre-training") -> PretrainingFile:
    """Checks the content of a pre-training file as a whole."""
    return validate(PretrainingFile, content, source, "pre-training")


def read(path: Path, changes: Sequence[str] = ()) -> PretrainingFile:
    """Reads a pre-training file, with what ``--set`` changes."""
    return from_content(read_content(path, changes), source_of(str(path), changes))
