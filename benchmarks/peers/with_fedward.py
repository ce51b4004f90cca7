"""The training with fedward: by the native engine in threads or on a cluster, or by the generic one."""

from __future__ import annotations

import torch
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
    load,
    model,
    options,
)

import fedward


def main() -> None:
    given = options()
    data, clock, samples = load(given.folder), Clock(), 0
    each = data.y.shape[1]
    federation = fedward.Federation.from_arrays(
        data.x.flatten(0, 1),
        data.y.flatten(),
        torch.arange(USERS).repeat_interleave(each),
        test=(data.test_x, data.test_y),
    )
    algorithm = fedward.presets.user_dp_fedavg(
        num_users=USERS,
        sampler=fedward.FixedSizeSampler(size=COHORT),
        local=fedward.SGD(
            learning_rate=RATE, batch_size=BATCH, epochs=EPOCHS, momentum=MOMENTUM, weight_decay=DECAY
        ),
        clip_bound=CLIP,
        noise_multiplier=NOISE,
    )
    module = model()
    if given.processes > 1 and given.threads > 1:
        from fedward.backends.ray.cluster_jobs import ClusterJobs

        backend = ClusterJobs(module, federation, fedward.Compute(cluster=f"local:{given.processes}"))
    elif given.processes > 1:
        backend = fedward.Workers(module, federation, workers=given.processes, engine="generic")
    elif given.threads > 1:
        backend = fedward.Threads(module, federation, threads=given.threads, engine="native")
    else:
        backend = fedward.InProcess(module, federation, engine="generic")
    try:
        clock.tick()
        trained = fedward.rounds(
            algorithm, module, federation, rounds=given.rounds, seed=given.seed, backend=backend
        )
        for state, log in trained:
            samples += EPOCHS * int(federation.sizes[list(log.telemetry.cohort)].sum())
            clock.tick()
        found = backend.evaluate(state.parameters, federation.test)
    finally:
        backend.close()
    clock.report(versions={"fedward": fedward.__version__}, accuracy=found.accuracy, samples=samples)


if __name__ == "__main__":
    main()
