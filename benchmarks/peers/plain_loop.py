"""The training in plain PyTorch: a loop over users, a loop over batches."""

from __future__ import annotations

import torch
from task import CLIP, COHORT, NOISE, USERS, Clock, accuracy, load, model, options, train_user
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def main() -> None:
    given = options()
    torch.set_num_threads(given.threads)
    data, module, clock, samples = load(given.folder), model(), Clock(), 0
    weights = parameters_to_vector(module.parameters()).detach()
    clock.tick()
    for _ in range(given.rounds):
        total = torch.zeros_like(weights)
        for user in torch.randperm(USERS)[:COHORT].tolist():
            # A copy: parameters become views of the vector, and training writes into them.
            vector_to_parameters(weights.clone(), module.parameters())
            samples += train_user(module, data.x[user], data.y[user])
            update = parameters_to_vector(module.parameters()).detach() - weights
            total += update * min(1.0, CLIP / float(update.norm()))
        weights = weights + (total + NOISE * CLIP * torch.randn_like(total)) / COHORT
        clock.tick()
    vector_to_parameters(weights, module.parameters())
    clock.report(versions={}, accuracy=accuracy(module, data), samples=samples)


if __name__ == "__main__":
    main()
