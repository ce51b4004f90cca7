"""A reader of the property that an attacker asks about: which training examples have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.federation import Federation
from fedward.datasets import PROPERTIES


def read_property(
    which: str, experiment: Experiment, federation: Federation, data_dir: Path | None = None
) -> Tensor:
    """Which training examples have the property: by name, from a file, or by class.

    Args:
      which: a name that the data set has for it, a ``.npy`` file with a bool for each training example of the
        federation, in its order, or ``label:C`` for all examples of class C.
    """
    if which.startswith("label:"):
        name = which.removeprefix("label:")
        if not name.isdecimal() or int(name) >= federation.num_classes:
            raise InvalidValue(
                f"class of the property must be from 0 to {federation.num_classes - 1}, got {name!r}"
            )
        return federation.examples.y == int(name)
    path = Path(which)
    if path.suffix != ".npy":
        return _property_of_data(which, experiment, data_dir)
    try:
        return torch.from_numpy(np.load(path, allow_pickle=False))
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {path}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InvalidValue(f"{path} cannot be read as an array: {error}") from error


def _property_of_data(which: str, experiment: Experiment, data_dir: Path | None) -> Tensor:
    """A property that the data set itself knows of its examples."""
    section = experiment.data
    if section.part not in PROPERTIES:
        raise InvalidValue(
            f"property must be a .npy file or label:CLASS, as {section.part} has no names for any, "
            f"got {which!r}"
        )
    options = {name: getattr(section, name) for name in type(section).model_fields if name != section.tag}
    if data_dir is not None:
        options["data_dir"] = data_dir
    found: Tensor = PROPERTIES[section.part](which, seed=experiment.seed, **options)[0]
    return found
