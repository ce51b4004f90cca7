"""``fedward.weights``: a trained model for other programs."""

from __future__ import annotations

from pathlib import Path

from fedward.api.source import PathLike
from fedward.base.durable_files import explain_write_errors, write_atomically
from fedward.base.validate import InvalidValue
from fedward.rundir.released_weights import weights_of_pretraining, weights_of_run
from fedward.rundir.run_record import RunRecord, load


def weights(source: PathLike, out: PathLike) -> Path:
    """Writes the weights of a run, or of ``fedward pretrain``, as safetensors, and returns the file.

    Any program reads such a file, and nothing in it is run. What is promised about the weights stands in its
    header. ``weights`` in the table ``[model]`` takes it, too.

    Args:
      source: the directory of a finished run, or a file of ``fedward pretrain``.
      out: a file that ends in .safetensors.
    """
    place, file = Path(source), Path(out)
    if file.suffix != ".safetensors":
        raise InvalidValue(f"weights must be written to a file that ends in .safetensors, got {file.name!r}")
    if place.is_file():
        content = weights_of_pretraining(place)
    else:
        run = load(place)
        if not isinstance(run, RunRecord):
            raise InvalidValue(f"weights must be those of one training, got {place}, which holds many")
        content = weights_of_run(run)
    with explain_write_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return file
