"""The model that attackers want to see, from a file."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import torch
from torch import Tensor, nn

from fedward.base.limited_files import read_archive
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec


def read_target(path: Path | None, model: nn.Module) -> Tensor | None:
    """The parameters θ* in a file with a ``state_dict`` of the same model; None if no file is named."""
    if path is None:
        return None
    module = copy.deepcopy(model)
    wrong = f"target model {path} must hold the state_dict of this model"
    try:
        stored = torch.load(io.BytesIO(read_archive(path)), weights_only=True)
    except FileNotFoundError:
        raise InvalidValue(f"target model: there is no file {path}") from None
    except InvalidValue as error:
        raise InvalidValue(f"target model: {error}") from error
    except Exception as error:  # a file of any other kind makes torch raise almost anything
        # What torch says is about running what is in such files, which nobody should.
        raise InvalidValue(f"{wrong}, got another kind of file or a damaged one") from error
    try:
        module.load_state_dict(stored)
    except Exception as error:
        raise InvalidValue(f"{wrong}: {error}") from error
    parameters = ParameterSpec.of(module).flatten(module)
    if not bool(torch.isfinite(parameters).all()):
        raise InvalidValue(f"target model {path} must hold finite parameters")
    return parameters
