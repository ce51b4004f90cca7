"""The promises of a model: it scores every class of each example, and its parameters are one flat vector."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import cloudpickle
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.base.validate import InvalidValue
from fedward.core.check import refuse_batch_norm
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, not_applicable
from fedward.testing.repeatable import in_short, require_repeatable, same_bits


@dataclass(frozen=True)
class _Trial:
    """A model, a batch that it reads, and how many classes it must score."""

    model: nn.Module
    inputs: Tensor
    num_classes: int

    def scores(self, inputs: Tensor, *, module: nn.Module | None = None) -> Tensor:
        """The scores in evaluation mode, of a copy: the model itself stays as it is."""
        own = copy.deepcopy(self.model if module is None else module).eval()
        with torch.no_grad():
            scores: Tensor = own(inputs.clone())
        return scores


def check_model(model: nn.Module, inputs: Tensor, num_classes: int) -> Conformance:
    """Runs every promise of a model.

    Args:
      model: the module, before any training.
      inputs: a batch of at least two examples that it reads:
        ``federation.user(0).batch(torch.arange(2))[0]``.
      num_classes: of the data.
    """
    return check_promises("model", _Trial(model, inputs, num_classes), _PROMISES, name=type(model).__name__)


def _scores_every_class(trial: _Trial) -> None:
    scores, wanted = trial.scores(trial.inputs), (len(trial.inputs), trial.num_classes)
    if (
        not isinstance(scores, Tensor)
        or scores.ndim != 2
        or len(scores) != wanted[0]
        or scores.shape[1] < wanted[1]
    ):
        broken(f"it gave {in_short(scores)}", f"Return a score for each example and class, shape {wanted}")
    if not bool(torch.isfinite(scores).all()):
        broken(
            f"it gave {in_short(scores)}", "Let scores be finite before training: look at the initial weights"
        )


def _repeats_itself(trial: _Trial) -> None:
    require_repeatable(lambda: trial.scores(trial.inputs), "the model in evaluation mode")


def _takes_one_example(trial: _Trial) -> None:
    scores = trial.scores(trial.inputs[:1])
    if scores.ndim != 2 or len(scores) != 1:
        broken(f"a batch of one example gave {in_short(scores)}", "Do not squeeze the first dimension")


def _keeps_examples_apart(trial: _Trial) -> None:
    together = trial.scores(trial.inputs)
    for place in range(len(trial.inputs)):
        alone = trial.scores(trial.inputs[place : place + 1])
        if not torch.allclose(alone[0], together[place], rtol=1e-3, atol=1e-4):
            broken(
                f"example {place} has scores {in_short(together[place])} in a batch and "
                f"{in_short(alone[0])} alone",
                "Let no layer mix the examples of a batch: per-example clipping and test "
                "accuracy count on it",
            )


def _has_no_batch_norm(trial: _Trial) -> None:
    try:
        refuse_batch_norm(trial.model)
    except InvalidValue as error:
        not_applicable(f"it trains without privacy only: {error}")


def _is_one_flat_vector(trial: _Trial) -> None:
    spec = ParameterSpec.of(trial.model)
    vector = spec.flatten(trial.model)
    other = copy.deepcopy(trial.model)
    spec.load(other, torch.zeros_like(vector))
    spec.load(other, vector)
    if not same_bits(spec.flatten(other), vector):
        broken("its parameters are not those that were loaded", "Let nothing share or compute parameters")
    if not same_bits(trial.scores(trial.inputs, module=other), trial.scores(trial.inputs)):
        broken(
            "a copy with the same flat parameters gives other scores",
            "Keep all that is trained in nn.Parameter, and nothing else that changes",
        )
    flat = FlatModule(copy.deepcopy(trial.model).eval())
    with torch.no_grad():
        scores = flat(trial.inputs)
    if not torch.allclose(scores, trial.scores(trial.inputs), rtol=1e-3, atol=1e-4):
        broken(
            "it scores differently where its parameters are views of a flat vector", "Do not copy parameters"
        )


def _has_gradients(trial: _Trial) -> None:
    flat = FlatModule(copy.deepcopy(trial.model))
    labels = torch.arange(len(trial.inputs)) % trial.num_classes
    with torch.random.fork_rng(devices=[]):
        loss = cross_entropy(flat(trial.inputs), labels)
        loss.backward()  # type: ignore[no-untyped-call]
    if not bool(torch.isfinite(flat.gradient).all()) or not bool(flat.gradient.any()):
        broken(
            f"the gradient of its loss is {in_short(flat.gradient)}",
            "Let every score depend on parameters, in operations that have a gradient",
        )


def _travels(trial: _Trial) -> None:
    try:
        other = cloudpickle.loads(cloudpickle.dumps(trial.model))
    except Exception as error:
        broken(
            f"it cannot be pickled: {type(error).__name__}: {error}",
            "Worker processes get a pickled copy: hold no open files, locks, generators or hooks in it",
        )
    if not same_bits(trial.scores(trial.inputs, module=other), trial.scores(trial.inputs)):
        broken("a pickled copy of it gives other scores", "Keep all that it computes with in its state")


_PROMISES: tuple[Promise[_Trial], ...] = (
    Promise(says="gives a finite score for each example and class", check=_scores_every_class),
    Promise(says="gives the same bits again in evaluation mode", check=_repeats_itself),
    Promise(says="takes a batch of one example", check=_takes_one_example),
    Promise(says="keeps the examples of a batch apart", check=_keeps_examples_apart),
    Promise(says="has no batch normalisation", check=_has_no_batch_norm),
    Promise(says="is determined by one flat vector of parameters", check=_is_one_flat_vector),
    Promise(says="has a finite gradient", check=_has_gradients),
    Promise(says="goes to worker processes and scores alike there", check=_travels),
)
