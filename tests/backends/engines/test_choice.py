from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.device import move_examples, own_randomness, usable_device
from fedward.backends.engines.flat_model import flat_model
from fedward.base.randomness import from_local_seed
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job, LocalTrainer
from fedward.local import FullGradient
from support import tiny_federation, tiny_model, tiny_sgd

OWN = tiny_federation().user(0)


def job_for(module: nn.Module, trainer: LocalTrainer | None = None, seed: int = 5) -> Job:
    start = ParameterSpec.of(module).flatten(module)
    return Job(parameters=start, user=17, num_examples=5, trainer=trainer or tiny_sgd(), seed=seed)


def test_dropout_follows_the_seed_of_the_job_and_leaves_torch_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.5), nn.Linear(50, 2))
    engine = Engine(module)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = engine.train(job_for(module, seed=5), OWN).update
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(100)
    assert torch.equal(engine.train(job_for(module, seed=5), OWN).update, one)
    assert not torch.equal(engine.train(job_for(module, seed=6), OWN).update, one)


def test_randomness_is_given_back_after_an_error_too() -> None:
    def fail() -> None:
        with own_randomness(2**128 - 1, torch.device("cpu")):
            torch.rand(3)
            raise KeyError

    before = torch.get_rng_state()
    with pytest.raises(KeyError):
        fail()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("trainer", [tiny_sgd(momentum=0.9, epochs=3), FullGradient()])
def test_an_update_is_what_the_trainer_does_to_the_model(trainer: LocalTrainer) -> None:
    model = flat_model(tiny_model())
    job = job_for(tiny_model(), trainer)
    assert job.seed is not None
    trainer.train(model, OWN, from_local_seed(job.seed))
    row = Engine(tiny_model()).train(job, OWN)
    assert row.user == 17
    assert torch.equal(row.update, model.parameters - job.parameters)


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("no such layer")


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Broken(), "RuntimeError: no such layer"),
        (nn.Linear(4, 2), "RuntimeError: mat1 and mat2"),
        (nn.Linear(3, 1), "IndexError: Target"),
    ],
)
def test_a_model_that_cannot_be_trained_ends_with_the_user(module: nn.Module, why: str) -> None:
    examples = Examples(OWN.x, torch.arange(5) % 2)
    with pytest.raises(TrainingFailed, match=f"user 17: the model cannot be trained: {why}"):
        Engine(module).train(job_for(module), examples)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    for name in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(InvalidValue, match="is not available here: torch sees no CUDA; use cpu"):
            Engine(tiny_model(), device=name)


def test_devices_that_nobody_can_train_on_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"device must be one that torch knows.*got 'gpu'"):
        usable_device("gpu")
    with pytest.raises(InvalidValue, match="device meta is not available here"):
        usable_device("meta")
    with pytest.raises(InvalidType, match="device must be a name"):
        usable_device(0)  # type: ignore[arg-type]


def test_examples_are_moved_as_a_whole_or_not_at_all() -> None:
    there = torch.device("meta")
    assert move_examples(OWN, torch.device("cpu")) is OWN
    flat = move_examples(OWN, there)
    assert isinstance(flat.x, Tensor)
    assert {flat.x.device, flat.y.device} == {there}
    assert isinstance(OWN.x, Tensor)
    assert OWN.x.device.type == "cpu"
    # Offsets of ragged examples are checked when they are made, which needs values: only a copy is tried.
    text = Examples(Ragged.from_sequences([[1, 2], [3]]), torch.tensor([0, 1]))
    assert move_examples(text, torch.device("cpu")) is text


@pytest.mark.parametrize("trainer", [tiny_sgd(momentum=0.9, weight_decay=0.1), tiny_sgd(), FullGradient()])
def test_training_elsewhere_mixes_no_devices(trainer: LocalTrainer) -> None:
    """The meta device has shapes and no values; torch raises where its tensors meet those of the CPU."""
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2)).to("meta")
    model = flat_model(module)
    examples = move_examples(
        Examples(torch.zeros(6, 1, 4, 4), torch.zeros(6, dtype=torch.int64)), torch.device("meta")
    )
    trainer.train(model, examples, from_local_seed(0))
    assert model.parameters.device.type == "meta"


def test_keeping_freed_memory_may_be_asked_for_again() -> None:
    keep_freed_memory()
    keep_freed_memory()
    assert float(torch.ones(2**20).sum()) == 2**20
