"""``fedward show``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from fedward.base.validate import InvalidValue, nearest
from fedward.commands.options import Data, Engine, Set, Trust, grouped, trusted_source
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from fedward.studies.training.setup import Setup


@grouped
def show(
    name: Annotated[str, Argument(help="A part's name as experiment files have it, or a file.")],
    changes: Set = None,
    data: Data = None,
    engine: Engine = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """What a part does, or what an experiment file would run and by which engine."""
    from fedward.config import listing

    if name.endswith(".toml") or Path(name).is_file():
        from fedward.config import experiment as config
        from fedward.privacy.known_epsilons import storing_no_epsilon
        from fedward.studies.training.setup import prepare

        source = trusted_source(Path(name), changes, trust)
        setup = prepare(config.from_content(source.content, source.name), data)
        with storing_no_epsilon():
            _show_file(Path(name), setup, engine, as_json)
        return
    found = listing.meanings(name)
    if not found:
        raise InvalidValue(
            f"there is no file and no part called {name!r}{nearest(name, listing.names())}; fedward list has "
            "all parts"
        )
    if as_json:
        parts = [
            {"kind": kind.name, "place": kind.place, "text": text, "keys": kind.keys(name)}
            for kind, text in found
        ]
        answer(True, {"name": name, "meanings": parts})
        return
    console = plain_console()
    for number, (kind, text) in enumerate(found):
        say(console, "" if number else None, f"{kind.name} {name} ({kind.place})", style="bold")
        keys = kind.keys(name)
        say(console, *text.split("\n"), f"Keys in a file: {keys}" if keys else None)
        say(console, _engine_of(name, engine) if kind.name == "model" else None)


def _show_file(file: Path, setup: Setup, engine: str | None, as_json: bool) -> None:
    from fedward.backends.compute import Compute
    from fedward.backends.open import engine_in_words
    from fedward.core.parameters import ParameterSpec
    from fedward.reports.terminal import run_table as terminal

    words = engine_in_words(setup.model, setup.federation, Compute(engine=engine))
    if not as_json:
        terminal.heading(plain_console(), setup, Path("runs") / file.stem)
    content = {
        "experiment": setup.experiment.model_dump(mode="json"),
        "users": setup.federation.num_users,
        "examples": len(setup.federation.examples),
        "parameters": ParameterSpec.of(setup.model).size,
        "engine": words,
        "guarantee": setup.planned.to_json(),
        "statement": str(setup.planned),
    }
    answer(as_json, content, words, str(setup.planned))


def _engine_of(name: str, engine: str | None) -> str:
    """Which engine trains a model, on examples of its own shape or of MNIST's; or on two words."""
    import torch

    from fedward.backends.engines.choice import choose_engine
    from fedward.backends.engines.gram import LINEAR_MODEL, is_linear
    from fedward.backends.engines.native import instruction_set, why_not
    from fedward.core.vocabulary import Vocabulary
    from fedward.models import MODELS, TEXT_MODELS

    model: Any = MODELS[name]
    if name in TEXT_MODELS:
        shape: tuple[int, ...] = ()
        module = model(vocabulary=Vocabulary(("good", "bad"), torch.eye(2)), num_classes=10)
    else:
        usual = inspect.signature(model).parameters["input_shape"].default
        shape = (1, 28, 28) if usual is inspect.Parameter.empty else usual
        module = model(input_shape=shape, num_classes=10)
    if choose_engine(engine) == "generic":
        return "Trained by the generic engine: as asked for."
    if reason := LINEAR_MODEL if is_linear(module) else why_not(module, shape):
        return f"Trained by the generic engine: {reason}."
    return f"Trained by the native engine, {instruction_set()}."
