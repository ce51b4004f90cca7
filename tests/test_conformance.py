"""Every part of every slot goes through the same checks; its examples are in ``part_examples``."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from core.correlated import Correlated
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds, Sensitivity
from fedward.datasets import DATASETS
from fedward.models import MODELS
from fedward.presets import PRESETS
from models.model_examples import inputs, made
from part_examples import AGGREGATOR_EXAMPLES, ALL_PARTS, PRESET_EXAMPLES, SLOTS, parts
from support import tiny_federation, tiny_model


@pytest.mark.parametrize("slot", SLOTS)
def test_every_part_of_a_slot_has_an_example_here(slot: str) -> None:
    registry, examples = SLOTS[slot]
    assert set(registry.values()) == {type(example) for example in examples}


@pytest.mark.parametrize("part", ALL_PARTS, ids=repr)
def test_a_part_is_a_frozen_value_with_a_docstring(part: Any) -> None:
    assert dataclasses.is_dataclass(part)
    assert part == copy.deepcopy(part)
    assert hash(part) == hash(copy.deepcopy(part))
    assert type(part).__name__ in repr(part)
    assert type(part).__doc__
    for field in dataclasses.fields(part):
        assert field.kw_only
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field.name, 1)


def test_names_are_what_people_write_in_files() -> None:
    for registry in [*(registry for registry, _ in SLOTS.values()), PRESETS, MODELS, DATASETS]:
        for name, part in registry.items():
            assert name == name.lower()
            assert name.isidentifier()
            assert part.__doc__


@pytest.mark.parametrize("sampler", parts("sampler"), ids=str)
def test_a_sampler_draws_ascending_users_and_repeats_itself(sampler: Any) -> None:
    for seed in range(20):
        cohort = sampler.draw(12, np.random.default_rng(seed))
        assert np.array_equal(cohort, sampler.draw(12, np.random.default_rng(seed)))
        assert (np.diff(cohort) > 0).all()
        assert set(cohort.tolist()) <= set(range(12))
    assert 0 < sampler.expected_size(12) <= 12
    assert len(str(sampler).splitlines()) == 1


@pytest.mark.parametrize("trainer", parts("local"), ids=repr)
def test_a_local_trainer_repeats_itself_and_touches_neither_data_nor_itself(
    trainer: Any,
) -> None:
    federation = tiny_federation()
    before = federation.examples.x.clone()  # type: ignore[union-attr]
    results = []
    for _ in range(2):
        model = FlatModule(tiny_model())
        trainer.at_round(3, (0.5,)).train(model, federation.user(2), np.random.default_rng(0))
        results.append(model.parameters.clone())
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], FlatModule(tiny_model()).parameters)
    assert torch.equal(before, federation.examples.x)  # type: ignore[arg-type]


@pytest.mark.parametrize("trainer", parts("local"), ids=repr)
def test_a_local_trainer_works_on_one_example(trainer: Any) -> None:
    model = FlatModule(tiny_model())
    trainer.at_round(0, (0.5,)).train(model, tiny_federation(per_user=1).user(0), np.random.default_rng(0))
    assert bool(torch.isfinite(model.parameters).all())


NORMS: dict[str, list[Bounds]] = {
    "empty cohort": [],
    "one user": [(0.3,)],
    "all zero": [(0.0,)] * 10,
    "one huge": [*[(0.1,)] * 9, (1e30,)],
    "beyond any number": [(math.inf,)] * 3,
}


@pytest.mark.parametrize("policy", parts("policy"), ids=repr)
@pytest.mark.parametrize("norms", NORMS.values(), ids=NORMS.keys())
def test_a_policy_keeps_its_bound_positive_for_a_thousand_rounds(
    policy: Any, norms: list[tuple[float, ...]]
) -> None:
    state = policy.init()
    rng = np.random.default_rng(0)
    for t in range(1000):
        bounds = policy.bound(state, t, norms if policy.reads_norms else None)
        assert all(bound > 0 and not math.isnan(bound) for bound in bounds)
        if not policy.unproven:
            assert all(math.isfinite(bound) for bound in bounds)
        state = policy.move(state, t, bounds, norms, rng)
        assert all(isinstance(value, float) for value in state)


ROWS: dict[str, list[torch.Tensor]] = {
    "empty cohort": [],
    "one row": [torch.ones(4)],
    "zeros": [torch.zeros(4)] * 3,
    "one huge": [torch.full((4,), 1e30), torch.ones(4)],
    "eleven": list(torch.randn(11, 4, generator=torch.Generator().manual_seed(0))),
    "eleven equal": [torch.ones(4)] * 11,
    "eleven, some huge": [
        torch.full((4,), (-1) ** i * 3e38) if i < 4 else torch.ones(4) * i for i in range(11)
    ],
    "all huge": [torch.tensor([3e38, -3e38, 1e30, 0.0]) * (1 - i / 11) for i in range(11)],
}


@pytest.mark.parametrize("aggregator", AGGREGATOR_EXAMPLES, ids=repr)
def test_an_aggregator_takes_any_cohort_of_enough_rows_and_leaves_the_rows_alone(aggregator: Any) -> None:
    parameters = torch.zeros(4)
    # With fewer rows a round keeps the model and never asks.
    cohorts = [rows for rows in ROWS.values() if len(rows) >= aggregator.least_rows]
    assert len(cohorts) >= 4
    for rows in cohorts:
        copies = [row.clone() for row in rows]
        results = []
        for _ in range(2):
            total = aggregator.init(parameters)
            for row in rows:
                total = aggregator.add(total, row, 5)
            results.append(aggregator.finish(total))
        assert torch.equal(results[0], results[1])
        assert results[0].shape == parameters.shape
        assert bool(torch.isfinite(results[0]).all())
        assert all(torch.equal(a, b) for a, b in zip(rows, copies, strict=True))


@pytest.mark.parametrize("aggregator", AGGREGATOR_EXAMPLES, ids=repr)
@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one", "local"])
def test_a_sensitivity_grows_with_the_bound_or_is_none(aggregator: Any, adjacency: Any) -> None:
    one, two = (aggregator.sensitivity(bound, adjacency) for bound in (1.0, 2.0))
    if one is None:
        assert two is None
    else:
        assert two == pytest.approx(2 * one)
        assert 0 < one < math.inf


@pytest.mark.parametrize("mechanism", [*parts("noise"), Correlated(multiplier=1.0, rounds=3)], ids=repr)
def test_a_mechanism_keeps_the_shape_of_the_mean_and_of_its_state(mechanism: Any) -> None:
    mean = torch.ones(7, dtype=torch.float64)
    state = before = mechanism.init(mean)
    copies = [tensor.clone() for tensor in before]
    sensitivity = Sensitivity(row=0.5, share=0.2)
    for _ in range(3):
        private, state = mechanism.privatise(mean, sensitivity, state, np.random.default_rng(0))
        assert private.shape == (7,)
        assert private.dtype == torch.float64
        assert [tensor.shape for tensor in state] == [tensor.shape for tensor in before]
    assert all(torch.equal(a, b) for a, b in zip(before, copies, strict=True))
    assert torch.equal(mean, torch.ones(7, dtype=torch.float64))
    assert mechanism.multiplier >= 0
    assert mechanism.whole_training is None or mechanism.whole_training > 0


def test_every_preset_has_an_example_here() -> None:
    assert PRESET_EXAMPLES.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESET_EXAMPLES)
def test_a_preset_trains_repeats_itself_and_says_what_it_guarantees(name: str) -> None:
    algorithm = PRESET_EXAMPLES[name]
    assert algorithm.name == name
    federation, model = tiny_federation(), tiny_model()
    ends = [list(fedward.train(algorithm, model, federation, rounds=3, seed=1))[-1][0] for _ in range(2)]
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert bool(torch.isfinite(ends[0].parameters).all())
    users = ends[0].users
    if algorithm.accounting == "users":
        # Known before: what a user spends that is drawn in every round; nobody has spent more.
        assert users is not None
        worst = users.guarantees(1e-3, "rdp").worst
        assert 0 < worst.epsilon <= algorithm.guarantee(12, 3, 1e-3, "rdp").epsilon
        return
    assert users is None
    guarantee = ends[0].ledger.guarantee(1e-3, "rdp")
    assert guarantee == algorithm.guarantee(12, 3, 1e-3, "rdp")
    assert guarantee.private == (not algorithm.unproven)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_scores_every_class(name: str) -> None:
    assert made(name, num_classes=7)(inputs(name, 3)).shape == (3, 7)


def test_what_pays_for_privacy_never_waits_for_rows() -> None:
    """A rule that keeps the model when few users came would tell how many came, and no noise hides that."""
    for aggregator in AGGREGATOR_EXAMPLES:
        if aggregator.sensitivity(1.0, "add/remove") is not None:
            assert aggregator.least_rows == 0
            assert aggregator.missing_as_zero
