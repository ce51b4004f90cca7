"""The experiment of a run as its directory has it, and its data where that can be loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.made_objects import objects_of
from fedward.config.own_code import code_names
from fedward.core.federation import Federation
from fedward.datasets.directory import data_directory


class Library:
    """Loads the data of runs, each set once. It never has a set fetched that is not there."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self._data_dir = data_dir
        self._found: dict[str, Federation] = {}

    def load(self, content: dict[str, Any]) -> tuple[config.Experiment, Federation]:
        """The experiment that a run has stored, and its data; refuses, with the reason, if it cannot."""
        _require_built_in(content)
        experiment = config.from_content(content, "the stored experiment")
        name = json.dumps([content["data"], content["seed"]], sort_keys=True)
        if name not in self._found:
            self._found[name] = self._load(experiment)
        return experiment, self._found[name]

    def _load(self, experiment: config.Experiment) -> Federation:
        directory, own = data_directory(self._data_dir), experiment.data
        if "data_dir" in type(own).model_fields and not directory.is_dir():
            raise InvalidValue(f"the data set {own.part} is not at hand; --data says where it lies")
        try:
            return experiment.load_data(self._data_dir)
        except (InvalidValue, OSError) as error:
            raise InvalidValue(f"the data set {own.part} cannot be loaded: {error}") from error


def _require_built_in(content: Mapping[str, Any]) -> None:
    """Raises where only somebody's own code could make the data, or the rest of the experiment, again."""
    if next(objects_of(content), None) is not None:
        raise InvalidValue(
            "the data is not at hand, since a Python program made this run from its own objects"
        )
    if names := code_names(content):
        raise InvalidValue(
            "the data is not at hand, since nobody's own code is run here, and this run needs "
            f"{', '.join(names)}"
        )
