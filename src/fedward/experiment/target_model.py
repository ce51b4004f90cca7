"""The model that attackers want to see, from a file."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import Tensor, nn

from fedward.core.parameters import ParameterSpec
from fedward.core.validate import InvalidValue


def read_target(path: Path | None, model: nn.Module) -> Tensor | None:
    """The parameters θ* in a file with a ``state_dict`` of the same model; None if no file is named."""
    if path is None:
        return None
    module = copy.deepcopy(model)
    try:
        module.load_state_dict(torch.load(path, weights_only=True))
    except FileNotFoundError:
        raise InvalidValue(f"target model: there is no file {path}") from None
    except Exception as error:  # a file of any other kind makes torch raise almost anything
        raise InvalidValue(f"target model {path} must hold the state_dict of this model: {error}") from error
    parameters = ParameterSpec.of(module).flatten(module)
    if not bool(torch.isfinite(parameters).all()):
        raise InvalidValue(f"target model {path} must hold finite parameters")
    return parameters
