"""The experiment file of an app, which server and nodes read alike."""

from __future__ import annotations

from pathlib import Path

from fedward.config.experiment import Experiment, from_content
from fedward.config.file_content import read_content
from fedward.config.own_code import import_code


def read_experiment(file: Path, *, trust: bool = False) -> Experiment:
    """The experiment; code of one's own that it names is imported only if it is trusted."""
    content = read_content(file)
    return from_content(import_code(content, file) if trust else content, str(file))
