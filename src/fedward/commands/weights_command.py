"""``fedward weights``: a trained model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, place


@grouped
def weights_command(
    source: Annotated[Path, Argument(help="A finished run, or a file of fedward pretrain.")],
    out: Annotated[str, Argument(help="The file to write: it ends in .safetensors.")],
    as_json: AsJson = False,
) -> None:
    """Write trained weights as safetensors, which any program reads and nothing in which is run.

    What is promised about them stands in the file's header. [model] weights takes the file, too.
    """
    from fedward.api.weights_api import weights

    file = weights(source, place(out, "OUT"))
    answer(as_json, {"weights": str(file)}, f"{file}: weights of {source}, with what is promised about them")
