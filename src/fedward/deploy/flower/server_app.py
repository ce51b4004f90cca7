"""The app that Flower runs at the server."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedward.base.validate import InvalidValue
from fedward.deploy.app_experiment import read_experiment
from fedward.deploy.flower.grid_transport import GridTransport
from fedward.deploy.server.federated_setup import NO_SECURE_AGGREGATION, FederatedSetup, prepare_federation
from fedward.deploy.server.federated_training import FederatedTraining
from fedward.deploy.server.federation_file import read_federation
from fedward.privacy.remembered import guarantee_or_rdp, guarantees_of
from fedward.studies.progress import Progress

KEY = "federation"
"""The key of the app's configuration that holds the path of the server's file."""

_TELEMETRY = "FLWR_TELEMETRY_ENABLED"
log = logging.getLogger("fedward.deploy")


def server_app(
    file: str | os.PathLike[str],
    *,
    load_test: Callable[[], Any] | None = None,
    secagg: bool = False,
    trust: bool = False,
) -> ServerApp:
    """The server of a federation over Flower: fedward's own rounds, ledger and run directory.

    Who is declared, where the run is kept and how long anybody waits stands in a file that only the server
    has; the app's configuration names it: ``federation = "/srv/fedward/federation.toml"``.

    Args:
      file: the experiment. Its ``[data]`` is that of simulations and is not read here.
      load_test: loads examples that belong to nobody, or inputs and labels; models are measured on them.
      secagg: refused, with the reason.
      trust: whether code that the experiment names may be imported.
    """
    if secagg is not False:
        raise InvalidValue(NO_SECURE_AGGREGATION)
    experiment = Path(file)
    app = ServerApp()

    def main(grid: Grid, context: Context) -> None:
        _log_like_flower()
        path = context.run_config.get(KEY)
        if not isinstance(path, str) or not path:
            raise InvalidValue(
                f"the app's configuration must name the server's file, {KEY} = \"/path/federation.toml\", "
                f"got {path!r}"
            )
        test = None if load_test is None else load_test()
        setup = prepare_federation(
            read_experiment(experiment, trust=trust), read_federation(Path(path)), test
        )
        require_silence(setup)
        training = FederatedTraining(setup=setup, transport=GridTransport(grid))
        with training.open() as place:
            for progress in training.steps(place):
                log.info(_line(setup, progress))
            log.info("finished: %s", place.path)

    app.main()(main)
    return app


def require_silence(setup: FederatedSetup) -> None:
    """Refuses Flower's telemetry where data is private; elsewhere it is said that it is on."""
    if os.environ.get(_TELEMETRY, "1") != "1":
        return
    if setup.algorithm.noise_source == "system":
        raise InvalidValue(
            f"Flower's telemetry must be off where noise comes from system entropy: set {_TELEMETRY}=0 for "
            "superlink and supernodes"
        )
    log.warning("Flower's telemetry is on: set %s=0", _TELEMETRY)


def _line(setup: FederatedSetup, progress: Progress) -> str:
    """One line about a round: what of it is released, and nothing about who was drawn."""
    parts = [f"round {progress.rounds} of {setup.experiment.rounds}"]
    if progress.metrics is not None:
        parts.append(f"accuracy {progress.metrics.accuracy:.4f}")
    if progress.users is not None:
        parts.append(f"each user: {guarantees_of(progress.users, setup.delta, setup.accountant).worst}")
    elif progress.ledger is not None:
        parts.append(str(guarantee_or_rdp(progress.ledger, setup.delta, setup.accountant)))
    return ", ".join(parts)


def _log_like_flower() -> None:
    """Our messages go where Flower's go."""
    flower = logging.getLogger("flwr")
    log.setLevel(logging.INFO)
    log.propagate = False
    with suppress(IndexError):
        log.handlers = flower.handlers[:]
