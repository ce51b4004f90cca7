"""The training with pfl-research: in this process, or one of several that torchrun has started."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.internal.ops.selector import get_framework_module
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from pfl.privacy.gaussian_mechanism import GaussianMechanism
from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism
from task import (
    BATCH,
    CLIP,
    COHORT,
    DECAY,
    EPOCHS,
    MOMENTUM,
    NOISE,
    RATE,
    USERS,
    Clock,
    accuracy,
    load,
    model,
    options,
)
from torch import Tensor, nn


class Network(nn.Module):
    """The model with the two methods that pfl asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = model()
        self.samples = 0

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        self.train()
        self.samples += len(y)
        return nn.functional.cross_entropy(self.layers(x), y)

    @torch.no_grad()
    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Weighted]:
        self.eval()
        return {"loss": Weighted(float(nn.functional.cross_entropy(self.layers(x), y)) * len(y), len(y))}


class Ticks(TrainingProcessCallback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_begin(self, *, model: PyTorchModel) -> Metrics:
        self.clock.tick()
        return Metrics()

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        self.clock.tick()
        return False, Metrics()


def main() -> None:
    given = options()
    torch.set_num_threads(given.threads)
    np.random.seed(given.seed)  # noqa: NPY002  pfl draws users and seeds from it
    data, network, clock = load(given.folder), Network(), Clock()
    users = FederatedDataset(
        lambda user: Dataset([data.x[user], data.y[user]], user_id=str(user)),
        get_user_sampler("minimize_reuse", list(range(USERS))),
    )
    noise = GaussianMechanism(clipping_bound=CLIP, relative_noise_stddev=NOISE)
    wrapped = PyTorchModel(
        network,
        lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=MOMENTUM, weight_decay=DECAY),
        torch.optim.SGD(network.parameters(), lr=1.0),
    )
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=given.rounds,
            evaluation_frequency=given.rounds + 1,
            train_cohort_size=COHORT,
            val_cohort_size=0,
        ),
        SimulatedBackend(users, users, postprocessors=[CentrallyAppliedPrivacyMechanism(noise)]),
        wrapped,
        NNTrainHyperParams(local_batch_size=BATCH, local_num_epochs=EPOCHS, local_learning_rate=RATE),
        callbacks=[Ticks(clock)],
        send_metrics_to_platform=False,
    )
    trained = torch.tensor(network.samples)
    several = get_framework_module().distributed.world_size > 1
    if several:
        torch.distributed.all_reduce(trained)
    if not several or torch.distributed.get_rank() == 0:
        versions = {"pfl": importlib.metadata.version("pfl")}
        found = accuracy(network.layers, data)
        clock.report(versions=versions, accuracy=found, samples=int(trained))
    if several:
        torch.distributed.barrier()  # all leave together
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
