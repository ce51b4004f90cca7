"""Your own arrays and your own module, under user-level differential privacy."""

import numpy as np
import torch
from torch import nn

import fedward

# 200 users with 8 examples each; the label says on which side of a plane an example lies.
rng = np.random.default_rng(0)
x = rng.normal(size=(1600, 5)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(int)
users = np.repeat(np.arange(200), 8)
test = rng.normal(size=(500, 5)).astype(np.float32)
federation = fedward.Federation.from_arrays(
    x, y, users, test=(test, (test[:, 0] + test[:, 1] > 0).astype(int))
)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
algorithm = fedward.presets.user_dp_fedavg(
    num_users=200,
    sampler=fedward.PoissonSampler(rate=0.2),
    local=fedward.SGD(learning_rate=0.3, batch_size=8, epochs=3),
    clip_bound=0.5,
    noise_multiplier=1.2,
)
backend = fedward.InProcess(model, federation)

for state, _log in fedward.rounds(algorithm, model, federation, rounds=10, seed=7, backend=backend):
    pass
print(f"accuracy {backend.evaluate(state.parameters, federation.test).accuracy:.1%}")
print(state.ledger.guarantee(delta=1e-3, accountant="pld"))
