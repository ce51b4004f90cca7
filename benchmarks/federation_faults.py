"""Faults of a real federation over Flower, made on purpose: TLS, keys and processes, all on loopback.

    python benchmarks/federation_faults.py answers --folder DIR
    python benchmarks/federation_faults.py kills --folder DIR --seed 1 --kills 10

``answers`` trains over three nodes, and in each round another thing goes wrong. Node 1 is played by this
program, which talks to the superlink as a supernode does and sends what a supernode never would; node 2 is a
supernode that is killed and started again. Noise and cohorts are seeded: at the end the model must have the
bits of a simulation in which those users drop out of whom the server has said so. A node that is late because
this machine is busy is seen in the table, and spoils nothing.

``kills`` trains with noise from system entropy, and kills the superlink with all that it has started at
random moments. The ledger must have every round once, and once more for each that was reserved and not
released.

Both can be killed and started again with the same ``--folder``, and go on. Needs fedward[flower], openssl and
ssh-keygen.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from bad_node import LightNode
from loopback_federation import Loopback, end_on_sigterm

from fedward.backends.in_process import InProcess
from fedward.config.experiment import read
from fedward.core.train import train
from fedward.core.types import Job, Row, ServerState
from fedward.rundir import checkpoint
from fedward.rundir.store import RunDirectory
from fedward.studies.training.training_study import prepare

NODES, USERS, DEADLINE = 3, 12, 20
BAD, DYING = 1, 2
EXPERIMENT = """
seed = 1
rounds = {rounds}
[data]
name = "digits"
users = 12
[model]
name = "logistic_regression"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
noise_source = "{source}"
sampler = {{ name = "{sampler}"{rate} }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 8, epochs = 1 }}
[privacy]
users = 12
delta = 1e-3
"""


@dataclass(frozen=True)
class Fault:
    """What goes wrong in a round, and whose users are lost for it; ``open`` where either may happen."""

    name: str
    lost: int | None
    open: bool = False


# Flower takes a node that was killed for online for up to a minute, and refuses it until then.
AWAY = 4 * (Fault("node started again", DYING, open=True),)
ANSWERS = (
    Fault("nothing", None),
    Fault("late", BAD),
    Fault("twice", None),
    Fault("oversized", BAD),
    Fault("one piece a million times", BAD),
    Fault("1,000 pieces", BAD),
    Fault("announced and never sent", BAD),
    Fault("damaged", BAD),
    Fault("NaN", None),
    Fault("1e30", None),
    Fault("foreign records", BAD),
    Fault("another version", BAD),
    Fault("in the name of another node", BAD),
    Fault("an error", BAD),
    Fault("two servers on one run directory", None),
    Fault("node killed before it trains", DYING),
    *AWAY,
    Fault("node killed while it trains", DYING),
    *AWAY,
    Fault("node killed after it answered", None),
)
# Where node 2 waits for its end.
HELD = {
    "node killed before it trains": "asked",
    "node killed while it trains": "training",
    "node killed after it answered": "answered",
}
NAN = next(number for number, fault in enumerate(ANSWERS) if fault.name == "NaN")
HUGE = next(number for number, fault in enumerate(ANSWERS) if fault.name == "1e30")


def make_app(here: Loopback, rounds: int, source: str, sampler: str, rate: str = "") -> Path:
    """The app in the folder, made once: its ``server`` directory has the run."""
    folder = here.folder / "federation"
    if (folder / "made").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    file = here.folder / "experiment.toml"
    file.write_text(EXPERIMENT.format(rounds=rounds, source=source, sampler=sampler, rate=rate))
    new = ["fedward", "flower", "new", "federation", "--file", file.name, "--nodes", str(NODES)]
    here.run(new)
    text = (folder / "server" / "federation.toml").read_text()
    for place in range(NODES):
        old, key = "{ users = 4 }", here.folder / f"key{place}.pub"
        text = text.replace(f"node-{place} = {old}", f'node-{place} = {{ users = 4, key = "{key}" }}')
    text = text.replace("deadline = 600.0", f"deadline = {DEADLINE}.0")
    text = text.replace("least_nodes = 3", "least_nodes = 1" if source == "seeded" else "least_nodes = 3")
    (folder / "server" / "federation.toml").write_text(text)
    (folder / "marks").mkdir()
    (folder / "made").touch()
    return folder


def rounds_of(run: Path) -> int:
    file = run / "rounds.jsonl"
    return len(file.read_text().splitlines()) if file.exists() else 0


def finished(run: Path) -> bool:
    return (run / "result.json").exists()


def until(condition: Callable[[], bool], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("it did not happen: see the logs")
        time.sleep(0.05)


class Made:
    """The rounds whose fault has been made, in a file: this program may be killed as well."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()

    def add(self, number: int) -> None:
        with self.file.open("a") as file:
            file.write(f"{number}\n")

    def __contains__(self, number: int) -> bool:
        return str(number) in self.file.read_text().splitlines()


class Accidents:
    """What befalls others in a round, done while node 1 has not answered yet and so the round is open."""

    def __init__(self, here: Loopback, folder: Path, made: Made) -> None:
        self.here, self.folder, self.made, self.marks = here, folder, made, folder / "marks"
        for number, fault in enumerate(ANSWERS):
            if fault.name in HELD:
                (self.marks / f"hold-{HELD[fault.name]}-{DYING}-{number}").touch()

    def __call__(self, number: int) -> None:
        fault = ANSWERS[number].name
        if fault in HELD:
            with suppress(SystemExit):
                until((self.marks / f"{HELD[fault]}-{DYING}-{number}").exists, DEADLINE - 8)
            self.here.kill(f"node{DYING}")
            (self.marks / f"hold-{HELD[fault]}-{DYING}-{number}").unlink()
            self.here.start_light_node(DYING)
        if fault == "two servers on one run directory":
            log = self.here.folder / "second.log"
            run_app(self.here, self.folder, "second")
            with suppress(SystemExit):
                until(lambda: "in use by another process" in log.read_text(), DEADLINE - 8)
        self.made.add(number)


def losses(log: Path) -> dict[int, set[int]]:
    """The nodes of which the server has said that their users drop out, by round."""
    found: dict[int, set[int]] = {}
    open_: set[int] = set()
    for line in log.read_text().splitlines():
        if "Successfully started run" in line:
            open_ = set()
        elif match := re.search(r"node node-(\d).*its users of this round drop out", line):
            open_.add(int(match[1]))
        elif match := re.search(r" round (\d+) of ", line):
            found[int(match[1]) - 1], open_ = open_, set()
    return found


class Losing:
    """The backend of the simulation that a run of ``answers`` is held against."""

    def __init__(self, own: InProcess, lost: dict[int, set[int]]) -> None:
        self.own, self.lost = own, lost

    def train(self, jobs: list[Job]) -> Iterator[Row]:
        for job, row in zip(jobs, self.own.train(jobs), strict=True):
            place = job.user // (USERS // NODES)
            if place in self.lost[job.round or 0]:
                yield Row(job.user, None)
            elif place == BAD and job.user % (USERS // NODES) == 0 and job.round in (NAN, HUGE):
                changed = row.update.clone()
                changed[0] = float("nan") if job.round == NAN else 1e30
                yield Row(job.user, changed)
            else:
                yield row

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def simulated(experiment: Path, lost: dict[int, set[int]]) -> ServerState:
    setup = prepare(read(experiment))
    backend: Any = Losing(InProcess(setup.model, setup.federation), lost)
    rounds = setup.experiment.rounds
    steps = train(setup.algorithm, setup.model, setup.federation, backend, rounds=rounds, seed=1)
    return list(steps)[-1][0]


def state_of(run: Path) -> ServerState:
    return checkpoint.from_bytes((run / "checkpoint.pt").read_bytes(), str(run))


def run_app(here: Loopback, folder: Path, log: str) -> subprocess.Popen[bytes]:
    return here.start(log, ["flwr", "run", str(folder / "app"), "here", "--stream"])


def answers(here: Loopback) -> None:
    folder = make_app(here, len(ANSWERS), "seeded", "everyone")
    run, log = folder / "server" / "run", here.folder / "run.log"
    here.start_link()
    for place in range(NODES):
        here.register(place)
        if place != BAD:
            here.start_light_node(place)
    made = Made(here.folder / "made")
    accidents = Accidents(here, folder, made)
    faults = [fault.name for fault in ANSWERS]
    bad = LightNode(here.folder, here.address, BAD, deadline=DEADLINE, faults=faults, before=accidents)
    bad.start()
    while not finished(run):
        run_app(here, folder, "run").wait()
    lost = losses(log)
    found, wanted = state_of(run), simulated(here.folder / "experiment.toml", lost)
    print(f"{'round':5} {'fault':36} {'was to be lost':16} was lost")
    for number, fault in enumerate(ANSWERS):
        to_be = "" if fault.lost is None else f"node {fault.lost}" + (" or none" if fault.open else "")
        shown = ", ".join(f"node {place}" for place in sorted(lost[number]))
        note = "" if number in made else "   (not made)"
        print(f"{number + 1:5} {fault.name:36} {to_be:16} {shown}{note}")
    print("\nwhat the server said of it:")
    for line in log.read_text().splitlines():
        if "drop out" in line or " round " in line:
            print(line.partition(":")[2].strip()[:200])
    other = here.folder / "second.log"
    refused = other.exists() and "in use by another process" in other.read_text()
    same = torch.equal(found.parameters, wanted.parameters) and found.ledger == wanted.ledger
    planned = all(fault.open or {fault.lost} - {None} == lost[number] for number, fault in enumerate(ANSWERS))
    print(f"\nthe second server was refused: {refused}")
    print(f"lost was what was to be lost, and no more: {planned}")
    print(f"the bits and the ledger of a simulation that loses the same users: {same}")
    print(found.ledger.guarantee(1e-3, "pld"))
    if not (same and refused):
        raise SystemExit(1)


def _seconds_of_a_round(run: Path) -> float:
    until(lambda: rounds_of(run) > 0)
    begun = time.monotonic()
    until(lambda: rounds_of(run) > 1)
    return time.monotonic() - begun


def kills(here: Loopback, seed: int, number: int) -> None:
    folder = make_app(here, 2 * number + 4, "system", "poisson", ", rate = 0.5")
    run, done, length = folder / "server" / "run", here.folder / "kills.jsonl", here.folder / "length"
    rng = random.Random(seed)
    moments = [rng.uniform(0.0, 1.2) for _ in range(number)]
    here.start_link()
    for place in range(NODES):
        here.register(place)
        here.start_light_node(place)
    while not finished(run):
        killed = len(done.read_text().splitlines()) if done.exists() else 0
        before = rounds_of(run)
        process = run_app(here, folder, "run")
        if killed == number:
            process.wait()
            continue
        if not length.exists():
            length.write_text(str(_seconds_of_a_round(run)))
        else:
            while rounds_of(run) <= before and not finished(run):
                if process.poll() is not None:  # the superlink was not ready for it yet
                    process = run_app(here, folder, "run")
                for place in range(NODES):
                    if here.started[f"node{place}"].poll() is not None:
                        here.start_light_node(place)
                time.sleep(0.2)
        # From the end of a round to some moment of the next, or a bit of the one after.
        time.sleep(moments[killed] * float(length.read_text()))
        here.kill("link")
        here.kill("run")
        ledger = RunDirectory(run).ledger()
        reserved = None if ledger.reserved is None else ledger.reserved.first_round
        line = {"moment": moments[killed], "rounds": rounds_of(run), "reserved": reserved}
        with done.open("a") as file:
            file.write(json.dumps(line) + "\n")
        here.start_link()
    state = state_of(run)
    vain = sum(entry.count for entry in state.ledger.entries if not entry.released)
    print(done.read_text())
    print(f"rounds released: {state.ledger.rounds}; charged and not released: {vain}")
    print(state.ledger.guarantee(1e-3, "pld"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["answers", "kills"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    end_on_sigterm()
    here = Loopback(folder, NODES)
    try:
        if options.what == "answers":
            answers(here)
        else:
            kills(here, options.seed, options.kills)
    finally:
        here.end()


if __name__ == "__main__":
    main()
