"""The table ``[model]`` of an experiment file: a model's name and options, and weights to start from."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from fedward import models
from fedward.config.object_section import ObjectSection
from fedward.config.part_slot import OneOf
from fedward.config.sections import PartSection
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary
from fedward.models.initial_weights import InitialWeights, load_weights

_KEY = "weights"


def initial_model(
    section: PartSection, federation: Federation, seed: int
) -> tuple[nn.Module, InitialWeights | None]:
    """The model of a table ``[model]`` for some data, and what was loaded into it."""
    x = federation.examples.x
    shape = () if isinstance(x, Ragged) else tuple(x.shape[1:])
    return model_for(section, shape, federation.num_classes, seed, federation.vocabulary)


def model_for(
    section: PartSection,
    input_shape: tuple[int, ...],
    num_classes: int,
    seed: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[nn.Module, InitialWeights | None]:
    """The same for inputs of a shape, wherever they are."""
    if isinstance(section, ObjectSection):
        model: nn.Module = section.build()
        return model, None
    model = models.build(
        section.part if section.part in models.MODELS else type(section).factory,
        input_shape=input_shape,
        num_classes=num_classes,
        seed=seed,
        vocabulary=vocabulary,
        **section.arguments(),
    )
    path: str | None = dict(section).get(_KEY)
    if path is None:
        return model, None
    return model, load_weights(Path(path), model, section.part, vocabulary)


MODEL = OneOf(
    registry=models.MODELS,
    makes=(nn.Module,),
    group="fedward.models",
    supplied=("input_shape", "num_classes", "vocabulary"),
    more={_KEY: (str | None, None)},
)
