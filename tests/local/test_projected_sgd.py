from __future__ import annotations

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.clipping import PolynomialDecay, RawMedian
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.round import plan_round
from fedward.local import ProjectedSGD
from fedward.presets import central_dp
from fedward.sampling import EveryoneSampler, PoissonSampler
from support import flat_inputs, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

EXAMPLES = tiny_federation(num_users=1, per_user=23).user(0)
FAST = tiny_sgd(learning_rate=2.0, epochs=3, momentum=0.5)


def trained(trainer: object, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
    model = FlatModule(tiny_model())
    start = model.parameters.clone()
    trainer.at_round(0, (bound,)).train(model, EXAMPLES, np.random.default_rng(0))  # type: ignore[attr-defined]
    return start, model.parameters.clone()


@pytest.mark.parametrize("bound", [1e-3, 0.1, 1.0])
def test_the_model_never_leaves_the_ball_around_the_rounds_model(bound: float) -> None:
    model = FlatModule(tiny_model())
    start = model.parameters.clone()
    seen = []

    class Watched:
        def walk(self, *arguments: object) -> object:
            for _ in FAST.walk(*arguments):  # type: ignore[arg-type]
                seen.append(float((model.parameters - start).double().norm()))
                yield

    projected = ProjectedSGD(sgd=FAST).at_round(0, (bound,))
    object.__setattr__(projected, "sgd", Watched())
    projected.train(model, EXAMPLES, np.random.default_rng(0))
    # Steps may lead out of the ball; each begins inside, and so the next cannot have gone further from afar.
    assert max(seen) > bound
    assert float((model.parameters - start).double().norm()) <= bound * (1 + 1e-6)


def test_it_differs_from_clipping_once_at_the_end() -> None:
    start, projected = trained(ProjectedSGD(sgd=FAST), 0.3)
    _, free = trained(FAST, 0.3)
    once = start + (free - start) * (0.3 / float((free - start).norm()))
    assert not torch.allclose(projected, once, atol=1e-3)


def test_it_is_plain_sgd_where_the_ball_is_large() -> None:
    _, projected = trained(ProjectedSGD(sgd=FAST), 1e6)
    _, free = trained(FAST, 1e6)
    assert torch.equal(projected, free)


def test_the_ball_follows_the_bound_of_the_round() -> None:
    algorithm = tiny_algorithm(
        local=ProjectedSGD(sgd=FAST),
        clip_bound=None,
        policy=PolynomialDecay(initial=0.4, power=1.0, rounds=4),
        sampler=EveryoneSampler(),
    )
    federation, model = tiny_federation(), FlatModule(tiny_model())
    state = algorithm.init(model.parameters.clone())
    plan = plan_round(algorithm, state, federation.roster, None, 1)
    assert plan.jobs[0].trainer.bound == 0.4  # type: ignore[attr-defined]


def test_a_bound_that_is_known_only_afterwards_cannot_be_projected_onto() -> None:
    algorithm = tiny_algorithm(local=ProjectedSGD(sgd=FAST), clip_bound=None, policy=RawMedian())
    state = algorithm.init(FlatModule(tiny_model()).parameters.clone())
    with pytest.raises(InvalidValue, match="known before the round"):
        plan_round(algorithm, state, tiny_federation().roster, None, 1)
    with pytest.raises(InvalidValue, match="at_round first"):
        ProjectedSGD(sgd=FAST).train(FlatModule(tiny_model()), EXAMPLES, np.random.default_rng(0))


def test_central_dp_projects_at_the_user_and_clips_again_at_the_server() -> None:
    algorithm = central_dp(
        num_users=12, sampler=PoissonSampler(rate=0.5), local=FAST, clip_bound=0.2, noise_multiplier=1.0
    )
    assert algorithm.local == ProjectedSGD(sgd=FAST)
    assert algorithm.bounds(algorithm.init(torch.zeros(3)), None) == (0.2,)
    # σ = zS/(qN), not the published zS/q.
    assert algorithm.noise_std(0.2) == pytest.approx(1.0 * 0.2 / 6)


def test_a_walk_that_leaves_the_numbers_ends_and_shows_it() -> None:
    model = FlatModule(torch.nn.Linear(3, 2))
    model.parameters.zero_()  # by chance a model may be right and sure of everything, and would stay
    huge = Examples(flat_inputs(EXAMPLES) * 1e4, EXAMPLES.y)
    trainer = ProjectedSGD(sgd=tiny_sgd(learning_rate=3e38, epochs=2)).at_round(0, (0.5,))
    trainer.train(model, huge, np.random.default_rng(0))
    assert not bool(torch.isfinite(model.parameters).all())
