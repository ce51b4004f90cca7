"""A federation on loopback for benchmarks: a superlink with TLS, supernodes with keys, and their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

KEYS = r"""
umask 077
openssl req -x509 -newkey rsa:2048 -sha256 -days 2 -nodes -subj "/CN=ca" -keyout ca.key -out ca.crt
NAMES="subjectAltName=DNS:localhost,IP:127.0.0.1"
openssl req -newkey rsa:2048 -nodes -subj "/CN=f" -addext "$NAMES" -keyout s.key -out s.csr
openssl x509 -req -in s.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out s.pem
for i in $(seq 0 $((NODES - 1))); do ssh-keygen -q -t ecdsa -b 384 -N "" -f key$i; done
"""
# Seconds: whatever is started ends by itself, also when nobody is left to end it.
_LONGEST = 2 * 3600


@dataclass(eq=False)
class Loopback:
    """Processes of a federation, each in a session of its own, all of which ``end`` kills.

    Args:
      folder: where keys, logs, database and Flower's own settings are.
      nodes: how many nodes have a key.
      spare_ports: free ports for services of one's own, the last ones of ``ports``.
    """

    folder: Path
    nodes: int
    spare_ports: int = 0
    started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ports = _free_ports(1 + self.nodes + self.spare_ports)
        self.address = f"127.0.0.1:{self.ports[0]}"
        self.env = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "OMP_NUM_THREADS": "1",
            "FLWR_HOME": str(self.folder / "home"),
        }
        if not (self.folder / "ca.crt").exists():
            self.run(["bash", "-ec", KEYS], NODES=str(self.nodes))
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{self.address}"\n'
            f'root-certificates = "{self.folder}/ca.crt"\n'
        )

    def run(self, command: list[str], **env: str) -> None:
        """Runs a command to its end."""
        subprocess.run(command, cwd=self.folder, env=self.env | env, check=True, capture_output=True)

    def start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        """Starts a command whose output goes to ``NAME.log``."""
        with (self.folder / f"{name}.log").open("ab") as file:
            self.started[name] = subprocess.Popen(
                ["timeout", "-s", "KILL", str(_LONGEST), *command],
                cwd=self.folder,
                env=self.env,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.started[name]

    def start_link(self) -> None:
        """Starts the superlink; what it knew of nodes is in its database."""
        link = ["flower-superlink", "--host", "127.0.0.1", "--port", str(self.ports[0])]
        link += ["--ssl-certfile", "s.pem", "--ssl-keyfile", "s.key", "--ssl-ca-certfile", "ca.crt"]
        link += ["--enable-supernode-auth", "--disable-runtime-dependency-installation"]
        self.start("link", [*link, "--database", str(self.folder / "link.db")])
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[0]), 1):
                return
            time.sleep(0.1)

    def register(self, place: int) -> None:
        """Makes the key of a node known, once."""
        done = self.folder / f"registered{place}"
        if not done.exists():
            self.run(["flwr", "supernode", "register", f"key{place}.pub", "here"])
            done.touch()

    def start_node(self, place: int, entry: str = "") -> None:
        """Starts a supernode, which reaches the superlink at ``entry`` if that is not its own address."""
        link = entry or self.address
        node = ["flower-supernode", "--root-certificates", "ca.crt", "--superlink", link]
        node += ["--port", str(self.ports[1 + place]), "--auth-supernode-private-key", f"key{place}"]
        config = f"partition-id={place} num-partitions={self.nodes}"
        self.start(f"node{place}", [*node, "--node-config", config])

    def start_light_node(self, place: int) -> None:
        """Starts a node of ``bad_node.py``, which needs no process for a message."""
        program = str(Path(__file__).with_name("bad_node.py"))
        self.start(f"node{place}", [sys.executable, program, str(self.folder), self.address, str(place)])

    def kill(self, name: str) -> None:
        """Kills a process with all that it has started."""
        process = self.started.pop(name, None)
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        for name in list(self.started):
            self.kill(name)


def end_on_sigterm() -> None:
    """Lets what stands in ``finally`` run when this program is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextmanager
def federation(folder: Path, nodes: int) -> Iterator[Loopback]:
    """A superlink and so many supernodes; all of them end here."""
    found = Loopback(folder, nodes)
    try:
        found.start_link()
        for place in range(nodes):
            found.register(place)
            found.start_node(place)
        yield found
    finally:
        found.end()


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
