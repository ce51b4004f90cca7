"""A training on pooled public data, without privacy: weights for private trainings to start from."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.compute import Compute
from fedward.backends.engines.choice import Engine
from fedward.base.durable_files import remove_leftovers, write_atomically
from fedward.base.limited_files import read_archive
from fedward.base.locking import hold_lock
from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.config.model_section import initial_model
from fedward.config.own_parts import own_code
from fedward.config.pretraining_file import PretrainingFile
from fedward.core.check import check_output
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.models import weights_file
from fedward.models.initial_weights import InitialWeights
from fedward.models.weights_file import About
from fedward.studies.progress import Clock, Progress
from fedward.version import __version__

# A part is what is lost at most by a kill and what progress is counted in; it is copied from the data.
_PART = 5_000
_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """A pre-training with its data loaded and its model made: ready to run."""

    file: PretrainingFile
    federation: Federation
    model: nn.Module
    about: About
    weights: InitialWeights | None = None

    @property
    def part(self) -> int:
        """How many examples a part has: whole batches."""
        batch = self.file.training.batch_size
        return max(1, _PART // batch) * batch

    @property
    def parts(self) -> int:
        """How many parts an epoch has."""
        return -(-len(self.federation.examples) // self.part)

    def order(self, epoch: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[int]]:
        """The examples in the order of an epoch, and the seed of each of its parts."""
        # The purpose is the initial model's: these weights are one. Its own stream has no round.
        rng = stream(self.file.seed, "initial model", round=epoch)
        return rng.permutation(len(self.federation.examples)), rng.integers(2**63, size=self.parts).tolist()

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[Path]:
        if path.is_dir():
            raise InvalidValue(f"weights {path} must be a file, got a directory")
        place = Path(os.path.realpath(path))  # where a link leads to
        with hold_lock(place.parent / f".{place.name}.fedward-lock", path, "weights"):
            remove_leftovers(place.parent, place.name)
            yield path

    def steps(self, place: Path, compute: Compute, seconds: float = _SECONDS) -> Iterator[Progress]:
        """Trains, or goes on where the file was left; yields after every part.

            w = w - η_e v,    v = μ v + ∇L(w; batch) + λ w

        Every epoch goes once through all examples of all users in a fresh order, in parts of about 5,000;
        the momentum starts from zero in each part. Killed and started again it gives the same bits. More
        epochs of the same training go on from a finished file. There is no privacy: whoever has the weights
        has learnt from the data, and no ε of a later training covers it.

        Args:
          place: the file of weights, written after every epoch and every so many seconds.
          compute: where it is trained; by one worker, whatever it says of them.
          seconds: how long a kill may set the training back, besides the part that it falls into.
        """
        about, tensors = _read_progress(self, place)
        spec, model = ParameterSpec.of(self.model), self.model
        parameters = spec.flatten(model)
        for name, view in spec.views(parameters).items():
            view.copy_(tensors[name])
        trainer, examples, test = self.file.training.build(), self.federation.examples, self.federation.test
        worker = Engine(model, compute.device, compute.choice)
        clock, saved = Clock({"part": about.wanted * self.parts}), time.monotonic()
        clock.skip("part", about.epochs * self.parts + about.parts)
        yield clock.progress(accuracy=_accuracy(about))
        while not about.finished:
            order, seeds = self.order(about.epochs)
            start = about.parts * self.part
            chosen = examples.select(torch.from_numpy(order[start : start + self.part]))
            job = Job(
                parameters=parameters,
                user=0,
                num_examples=len(chosen),
                trainer=trainer.at_round(about.epochs, ()),
                seed=seeds[about.parts],
            )
            parameters = parameters + worker.train(job, chosen).update
            if not bool(torch.isfinite(parameters).all()):
                raise InvalidValue(
                    f"pre-training diverged in epoch {about.epochs + 1}: its weights are no longer finite; "
                    "try a lower learning rate"
                )
            about = replace(about, parts=about.parts + 1)
            if about.parts == self.parts:
                about = replace(about, epochs=about.epochs + 1, parts=0)
                if test is not None and len(test):
                    measured = worker.evaluate(parameters, test).accuracy
                    about = replace(about, accuracy=(*about.accuracy, measured))
            if about.parts == 0 or time.monotonic() - saved >= seconds:
                content = weights_file.to_bytes(about, weights_file.copy_trained(spec, parameters))
                write_atomically(place, content)
                saved = time.monotonic()
            clock.tick("part")
            yield clock.progress(accuracy=_accuracy(about))
        spec.load(model, parameters)

    def result(self, place: Path) -> About:
        return weights_file.from_bytes(read_archive(place), str(place))[0]


def prepare(file: PretrainingFile, data_dir: Path | None = None) -> Pretraining:
    """Loads the data and makes the model; whatever does not fit together is an error here."""
    federation = file.load_data(data_dir)
    model, weights = initial_model(file.model, federation, file.seed)
    check_output(model, federation.roster)
    _check_epochs(file)
    tables = {key: getattr(file, key).model_dump(mode="json") for key in ("model", "data", "training")}
    # Where files lie is not part of what is trained; what is in them is.
    tables["model"].pop("weights", None)
    tables["data"].pop("data_dir", None)
    if code := own_code(file):
        tables["model"]["code"] = code
    about = About(
        # An option that a later version added, and that is not given, makes no other model.
        model={key: value for key, value in tables["model"].items() if value is not None},
        data=tables["data"] | {"digest": data_digest(federation)},
        training=tables["training"],
        start=tensor_digest(ParameterSpec.of(model).flatten(model)),
        seed=file.seed,
        wanted=file.epochs,
        vocabulary=weights_file.words_digest(federation.vocabulary),
        versions={"fedward": __version__, "torch": str(torch.__version__), "numpy": np.__version__},
    )
    return Pretraining(file=file, federation=federation, model=model, about=about, weights=weights)


def _check_epochs(file: PretrainingFile) -> None:
    """A learning rate that has fallen to zero would end the training in the epoch in which it does."""
    trainer = file.training.build()
    for epoch in trainer.decisive_rounds(file.epochs):
        with add_to_errors("training: ", f" in epoch {epoch} of {file.epochs} (epochs are counted from 0)"):
            trainer.at_round(epoch, ())


def _read_progress(wanted: Pretraining, path: Path) -> tuple[About, dict[str, Tensor]]:
    """Where the file was left; the beginning if there is none. Another training's file is refused."""
    if not path.exists():
        spec = ParameterSpec.of(wanted.model)
        return wanted.about, weights_file.copy_trained(spec, spec.flatten(wanted.model))
    about, tensors = weights_file.from_bytes(read_archive(path), f"weights {path}")
    if changed := about.same_training(wanted.about):
        raise InvalidValue(
            f"{path} holds another pre-training: {', '.join(changed)} differ; choose another file with --out"
        )
    if about.epochs > wanted.file.epochs or (about.epochs == wanted.file.epochs and about.parts):
        raise InvalidValue(
            f"{path} holds more than {wanted.file.epochs} epoch{'s' * (wanted.file.epochs > 1)} of this "
            f"pre-training: {about.epochs}; choose another file with --out"
        )
    return replace(about, wanted=wanted.file.epochs, versions=wanted.about.versions), tensors


def _accuracy(about: About) -> dict[str, float]:
    """On the test examples after the last whole epoch, if there is one."""
    return {"test": about.accuracy[-1]} if about.accuracy else {}
