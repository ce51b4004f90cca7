"""``fedward show``."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from fedward.backends.compute import Compute
from fedward.backends.engines.choice import choose_engine
from fedward.backends.engines.gram import is_linear
from fedward.backends.engines.native import available, instruction_set, why_not
from fedward.backends.open import engine_in_words
from fedward.base.validate import InvalidValue, nearest
from fedward.commands.options import Data, Engine, Set
from fedward.commands.output import AsJson
from fedward.config import experiment as config
from fedward.config import listing
from fedward.core.parameters import ParameterSpec
from fedward.core.vocabulary import Vocabulary
from fedward.models import MODELS, TEXT_MODELS
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console
from fedward.studies.training.setup import Setup, prepare

Name = Annotated[str, typer.Argument(help="A part's name as experiment files have it, or a file.")]


def show(
    name: Name,
    changes: Set = None,
    data: Data = None,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """What a part does, or what an experiment file would run and by which engine."""
    console = plain_console()
    if name.endswith(".toml") or Path(name).is_file():
        setup = prepare(config.read(Path(name), changes or []), data)
        if as_json:
            print(json.dumps(_setup_record(setup, engine)))
            return
        terminal.heading(console, setup, Path("runs") / Path(name).stem)
        console.print(
            engine_in_words(setup.model, setup.federation, Compute(engine=engine)),
            str(setup.planned),
            sep="\n",
            highlight=False,
            soft_wrap=True,
        )
        return
    found = listing.meanings(name)
    if not found:
        names = listing.names()
        raise InvalidValue(
            f"there is no file and no part called {name!r}{nearest(name, names)}; "
            f"there are {', '.join(names)}"
        )
    if as_json:
        parts = [_part_record(kind, name, text) for kind, text in found]
        print(json.dumps({"name": name, "meanings": parts}))
        return
    for number, (kind, text) in enumerate(found):
        title = f"{kind.name} {name} ({kind.place})"
        console.print(("\n" if number else "") + title, style="bold", markup=False, highlight=False)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        if keys := kind.keys(name):
            console.print(f"Keys in a file: {keys}", markup=False, highlight=False, soft_wrap=True)
        if kind.name == "model":
            console.print(_engine_of(MODELS[name], engine), highlight=False, soft_wrap=True)


def _setup_record(setup: Setup, engine: str | None) -> dict[str, Any]:
    return {
        "experiment": setup.experiment.model_dump(mode="json"),
        "users": setup.federation.num_users,
        "examples": len(setup.federation.examples),
        "parameters": ParameterSpec.of(setup.model).size,
        "engine": engine_in_words(setup.model, setup.federation, Compute(engine=engine)),
        "guarantee": setup.planned.to_json(),
        "statement": str(setup.planned),
    }


def _part_record(kind: listing.Kind, name: str, text: str) -> dict[str, str]:
    return {"kind": kind.name, "place": kind.place, "text": text, "keys": kind.keys(name)}


def _engine_of(model: Any, engine: str | None) -> str:
    """Which engine trains a model, on examples of its own shape or of MNIST's; or on two words."""
    if model in TEXT_MODELS.values():
        shape: tuple[int, ...] = ()
        module = model(vocabulary=Vocabulary(("good", "bad"), torch.eye(2)), num_classes=10)
    else:
        usual = inspect.signature(model).parameters["input_shape"].default
        shape = (1, 28, 28) if usual is inspect.Parameter.empty else usual
        module = model(input_shape=shape, num_classes=10)
    if choose_engine(engine) == "generic":
        reason = "as asked for"
    else:
        reason = "in the Gram form, the model is linear" if is_linear(module) else why_not(module, shape)
    if reason:
        return f"Trained by the generic engine: {reason}."
    assert available()
    return f"Trained by the native engine, {instruction_set()}."
