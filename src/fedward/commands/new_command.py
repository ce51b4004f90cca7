"""``fedward new``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedward.base.durable_files import explain_write_errors
from fedward.base.validate import InvalidValue
from fedward.commands.output import AsJson, answer
from fedward.config.listing import KINDS
from fedward.config.starter.starter import starter
from fedward.studies.training.setup import prepare

File = Annotated[Path, typer.Argument(help="The file to write; - prints it instead.")]
Preset = Annotated[str, typer.Option("--preset", help="The algorithm: fedward list preset.")]
DataSet = Annotated[str, typer.Option("--data", help="The data set: fedward list data-set.")]
Model = Annotated[str | None, typer.Option("--model", help="The model; one that fits the data if not given.")]
Attack = Annotated[
    str | None,
    typer.Option("--attack", help="An attack, if any: fedward list data-poisoning, model-poisoning."),
]


def new_command(
    file: File = Path("experiment.toml"),
    preset: Preset = "user_dp_fedavg",
    data: DataSet = "digits",
    model: Model = None,
    attack: Attack = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented experiment file to start from. It runs as it is, and nothing is overwritten."""
    if not file.name:
        raise InvalidValue(f"the file must have a name, got the directory {str(file)!r}")
    printed = str(file) == "-"
    path = file if printed or file.suffix else file.with_suffix(".toml")
    if not printed and path.exists():
        raise InvalidValue(f"{path} is there already and is left as it is: choose another name")
    name = "FILE" if printed else str(path)
    text, experiment = starter(preset=preset, data=data, model=model, attack=attack, name=name)
    if "Needs no files" in KINDS["data set"].line(data):
        prepare(experiment)  # what does not fit together is said now
    if printed:
        print(json.dumps({"text": text}) if as_json else text, end="\n" if as_json else "")
        return
    _write(path, text)
    answer(
        as_json,
        {"file": str(path), "text": text},
        f"wrote {path}: {preset} on {data}\nnext: fedward check {path}, then fedward run {path}",
    )


def _write(path: Path, text: str) -> None:
    """Writes a new file; one that could not be written whole is not left in the way of the next attempt."""
    with explain_write_errors(path):
        try:
            opened = path.open("x", encoding="utf8")
        except FileExistsError:
            raise InvalidValue(f"{path} is there already and is left as it is: choose another name") from None
        try:
            with opened:
                opened.write(text)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
