"""The pre-training file: TOML, checked as a whole before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import field_validator, model_validator

from fedward.base.validate import whole
from fedward.config.experiment import read_content
from fedward.config.file_errors import validated
from fedward.config.model_section import MODEL
from fedward.config.overrides import source_of
from fedward.config.sections import OneOf, PartSection, Section
from fedward.core.federation import Federation
from fedward.datasets import DATASETS
from fedward.local import SGD

_DATA = OneOf(registry=DATASETS, supplied=("seed",))


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

    seed: int
    epochs: int
    data: Annotated[PartSection, _DATA]
    model: Annotated[PartSection, MODEL]
    training: TrainingSection

    @field_validator("seed")
    @classmethod
    def _check_seed(cls, value: int) -> int:
        return whole("seed", value, at_least=0)

    @field_validator("epochs")
    @classmethod
    def _check_epochs(cls, value: int) -> int:
        return whole("epochs", value)

    def load_data(self, data_dir: Path | None = None) -> Federation:
        section = self.data
        if data_dir is not None and "data_dir" in type(section).model_fields:
            section = section.model_copy(update={"data_dir": data_dir})
        federation: Federation = section.build(seed=self.seed)
        return federation


def from_content(content: dict[str, Any], source: str = "pre-training") -> PretrainingFile:
    """Checks the content of a pre-training file as a whole."""
    return validated(PretrainingFile, content, source, "pre-training")


def read(path: Path, changes: Sequence[str] = ()) -> PretrainingFile:
    """Reads a pre-training file, with what ``--set`` changes."""
    return from_content(read_content(path, changes), source_of(str(path), changes))
