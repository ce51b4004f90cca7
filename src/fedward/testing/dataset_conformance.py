"""The promises of a data set: a function that returns a federation, the same each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloudpickle
import torch

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.testing.conformance import (
    Conformance,
    Promise,
    broken,
    check_promises,
    function_name,
    not_applicable,
)
from fedward.testing.repeatable import in_short, require_repeatable, same_bits

Load = Callable[[], Any]


def check_dataset(load: Load) -> Conformance:
    """Runs every promise of a function that loads a data set.

    Args:
      load: takes nothing and returns a ``Federation``: ``lambda: my_data.load(seed=1)``. It is called
        several times.
    """
    return check_promises("data set", load, _PROMISES, name=function_name(load, "the data set"))


def _returns_a_federation(load: Load) -> None:
    loaded = load()
    if not isinstance(loaded, Federation):
        broken(
            f"it returned {in_short(loaded)}", "Return fedward.Federation.from_arrays(x, y, users, test=...)"
        )


def _repeats_itself(load: Load) -> None:
    require_repeatable(load, "loading")


def _gives_examples_to_users(load: Load) -> None:
    federation = load()
    if len(set(federation.names.tolist())) != federation.num_users:
        broken(
            f"{federation.num_users} users have {len(set(federation.names.tolist()))} names",
            "Name each user once",
        )
    if int(federation.sizes.sum()) != len(federation.examples):
        broken(
            f"users own {int(federation.sizes.sum())} of {len(federation.examples)} examples",
            "Give each example to one user",
        )
    for user in {0, federation.num_users // 2, federation.num_users - 1}:
        if len(federation.user(user)) != int(federation.sizes[user]):
            broken(
                f"user {user} has another number of examples than sizes says", "Use Federation.from_arrays"
            )


def _has_sound_examples(load: Load) -> None:
    federation = load()
    for part, examples in (("training", federation.examples), ("test", federation.test)):
        if examples is None or not len(examples):
            continue
        values = _values(examples)
        if values.is_floating_point() and not bool(torch.isfinite(values).all()):
            broken(f"its {part} examples hold NaN or infinity", "Leave such examples out, or fill them in")
        if values.dtype not in (torch.float32, torch.float64, torch.int64):
            broken(f"its {part} examples are {values.dtype}", "Return float32, or int64 for tokens")
        low, high = int(examples.y.min()), int(examples.y.max())
        if examples.y.dtype != torch.int64 or low < 0 or high >= federation.num_classes:
            broken(
                f"its {part} labels are {examples.y.dtype} from {low} to {high}, and there are "
                f"{federation.num_classes} classes",
                "Return whole numbers from 0 to num_classes - 1",
            )


def _has_something_to_learn(load: Load) -> None:
    federation = load()
    labels = federation.examples.y.unique()
    if len(labels) < 2:
        broken(f"all training examples have the label {int(labels[0])}", "Return at least two classes")
    if federation.test is not None:
        unknown = sorted(set(federation.test.y.tolist()) - set(labels.tolist()))
        if unknown:
            broken(
                f"test examples have the label {unknown[0]}, which no training example has",
                "Number the classes of both parts in the same way",
            )


def _has_a_test_set_of_the_same_kind(load: Load) -> None:
    federation = load()
    if federation.test is None:
        not_applicable("it has no test set, so models cannot be measured on it")
    if len(federation.test) == 0:
        broken("its test set is empty", "Return test=None, or some examples that belong to nobody")
    train, test = _values(federation.examples), _values(federation.test)
    if isinstance(federation.examples.x, Ragged) != isinstance(federation.test.x, Ragged) or (
        train.shape[1:] != test.shape[1:] or train.dtype != test.dtype
    ):
        broken(
            f"training examples are {tuple(train.shape[1:])} {train.dtype}, and test examples "
            f"{tuple(test.shape[1:])} {test.dtype}",
            "Prepare both in the same way",
        )


def _travels(load: Load) -> None:
    federation = load()
    if not same_bits(cloudpickle.loads(cloudpickle.dumps(federation)), federation):
        broken("a pickled copy of the federation differs", "Hold plain tensors and arrays only")


def _values(examples: Examples) -> torch.Tensor:
    return examples.x.values if isinstance(examples.x, Ragged) else examples.x


_PROMISES: tuple[Promise[Load], ...] = (
    Promise(says="returns a federation", check=_returns_a_federation),
    Promise(says="loads the same bits again", check=_repeats_itself),
    Promise(says="gives each example to one user", check=_gives_examples_to_users),
    Promise(says="has finite examples with labels of its classes", check=_has_sound_examples),
    Promise(says="has classes to tell apart", check=_has_something_to_learn),
    Promise(says="has test examples like those for training", check=_has_a_test_set_of_the_same_kind),
    Promise(says="goes to worker processes as it is", check=_travels),
)
