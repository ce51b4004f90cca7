"""``fedward.pretrain``: weights from public data, for private trainings to start from."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rich.console import Console

from fedward.api.records import Weights
from fedward.api.source import Changes, File, PathLike, Source, console_for, source_from
from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.base.durable_files import require_writable
from fedward.base.validate import InvalidValue
from fedward.config import pretraining_file
from fedward.core.parameters import ParameterSpec
from fedward.reports.terminal.console import say
from fedward.reports.terminal.live_progress import follow_pretraining
from fedward.studies.pretraining.pretraining_study import Pretraining, prepare
from fedward.studies.study import carry_out

NO_PRIVACY = "trained without privacy: use public data; no ε of a later training covers it"


def pretrain(
    file: File,
    *,
    changes: Changes = (),
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    trust: bool = False,
    quiet: bool = False,
) -> Weights:
    """Trains a model on public data without privacy, or goes on with it: what ``fedward pretrain`` does.

    Args:
      file: a pre-training file, or its tables as a dictionary; a class, a module or a federation may stand in
        the dictionary in the place of a name or a table.
      changes: other values for some keys.
      out: the file of weights; ``weights/NAME.pt`` if not given.
      data, compute, trust, quiet: as in ``fedward.train``.
    """
    source = source_from(file, changes=changes, trust=trust)
    if out is None and source.stem is None:
        raise InvalidValue("out must be given where the pre-training is no file, got none")
    path = Path(out or f"weights/{source.stem}.pt")
    folder = None if data is None else Path(data)
    return pretrain_source(source, path, folder, source.compute(compute), console_for(quiet))


def pretrain_source(
    source: Source, path: Path, data: Path | None, compute: Compute, console: Console
) -> Weights:
    """Trains the weights of a file; heading and progress go to the console."""
    wanted = prepare(pretraining_file.from_content(source.content, source.name), data)
    require_writable(path)
    origin = None if wanted.weights is None else str(wanted.weights)
    engine = engine_in_words(wanted.model, wanted.federation, compute)
    say(console, _heading(wanted), origin, engine, NO_PRIVACY)
    about = carry_out(wanted, path, compute, partial(follow_pretraining, console, wanted))
    return Weights(path=path, about=about)


def _heading(wanted: Pretraining) -> str:
    federation, spec = wanted.federation, ParameterSpec.of(wanted.model)
    test = len(federation.test) if federation.test is not None else 0
    return (
        f"{wanted.file.model.part}, {spec.size:,} parameters, on {wanted.file.data.part}: "
        f"{len(federation.examples):,} training and {test:,} test examples in {federation.num_classes} "
        f"classes; {wanted.file.epochs} epoch{'s' * (wanted.file.epochs > 1)}, seed {wanted.file.seed}"
    )
