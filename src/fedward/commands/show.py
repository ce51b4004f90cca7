"""``fedward show``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from fedward.aggregation import AGGREGATORS
from fedward.attacks.model_poisoning import MODEL_POISONINGS
from fedward.attacks.poisoning import FEATURES, PATTERNS, POISONINGS
from fedward.backends.engine import chosen
from fedward.backends.gram import is_linear
from fedward.backends.native import available, instruction_set, why_not
from fedward.clipping import CLIP_POLICIES
from fedward.commands.run import Data, EngineOption
from fedward.core.validate import InvalidValue, nearest
from fedward.core.vocabulary import Vocabulary
from fedward.datasets import DATASETS
from fedward.experiment import config
from fedward.experiment.backend import engine_in_words
from fedward.experiment.runner import prepare
from fedward.local import LOCAL_TRAINERS
from fedward.models import MODELS, TEXT_MODELS
from fedward.presets import PRESETS
from fedward.report import terminal
from fedward.sampling import SAMPLERS

PARTS: dict[str, Mapping[str, Any]] = {
    "preset": PRESETS,
    "model": MODELS,
    "data set": DATASETS,
    "local trainer": LOCAL_TRAINERS,
    "clip policy": CLIP_POLICIES,
    "aggregator": AGGREGATORS,
    "sampler": SAMPLERS,
    "poisoning": POISONINGS,
    "pattern": PATTERNS,
    "feature": FEATURES,
    "model poisoning": MODEL_POISONINGS,
}

Name = Annotated[str, typer.Argument(help="A part's name as experiment files have it, or a file.")]


def show(name: Name, data: Data = None, engine: EngineOption = None) -> None:
    """What a part does, or what an experiment file would run and by which engine."""
    console = Console()
    if name.endswith(".toml") or Path(name).is_file():
        setup = prepare(config.read(Path(name)), data)
        terminal.heading(console, setup, Path("runs") / Path(name).stem)
        console.print(
            engine_in_words(setup.model, setup.federation, engine=chosen(engine)),
            str(setup.planned),
            sep="\n",
            highlight=False,
            soft_wrap=True,
        )
        return
    found = [(kind, parts[name]) for kind, parts in PARTS.items() if name in parts]
    if not found:
        names = sorted(part for parts in PARTS.values() for part in parts)
        raise InvalidValue(
            f"there is no file and no part called {name!r}{nearest(name, names)}; "
            f"there are {', '.join(names)}"
        )
    for kind, part in found:
        console.print(f"{kind} {name}", style="bold", highlight=False)
        console.print(_documentation(part), markup=False, highlight=False, soft_wrap=True)
        if kind == "model":
            console.print(_engine_of(part, engine), highlight=False, soft_wrap=True)


def _documentation(part: Any) -> str:
    return inspect.getdoc(part) or inspect.getdoc(inspect.getmodule(part)) or "(not documented)"


def _engine_of(model: Any, engine: str | None) -> str:
    """Which engine trains a model, on examples of its own shape or of MNIST's; or on two words."""
    if model in TEXT_MODELS.values():
        shape: tuple[int, ...] = ()
        module = model(vocabulary=Vocabulary(("good", "bad"), torch.eye(2)), num_classes=10)
    else:
        usual = inspect.signature(model).parameters["input_shape"].default
        shape = (1, 28, 28) if usual is inspect.Parameter.empty else usual
        module = model(input_shape=shape, num_classes=10)
    if chosen(engine) == "generic":
        reason = "as asked for"
    else:
        reason = "in the Gram form, the model is linear" if is_linear(module) else why_not(module, shape)
    if reason:
        return f"Trained by the generic engine: {reason}."
    assert available()
    return f"Trained by the native engine, {instruction_set()}."
