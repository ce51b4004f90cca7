"""A connection to a Ray cluster: joined once a process, however many backends use it."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fedward.backends.compute import Compute
from fedward.backends.ray.cluster_address import Address, read_address, require_ray
from fedward.backends.ray.local_raylets import LocalRaylets
from fedward.backends.ray.node_facts import environment, facts, require_alike
from fedward.backends.ray.node_questions import alive_nodes, ask_nodes
from fedward.base.validate import InvalidValue

FREE = 15.0
"""Seconds that somebody else may hold every core of a cluster before that is called full."""

_REACH = 5.0


@dataclass(eq=False, kw_only=True)
class Cluster:
    """A joined cluster.

    Args:
      address: of its head.
      compute: how jobs run there.
      raylets: nodes that were started for it; None where it was there before.
    """

    address: str
    compute: Compute
    raylets: LocalRaylets | None
    users: int = 0
    ours: bool = True
    _looked: tuple[float, int, int] = field(default=(0.0, 1, 1))

    @property
    def size(self) -> tuple[int, int]:
        """How many nodes it has now, and how many tasks of one job can run there at once."""
        looked, nodes, slots = self._looked
        if time.monotonic() - looked > 1.0:
            alive = alive_nodes()
            nodes, slots = len(alive), sum(self._slots(node["Resources"]) for node in alive)
            self._looked = time.monotonic(), nodes, slots
        return nodes, slots

    @property
    def slots(self) -> int:
        """How many tasks can run there at once; one at least."""
        return max(1, self.size[1])

    @property
    def needs(self) -> dict[str, float]:
        """The resources of one task."""
        if self.compute.device == "cpu":
            return {"num_cpus": 1}
        return {"num_cpus": 1, "num_gpus": self.compute.gpus or 1}

    def _slots(self, resources: dict[str, float]) -> int:
        number = resources.get("CPU", 0)
        if self.compute.device != "cpu":
            number = min(number, resources.get("GPU", 0) / (self.compute.gpus or 1))
        return int(number)


_lock = threading.Lock()
_joined: list[Cluster] = []


def join(compute: Compute) -> Cluster:
    """Joins the cluster, or the one that this process is on already; ``leave`` is its other half."""
    with _lock:
        if _joined:
            (cluster,) = _joined
            if (
                cluster.compute.cluster != compute.cluster
                or cluster.compute.instructions != compute.instructions
            ):
                raise InvalidValue(
                    f"one process joins one cluster at a time: got {compute.cluster} beside "
                    f"{cluster.compute.cluster}"
                )
        else:
            cluster = _open(compute)
            _joined.append(cluster)
        cluster.users += 1
        return cluster


def leave(cluster: Cluster) -> None:
    """Says that one user of the cluster is done; after the last, nothing of ours is left there."""
    with _lock:
        cluster.users -= 1
        if cluster.users == 0:
            _joined.remove(cluster)
            _close(cluster)


@contextmanager
def joined(compute: Compute) -> Iterator[Cluster | None]:
    """Stays on the cluster of a compute for a while; None where there is none."""
    if compute.cluster is None:
        yield None
        return
    cluster = join(compute)
    try:
        yield cluster
    finally:
        leave(cluster)


def _open(compute: Compute) -> Cluster:
    require_ray()
    assert compute.cluster is not None
    address, raylets = read_address(compute.cluster), None
    if address.nodes:
        raylets = LocalRaylets(address.nodes)
        address = read_address(raylets.address)
    try:
        ours = _connect(address, compute)
        cluster = Cluster(address=compute.cluster, compute=compute, raylets=raylets, ours=ours)
        try:
            require_alike(facts(), ask_nodes(compute))
            _wait_for_room(cluster)
        except BaseException:
            _disconnect(ours)
            raise
    except BaseException:
        if raylets is not None:
            raylets.close()
        raise
    return cluster


def _close(cluster: Cluster) -> None:
    try:
        _disconnect(cluster.ours)
    finally:
        if cluster.raylets is not None:
            cluster.raylets.close()


def _disconnect(ours: bool) -> None:
    if ours:
        import ray

        ray.shutdown()


def _connect(address: Address, compute: Compute) -> bool:
    """Lets Ray join; False where the caller's program has joined before us."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of its own future
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    import ray

    if ray.is_initialized():
        return False
    told = f"{address.host}:{address.port}" if address.host else _address_of_this_machine()
    _require_answer(told)
    host = told.rpartition(":")[0]
    more: dict[str, Any] = {"_node_ip_address": host} if host.startswith("127.") else {}
    with _own_signals(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(
                address=told,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": environment(compute.instructions)},
                **more,
            )
        except Exception as error:
            raise InvalidValue(_reason(compute.cluster or "", error)) from error
    _keep_quiet()
    return True


def _keep_quiet() -> None:
    """Lets Ray not print what raylets report: it goes to standard output, where answers for programs go.

    What dies is told by ``Attempts``, in one line.
    """
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


def _address_of_this_machine() -> str:
    from ray._private import services

    found = None
    with contextlib.suppress(Exception):
        found = services.canonicalize_bootstrap_address("auto", None)
    if not found:
        raise InvalidValue(
            "cluster auto must be one that this machine is a node of, and it is of none: start Ray here "
            "(ray start), or give HOST:PORT of its head"
        )
    return str(found)


def _require_answer(told: str) -> None:
    """Tries the door before Ray does, which waits at it for minutes."""
    host, _, port = told.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise InvalidValue(f"there is no cluster at {told}: {why}; give HOST:PORT of its head") from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; what we do at it stays."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def _reason(cluster: str, error: Exception) -> str:
    """Why Ray did not join, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any("ersion mismatch" in line for line in lines):
        told = "; ".join(line.rstrip(".:") for line in lines[:6])
        return f"cluster {cluster} must have this machine's versions of Ray and Python: {told}"
    why = lines[0] if lines else type(error).__name__
    return f"cluster {cluster} cannot be joined: {why}; the command must be given on one of its nodes"


def _wait_for_room(cluster: Cluster) -> None:
    """Refuses a cluster on which every core has been taken for some time."""
    import ray

    end = time.monotonic() + FREE
    while (free := ray.available_resources().get("CPU", 0)) < 1:
        if time.monotonic() > end:
            total = int(ray.cluster_resources().get("CPU", 0))
            raise InvalidValue(
                f"cluster {cluster.address} is full: {free:g} of its {total} cores are free; wait for the "
                "others, or add nodes"
            )
        time.sleep(0.5)
