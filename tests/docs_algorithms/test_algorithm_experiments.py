from __future__ import annotations

import math
import re
from functools import cache

import pytest
import torch

from docs_algorithms.algorithm_pages import TOOL, experiment, marked, page
from fedward.backends import InProcess
from fedward.config import experiment as config
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.presets import PRESETS
from fedward.studies.training.setup import Setup, prepare

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


@cache
def setup_of(name: str) -> Setup:
    return prepare(config.parse(experiment(name)))


@pytest.mark.parametrize("name", PRESETS)
def test_the_guarantee_on_the_page_is_what_check_prints(name: str) -> None:
    on_the_page = marked(page(name), "check").removeprefix("```text\n").removesuffix("\n```")
    printed = TOOL["privacy_lines"](setup_of(name))
    # In words exactly; a last digit may be rounded otherwise on another machine.
    assert NUMBER.sub("#", on_the_page).split() == NUMBER.sub("#", printed).split()
    for said, is_so in zip(NUMBER.findall(on_the_page), NUMBER.findall(printed), strict=True):
        assert math.isclose(float(said), float(is_so), rel_tol=1e-6, abs_tol=1.5e-4)


@pytest.mark.parametrize("name", PRESETS)
def test_the_experiment_on_the_page_trains_by_its_preset(name: str) -> None:
    setup = setup_of(name)
    assert setup.algorithm.name == name
    adversary = setup.attack.adversary if setup.attack is not None else None
    before = ParameterSpec.of(setup.model).flatten(setup.model)
    backend = InProcess(setup.model, setup.federation)
    ((state, log),) = train(
        setup.algorithm,
        setup.model,
        setup.federation,
        rounds=1,
        seed=1,
        adversary=adversary,
        backend=backend,
    )
    assert not log.kept
    assert bool(torch.isfinite(state.parameters).all())
    assert not torch.equal(state.parameters, before)


def test_adaptive_clipping_costs_what_a_fixed_bound_costs_and_decay_costs_more() -> None:
    def epsilon(name: str) -> str:
        (found,) = re.findall(r"ε = ([\d.]+)", marked(page(name), "check"))
        return str(found)

    assert epsilon("adaptive_clipping") == epsilon("central_dp") == epsilon("user_dp_fedavg")
    assert float(epsilon("clip_norm_decay")) > float(epsilon("central_dp"))
    assert float(epsilon("dopamine")) < float(epsilon("insdp_fedsgd"))
