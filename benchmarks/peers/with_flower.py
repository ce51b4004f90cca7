"""The training with Flower's simulation: Ray, one CPU for each client, its server-side DP wrapper."""

from __future__ import annotations

import os
from pathlib import Path

import flwr
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.simulation import run_simulation
from task import CLIP, COHORT, NOISE, USERS, Clock, accuracy, load, model, options, train_user

client_app, server_app = ClientApp(), ServerApp()


@client_app.train()
def train(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)
    data = load(Path(message.content["config"]["folder"]))
    user = int(context.node_config["partition-id"])
    module = model()
    module.load_state_dict(message.content["arrays"].to_torch_state_dict())
    samples = train_user(module, data.x[user], data.y[user])
    metrics = MetricRecord({"num-examples": len(data.y[user]), "samples": samples})
    content = RecordDict({"arrays": ArrayRecord(module.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)


def sum_samples(replies: list[RecordDict], weighted_by: str) -> MetricRecord:
    return MetricRecord({"samples": sum(reply["metrics"]["samples"] for reply in replies)})


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    given, module, clock = options(), model(), Clock()
    torch.set_num_threads(1)
    average = FedAvg(
        fraction_train=COHORT / USERS,
        fraction_evaluate=0.0,
        min_train_nodes=COHORT,
        min_available_nodes=USERS,
        train_metrics_aggr_fn=sum_samples,
    )
    strategy = DifferentialPrivacyServerSideFixedClipping(
        average, noise_multiplier=NOISE, clipping_norm=CLIP, num_sampled_clients=COHORT
    )
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(module.state_dict()),
        num_rounds=given.rounds,
        train_config=ConfigRecord({"folder": str(given.folder)}),
        # Called before the first round and after each: it measures nothing, it looks at the clock.
        evaluate_fn=lambda _, arrays: clock.tick(),
    )
    module.load_state_dict(result.arrays.to_torch_state_dict())
    samples = sum(int(found["samples"]) for found in result.train_metrics_clientapp.values())
    found = accuracy(module, load(given.folder))
    clock.report(versions={"flwr": flwr.__version__}, accuracy=found, samples=samples)


if __name__ == "__main__":
    given = options()
    run_simulation(
        server_app,
        client_app,
        num_supernodes=USERS,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {
                "num_cpus": given.processes,
                "include_dashboard": False,
                "_temp_dir": os.fspath(given.folder / "ray"),
                "_node_ip_address": "127.0.0.1",
            },
        },
    )
